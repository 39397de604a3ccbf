package runtime

import (
	"encoding/binary"
	"errors"
	"fmt"
	goruntime "runtime"

	"tpsh/comm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Exchange is all_to_all of a list: it sends xs[i] to member i of g and
// returns the tensors that the members sent to this one, in their order. Shapes are free;
// the dtype is one. The gradient goes back the same way.
func (r *Rank) Exchange(g *comm.Group, xs []*tensor.Tensor) ([]*tensor.Tensor, error) {
	k, err := r.newExchange(g, xs, false)
	if err != nil {
		return nil, err
	}
	if _, err := k.run(); err != nil {
		return nil, err
	}
	return k.finish(), nil
}

// An exchange is one all_to_all of a list.
type exchange struct {
	call
	xs       []*tensor.Tensor
	in       []*tensor.Tensor // xs, contiguous
	out      []*tensor.Tensor
	recorded bool
	grad     bool // a member's input requires grad
	seq      uint64
}

// finish returns the results of the call, which has ended well, and records its
// gradient.
func (k *exchange) finish() []*tensor.Tensor {
	goruntime.KeepAlive(k.in)
	if k.grad && k.recorded {
		k.record(k.seq, k.xs, k.out, k.backward)
	}
	return k.out
}

// backward sends the gradients back to where the tensors came from.
func (k *exchange) backward(t *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
	for i := range dy {
		if dy[i] == nil {
			dy[i] = t.Do("zeros_like", []*tensor.Tensor{k.out[i].Detach()}, op.None)
		}
	}
	return k.r.Exchange(k.g, dy)
}

// newExchange checks the call and makes the operation for package comm.
func (r *Rank) newExchange(g *comm.Group, xs []*tensor.Tensor, async bool) (*exchange, error) {
	if err := plainOnly("all_to_all", xs...); err != nil {
		return nil, err
	}
	k := &exchange{call: call{r: r, g: g, op: &comm.Op{Kind: comm.AllToAll}, async: async}, xs: xs}
	d := contract("all_to_all")
	if d.Detail = r.pass(); len(xs) > 0 {
		d.DType = xs[0].DType().String()
	}
	if err := k.begin(d); err != nil {
		return nil, err
	}
	if len(xs) != g.Size() {
		return nil, &op.ArgError{Func: "all_to_all", Param: "x", Got: "a list of " + count(len(xs), "tensor"), Want: fmt.Sprint(g.Size()), Rule: "one for each member"}
	}
	k.recorded, k.seq = r.Tape.Enabled(), r.Tape.Reserve()
	dt := xs[0].DType()
	k.op.Align, k.op.Prepare = dt.Size(), k.prepare
	bytes := 0
	for i, x := range xs {
		if x.DType() != dt {
			return nil, &op.ArgError{Func: "all_to_all", Param: "x", Got: fmt.Sprintf("%s at index %d", op.Describe(x), i), Want: dt.String(), Rule: "as at index 0"}
		}
		if k.recorded && x.RequiresGrad() {
			k.op.Desc.Flags |= comm.RequiresGrad
		}
		c, err := r.contiguous(x)
		if err != nil {
			return nil, err
		}
		k.in = append(k.in, c)
		k.op.In = append(k.op.In, comm.Whole(c.Bytes()))
		k.op.Meta = appendShape(k.op.Meta, dt, x.Shape())
		bytes += len(c.Bytes())
	}
	k.note(bytes, nil, dt.String())
	return k, nil
}

// prepare makes the results, whose shapes are in the members' Meta.
func (k *exchange) prepare(members []comm.Member, flags comm.Flags) ([]comm.Block, error) {
	k.grad = flags&comm.RequiresGrad != 0
	k.r.partPlaces(k.g, func(place int) string { return fmt.Sprint(comingTo(members, place)) })
	blocks := make([]comm.Block, len(members))
	for i, m := range members {
		meta := m.Meta
		var dt dtype.DType
		var s shape.Shape
		for range k.g.Place() + 1 {
			var err error
			if dt, s, meta, err = cutShape(meta); err != nil {
				return nil, fmt.Errorf("all_to_all: from member %d: %w", i, err)
			}
		}
		y, err := tensor.New(k.r.ops.Alloc, dt, s)
		if err != nil {
			return nil, &op.ResourceError{Func: "all_to_all", Err: err}
		}
		k.out = append(k.out, y)
		blocks[i] = comm.Whole(y.Bytes())
	}
	return blocks, nil
}

// comingTo returns the shapes of the tensors that members send to the one at place.
func comingTo(members []comm.Member, place int) (shapes []shape.Shape) {
	for _, m := range members {
		meta := m.Meta
		var s shape.Shape
		for range place + 1 {
			_, s, meta, _ = cutShape(meta)
		}
		shapes = append(shapes, s)
	}
	return shapes
}

// appendShape appends the dtype and shape of a tensor to meta.
func appendShape(meta []byte, dt dtype.DType, s shape.Shape) []byte {
	meta = append(meta, byte(dt), byte(len(s)))
	for _, n := range s {
		meta = binary.AppendUvarint(meta, uint64(n))
	}
	return meta
}

var errMeta = errors.New("malformed shape of a tensor")

// cutShape takes the dtype and shape off the front of meta that appendShape appended.
func cutShape(meta []byte) (dt dtype.DType, s shape.Shape, rest []byte, err error) {
	if len(meta) < 2 || meta[0] >= dtype.Count {
		return 0, nil, nil, errMeta
	}
	dt = dtype.DType(meta[0])
	n := int(meta[1])
	meta = meta[2:]
	s = make(shape.Shape, n)
	for i := range s {
		v, k := binary.Uvarint(meta)
		if k <= 0 || v > 1<<56 {
			return 0, nil, nil, errMeta
		}
		s[i] = int(v)
		meta = meta[k:]
	}
	if s.Check(dt.Size()) != nil {
		return 0, nil, nil, errMeta
	}
	return dt, s, meta, nil
}

// appendLens appends the lengths of objs to meta.
func appendLens(meta []byte, objs [][]byte) []byte {
	for _, o := range objs {
		meta = binary.AppendUvarint(meta, uint64(len(o)))
	}
	return meta
}

// cutLens is the inverse of appendLens; it stops at malformed bytes.
func cutLens(meta []byte) []int {
	var lens []int
	for len(meta) > 0 {
		v, k := binary.Uvarint(meta)
		if k <= 0 || v > 1<<40 {
			return nil
		}
		lens = append(lens, int(v))
		meta = meta[k:]
	}
	return lens
}
