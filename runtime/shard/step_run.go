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
	plan   *stepPlan
	block  *tensor.Tensor   // the rank's block, contiguous
	y      *tensor.Tensor   // the block that it is to hold
	packed []*tensor.Tensor // what is sent of parts that do not lie as they are sent
	parts  []*tensor.Tensor // by member, the part that is not received in place; else nil; none if all are
	op     comm.Op
}

// carry takes the rank's block along p.
func (e *Engine) carry(p *stepPlan, block *tensor.Tensor) (*tensor.Tensor, error) {
	r, err := e.newStepRun(p, block)
	if err != nil {
		return nil, err
	}
	_, err = e.host.Communicate(p.group, &r.op, r.block, r.payload())
	if err != nil {
		e.forget(p.mesh)
		return nil, err
	}
	return r.finish()
}

// payload returns the bytes that the rank puts in.
func (r *stepRun) payload() int { return r.block.Numel() * r.block.DType().Size() }

// newStepRun makes the call of p on the rank's block.
func (e *Engine) newStepRun(p *stepPlan, block *tensor.Tensor) (*stepRun, error) {
	r := &stepRun{e: e, plan: p}
	var err error
	if r.block, err = e.contiguous(block); err != nil {
		return nil, err
	}
	dt := block.DType()
	r.op = comm.Op{Kind: p.kind, Align: dt.Size(), Prepare: r.prepare}
	r.op.Desc = contract(p.name, p.detail)
	r.op.Desc.DType, r.op.Desc.Shape, r.op.Desc.Reduce = dt.String(), p.whole, p.reduce
	if e.InBackward() {
		r.op.Desc.Detail = p.back
	}
	if p.reduce != "" && p.kind != comm.AllToAll {
		combine, fold := kernel.Reducer(dt, p.reduce, e.ExactSums)
		if combine == nil {
			return nil, noReduction(p, dt.String())
		}
		r.op.Reduce, r.op.Fold = comm.Reducer(combine), (*comm.Fold)(fold)
	}
	r.op.Meta = e.notesOn(p)
	if e.host.Alike() {
		r.op.Sent = p.sentBytes(dt.Size())
	}
	if p.endsAlike() {
		r.op.Share = r
	}
	if p.send == nil {
		r.op.In = []comm.Block{comm.Whole(r.block.Bytes())}
		return r, nil
	}
	r.op.In = make([]comm.Block, len(p.send))
	for i := range p.send {
		b, ok := p.send[i].block(r.block)
		if !ok {
			packed, err := e.contiguous(view(r.block, p.send[i].box))
			if err != nil {
				return nil, err
			}
			b = comm.Whole(packed.Bytes())
			r.packed = append(r.packed, packed) // kept alive
		}
		r.op.In[i] = b
	}
	return r, nil
}

// sentBytes returns the bytes that each member of an exchange sends of elements of so many
// bytes: the same list whenever it is asked. It is nil for other calls.
func (p *stepPlan) sentBytes(size int) []int {
	if p.sent == nil || p.bytes[size] != nil {
		return p.bytes[size]
	}
	list := make([]int, len(p.sent))
	for place, n := range p.sent {
		list[place] = n * size
	}
	if p.bytes == nil {
		p.bytes = map[int][]int{}
	}
	p.bytes[size] = list
	return list
}

// contract returns the fields that the members of a call of the operation called name
// compare, without a tensor.
func contract(name, detail string) comm.Desc {
	return comm.Desc{Op: name, Free: -1, Root: -1, Dims: [2]int{-1, -1}, Detail: detail}
}

func noReduction(p *stepPlan, dt string) error {
	return &op.ArgError{Func: "redistribute", Got: "Partial(\"" + p.reduce + "\") of " + dt, Want: "a reduction that " + dt + " has"}
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
func (r *stepRun) prepare(members []comm.Member, _ comm.Flags) ([]comm.Block, error) {
	if err := r.e.compareNotes(r.plan, members); err != nil {
		return nil, err
	}
	p, dt := r.plan, r.block.DType()
	y, err := tensor.New(r.e.host.Ops().Alloc, dt, p.want)
	if err != nil {
		return nil, &op.ResourceError{Func: p.name, Err: err}
	}
	r.y = y
	if p.recv == nil {
		return []comm.Block{comm.Whole(y.Bytes())}, nil
	}
	blocks := make([]comm.Block, len(p.recv))
	for i, a := range p.recv {
		b, ok := a.block(y)
		if !ok || r.summed(i) {
			if r.parts == nil {
				r.parts = make([]*tensor.Tensor, len(p.recv))
			}
			if r.parts[i], err = tensor.New(r.e.host.Ops().Alloc, dt, shape.Shape(a.box.Shape())); err != nil {
				return nil, &op.ResourceError{Func: p.name, Err: err}
			}
			b = comm.Whole(r.parts[i].Bytes())
		}
		blocks[i] = b
	}
	return blocks, nil
}

// summed reports whether the block from member i is one of several terms.
func (r *stepRun) summed(i int) bool {
	for _, from := range r.plan.pieces {
		if slices.Contains(from, i) {
			return true
		}
	}
	return false
}

// finish puts parts that were not received in place where they go, and returns the
// result.
func (r *stepRun) finish() (*tensor.Tensor, error) {
	goruntime.KeepAlive(r.block)
	goruntime.KeepAlive(r.packed)
	y, err := r.assemble()
	if err == nil {
		y.Buffer().Seal()
	}
	r.block, r.y, r.packed, r.parts = nil, nil, nil, nil // the group may refer to the call for some time
	return y, err
}

// assemble puts parts that were not received in place where they go.
func (r *stepRun) assemble() (*tensor.Tensor, error) {
	if r.parts == nil {
		return r.y, nil
	}
	for _, from := range r.plan.pieces {
		if err := r.add(from, r.parts); err != nil {
			return nil, err
		}
	}
	for i, part := range r.parts {
		if part == nil {
			continue
		}
		to := view(r.y, r.plan.recv[i].box)
		if _, err := op.Apply(r.e.host.Ops(), copyOp, []*tensor.Tensor{to, part}, nil); err != nil {
			return nil, err
		}
	}
	return r.y, nil
}

var copyOp = op.Lookup("copy_")

// add leaves the sum, or other reduction, of the parts of the members from in
// that of the first, in their order.
func (r *stepRun) add(from []int, parts []*tensor.Tensor) error {
	first := parts[from[0]]
	combine, _ := kernel.Reducer(first.DType(), r.plan.reduce, r.e.ExactSums)
	if combine == nil {
		return noReduction(r.plan, first.DType().String())
	}
	sum, err := tensor.New(r.e.host.Ops().Alloc, first.DType(), first.Shape())
	if err != nil {
		return &op.ResourceError{Func: r.plan.name, Err: err}
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
