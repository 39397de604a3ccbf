package shard

import (
	goruntime "runtime"
	"slices"

	"tpsh/comm"
	"tpsh/runtime/kernel"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A stepRun is one use of a stepPlan.
type stepRun struct {
	e      *Engine
	r      *stepPlan
	block  *tensor.Tensor   // the rank's block, contiguous
	y      *tensor.Tensor   // the block that it is to hold
	packed []*tensor.Tensor // what is sent of parts that do not lie as they are sent
	parts  []*tensor.Tensor // by member, the part that is not received in place; else nil; none if all are
	op     comm.Op
}

// carry takes the rank's block along r.
func (e *Engine) carry(r *stepPlan, block *tensor.Tensor) (*tensor.Tensor, error) {
	t, err := e.newStepRun(r, block)
	if err != nil {
		return nil, err
	}
	_, err = e.host.Communicate(r.group, &t.op, t.block, t.payload())
	if err != nil {
		e.forget(r.mesh)
		return nil, err
	}
	return t.finish()
}

// payload returns the bytes that the rank puts in.
func (t *stepRun) payload() int { return t.block.Numel() * t.block.DType().Size() }

// newStepRun makes the call of r on the rank's block.
func (e *Engine) newStepRun(r *stepPlan, block *tensor.Tensor) (*stepRun, error) {
	t := &stepRun{e: e, r: r}
	var err error
	if t.block, err = e.contiguous(block); err != nil {
		return nil, err
	}
	dt := block.DType()
	t.op = comm.Op{Kind: r.kind, Align: dt.Size(), Prepare: t.prepare}
	t.op.Desc = contract(r.name, r.detail)
	t.op.Desc.DType, t.op.Desc.Shape, t.op.Desc.Reduce = dt.String(), r.whole, r.reduce
	if e.InBackward() {
		t.op.Desc.Detail = r.back
	}
	if r.reduce != "" && r.kind != comm.AllToAll {
		combine, fold := kernel.Reducer(dt, r.reduce, e.ExactSums)
		if combine == nil {
			return nil, noReduction(r, dt.String())
		}
		t.op.Reduce, t.op.Fold = comm.Reducer(combine), (*comm.Fold)(fold)
	}
	t.op.Meta = e.notesOn(r)
	if e.host.Alike() {
		t.op.Sent = r.sentBytes(dt.Size())
	}
	if r.endsAlike() {
		t.op.Share = t
	}
	if r.send == nil {
		t.op.In = []comm.Block{comm.Whole(t.block.Bytes())}
		return t, nil
	}
	t.op.In = make([]comm.Block, len(r.send))
	for i := range r.send {
		b, ok := r.send[i].block(t.block)
		if !ok {
			packed, err := e.contiguous(view(t.block, r.send[i].box))
			if err != nil {
				return nil, err
			}
			b = comm.Whole(packed.Bytes())
			t.packed = append(t.packed, packed) // kept alive
		}
		t.op.In[i] = b
	}
	return t, nil
}

// sentBytes returns the bytes that each member of an exchange sends of elements of so many
// bytes: the same list whenever it is asked. It is nil for other calls.
func (r *stepPlan) sentBytes(size int) []int {
	if r.sent == nil || r.bytes[size] != nil {
		return r.bytes[size]
	}
	list := make([]int, len(r.sent))
	for place, n := range r.sent {
		list[place] = n * size
	}
	if r.bytes == nil {
		r.bytes = map[int][]int{}
	}
	r.bytes[size] = list
	return list
}

// contract returns the fields that the members of a call of the operation called name
// compare, without a tensor.
func contract(name, detail string) comm.Desc {
	return comm.Desc{Op: name, Free: -1, Root: -1, Dims: [2]int{-1, -1}, Detail: detail}
}

func noReduction(r *stepPlan, dt string) error {
	return &op.ArgError{Func: "redistribute", Got: "Partial(\"" + r.reduce + "\") of " + dt, Want: "a reduction that " + dt + " has"}
}

// contiguous returns the plain tensor x in row-major order.
func (e *Engine) contiguous(x *tensor.Tensor) (*tensor.Tensor, error) {
	if b := x.Buffer(); b != nil {
		if err := b.Restore(); err != nil {
			return nil, err
		}
	}
	if x.Contiguous() {
		return x, nil
	}
	c, err := op.Apply(e.host.Ops(), contiguousOp, []*tensor.Tensor{x}, nil)
	if err != nil {
		return nil, err
	}
	return c.Out[0], nil
}

var contiguousOp = op.Lookup("contiguous")

// prepare makes the result, and returns where blocks go that come.
func (t *stepRun) prepare(members []comm.Member, _ comm.Flags) ([]comm.Block, error) {
	if err := t.e.compareNotes(t.r, members); err != nil {
		return nil, err
	}
	r, dt := t.r, t.block.DType()
	y, err := tensor.New(t.e.host.Ops().Alloc, dt, r.want)
	if err != nil {
		return nil, &op.ResourceError{Func: r.name, Err: err}
	}
	t.y = y
	if r.recv == nil {
		return []comm.Block{comm.Whole(y.Bytes())}, nil
	}
	blocks := make([]comm.Block, len(r.recv))
	for i, a := range r.recv {
		b, ok := a.block(y)
		if !ok || t.summed(i) {
			if t.parts == nil {
				t.parts = make([]*tensor.Tensor, len(r.recv))
			}
			if t.parts[i], err = tensor.New(t.e.host.Ops().Alloc, dt, shape.Shape(a.box.Shape())); err != nil {
				return nil, &op.ResourceError{Func: r.name, Err: err}
			}
			b = comm.Whole(t.parts[i].Bytes())
		}
		blocks[i] = b
	}
	return blocks, nil
}

// summed reports whether the block from member i is one of several terms.
func (t *stepRun) summed(i int) bool {
	for _, from := range t.r.pieces {
		if slices.Contains(from, i) {
			return true
		}
	}
	return false
}

// finish puts parts that were not received in place where they go, and returns the
// result.
func (t *stepRun) finish() (*tensor.Tensor, error) {
	goruntime.KeepAlive(t.block)
	goruntime.KeepAlive(t.packed)
	y, err := t.assemble()
	if err == nil {
		y.Buffer().Seal()
	}
	t.block, t.y, t.packed, t.parts = nil, nil, nil, nil // the group may refer to the call for some time
	return y, err
}

// assemble puts parts that were not received in place where they go.
func (t *stepRun) assemble() (*tensor.Tensor, error) {
	if t.parts == nil {
		return t.y, nil
	}
	for _, from := range t.r.pieces {
		if err := t.add(from, t.parts); err != nil {
			return nil, err
		}
	}
	for i, part := range t.parts {
		if part == nil {
			continue
		}
		to := view(t.y, t.r.recv[i].box)
		if _, err := op.Apply(t.e.host.Ops(), copyOp, []*tensor.Tensor{to, part}, nil); err != nil {
			return nil, err
		}
	}
	return t.y, nil
}

var copyOp = op.Lookup("copy_")

// add leaves the sum, or other reduction, of the parts of the members from in
// that of the first, in their order.
func (t *stepRun) add(from []int, parts []*tensor.Tensor) error {
	first := parts[from[0]]
	combine, _ := kernel.Reducer(first.DType(), t.r.reduce, t.e.ExactSums)
	if combine == nil {
		return noReduction(t.r, first.DType().String())
	}
	sum, err := tensor.New(t.e.host.Ops().Alloc, first.DType(), first.Shape())
	if err != nil {
		return &op.ResourceError{Func: t.r.name, Err: err}
	}
	terms := make([][]byte, len(from))
	for i, k := range from {
		terms[i] = parts[k].Bytes()
	}
	if !sum.Hollow() {
		combine(sum.Bytes(), terms)
	}
	goruntime.KeepAlive(parts)
	for _, k := range from {
		parts[k] = nil
	}
	parts[from[0]] = sum
	return nil
}
