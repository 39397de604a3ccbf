package shard

import (
	"tpsh/comm"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A crossing is a move from a layout on one mesh to one on another.
type crossing struct{ src, dst *mesh.Placed }

// cross returns the rank's block of x moved to l, which is on another mesh: one
// exchange among the ranks of both. A sum is reduced before.
func (e *Engine) cross(x *tensor.Tensor, l *mesh.Placed) (*tensor.Tensor, error) {
	src := x.Layout()
	if src.IsPartial() {
		src = e.GradLayout(src)
		block, err := e.moveBlock(x, src)
		if err != nil {
			return nil, err
		}
		x = tensor.NewPlaced(src, block)
	}
	if !e.member(src.Mesh()) && !e.member(l.Mesh()) {
		return e.outside(op.Spec{DType: x.DType(), Shape: x.Shape()})
	}
	if x.Local().Buffer() == nil {
		if !e.member(l.Mesh()) {
			return x.Local(), nil
		}
		return tensor.ShapeOnly(x.DType(), l.LocalShape(e.host.ID())), nil
	}
	r, err := e.crossPlan(crossing{src, l})
	if err != nil {
		return nil, err
	}
	return e.carry(r, x.Local())
}

// crossPlan returns the stepPlan of c, made when it is first asked for.
func (e *Engine) crossPlan(c crossing) (*stepPlan, error) {
	if r := e.crossings[c]; r != nil {
		return r, nil
	}
	me := e.host.ID()
	x, err := mesh.NewExchange(c.src, c.dst, nil)
	if err != nil {
		return nil, argError("redistribute", err)
	}
	r := &stepPlan{name: "exchange", kind: comm.AllToAll, whole: c.src.Shape(), detail: c.src.String() + " to " + c.dst.String()}
	if len(x.Ranks()) == c.dst.Mesh().Size() { // else ranks call that may have skipped what the mesh does
		r.mesh = c.dst.Mesh()
	}
	r.want = boxOf(c.dst, me).Shape()
	if r.group, err = e.host.SharedGroup(x.Ranks()); err != nil {
		return nil, err
	}
	r.exchange(x, c.src, c.dst, me)
	if len(e.crossings) >= maxDecisions {
		clear(e.crossings)
	}
	e.crossings[c] = r
	return r, nil
}
