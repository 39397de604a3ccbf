package shard

import (
	"tpsh/comm"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A reshape whose blocks are not blocks of the result, but whose input is cut
// along its outermost dim alone: in row-major order each rank holds a range of
// the elements, and so it does of the result, cut along its outermost dim. The
// ranks exchange what they lack.

// A reflow is how a rank takes part in such an exchange.
type reflow struct {
	stepPlan *stepPlan
	out      *mesh.Placed
}

// isReshape reports whether d gives a tensor another shape and leaves its
// elements in their order.
func isReshape(d *op.Def) bool { return d.Name == "reshape" || d.Name == "flatten" }

// outermost returns the first dim of more than one element, or 0.
func outermost(s shape.Shape) int {
	for d, n := range s {
		if n != 1 {
			return d
		}
	}
	return 0
}

// flows reports whether the input of dec is cut along its outermost dim alone,
// and by something.
func flows(dec *decision) bool {
	l := dec.from[0]
	cut := false
	for _, p := range l.Placements() {
		d, sharded := p.Shard()
		if sharded && d != outermost(l.Shape()) || !sharded && !p.IsReplicate() {
			return false
		}
		cut = cut || sharded
	}
	return cut && len(dec.call.Spec[0].Shape) > 0
}

// reflow carries out dec, which is for a reshape, on x.
func (e *Engine) reflow(dec *decision, x *tensor.Tensor, args []op.Arg) (*op.Call, error) {
	if dec.reflow == nil {
		f, err := e.newReflow(dec, x.Layout())
		if err != nil {
			return nil, err
		}
		dec.reflow = f
	}
	f := dec.reflow
	c := &op.Call{Def: dec.call.Def, Ctx: e.host.Ops(), In: []*tensor.Tensor{x}, Args: args, Spec: dec.call.Spec}
	block, err := e.reflowBlock(f, x)
	if err != nil {
		return nil, err
	}
	y := tensor.NewPlaced(f.out, block)
	y.Copied = true
	c.Out = []*tensor.Tensor{y}
	return c, nil
}

func (e *Engine) reflowBlock(f *reflow, x *tensor.Tensor) (*tensor.Tensor, error) {
	if !e.member(f.out.Mesh()) {
		return e.outside(op.Spec{DType: x.DType(), Shape: f.out.Shape()})
	}
	s := shape.Shape(f.out.LocalShape(e.host.ID()))
	block := x.Local()
	if block.Buffer() == nil {
		return tensor.ShapeOnly(x.DType(), s), nil
	}
	block, err := e.contiguous(block)
	if err != nil {
		return nil, err
	}
	got, err := e.carry(f.stepPlan, block.View(shape.Shape{block.Numel()}, []int{1}, block.Offset()))
	if err != nil {
		return nil, err
	}
	return got.View(s, s.Strides(), got.Offset()), nil
}

// newReflow returns how the rank takes part in the exchange for a tensor placed as
// l.
func (e *Engine) newReflow(dec *decision, l *mesh.Placed) (*reflow, error) {
	me := e.host.ID()
	to := dec.call.Spec[0].Shape
	placements := make([]mesh.Placement, l.Mesh().NDim())
	for _, i := range cutDims(l) {
		placements[i] = mesh.Shard(outermost(to))
	}
	out, err := e.place(l.Mesh(), to, placements)
	if err != nil {
		return nil, err
	}
	f := &reflow{out: out}
	if !e.member(l.Mesh()) {
		return f, nil
	}
	ranks := l.Mesh().Line(me, cutDims(l)...)
	src, err := rangesOf(l, ranks)
	if err != nil {
		return nil, err
	}
	dst, err := rangesOf(out, ranks)
	if err != nil {
		return nil, err
	}
	x, err := mesh.NewExchange(src, dst, ranks)
	if err != nil {
		return nil, err
	}
	r := &stepPlan{name: "exchange", kind: comm.AllToAll, whole: to, mesh: l.Mesh(), detail: l.String() + " to " + out.String()}
	r.want = shape.Shape{dst.Numel(me)}
	if r.group, err = e.host.SharedGroup(ranks); err != nil {
		return nil, err
	}
	r.exchange(x, src, dst, me)
	f.stepPlan = r
	return f, nil
}

// rangesOf returns, as a layout of the elements in row-major order, which range of
// them each of ranks holds of a tensor that is cut along its outermost dim alone.
func rangesOf(l *mesh.Placed, ranks []int) (*mesh.Flat, error) {
	s := shape.Shape(l.Shape())
	d := outermost(s)
	inner := s[d+1:].Numel()
	ranges := make([][]mesh.Range, len(ranks))
	for i, r := range ranks {
		box, _ := l.Box(r)
		ranges[i] = []mesh.Range{{Lo: box.Lo[d] * inner, Hi: box.Hi[d] * inner}}
	}
	return mesh.NewFlat([]int{s.Numel()}, ranks, ranges)
}
