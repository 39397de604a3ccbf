package shard

import (
	"fmt"
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Move returns x placed as l, recorded: the gradient is moved back. It may share
// the storage of x. l may be on another mesh: then the ranks of both call it.
func (e *Engine) Move(x *tensor.Tensor, l *mesh.Placed) (*tensor.Tensor, error) { return e.move(x, l) }

func (e *Engine) move(x *tensor.Tensor, l *mesh.Placed) (*tensor.Tensor, error) {
	if x.Layout().Equal(l) {
		return x, nil
	}
	block, err := e.moveBlock(x, l)
	if err != nil {
		return nil, err
	}
	y := tensor.NewPlaced(l, block)
	if x.RequiresGrad() {
		e.recordMove(x, y)
	}
	return y, nil
}

// recordMove records that x was moved to y.
func (e *Engine) recordMove(x, y *tensor.Tensor) {
	e.tape.Conduct("redistribute", []*tensor.Tensor{x}, []*tensor.Tensor{y}, e.movedBack(x.Layout()))
	l := y.Layout()
	e.tape.Moved(x, y, func() (*tensor.Tensor, error) {
		block, err := e.moveBlock(x, l)
		if err != nil {
			return nil, err
		}
		return tensor.NewPlaced(l, block), nil
	})
}

// movedBack returns the gradient of a move from l.
func (e *Engine) movedBack(l *mesh.Placed) func(*op.Tape, []*tensor.Tensor) ([]*tensor.Tensor, error) {
	back := e.GradLayout(l)
	return func(_ *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
		g, err := e.move(dy[0], back)
		return []*tensor.Tensor{g}, err
	}
}

// moveBlock returns the rank's block of x moved to l.
func (e *Engine) moveBlock(x *tensor.Tensor, l *mesh.Placed) (*tensor.Tensor, error) {
	src, block := x.Layout(), x.Local()
	if src.Mesh() != l.Mesh() {
		if !e.congruent(src.Mesh(), l.Mesh()) {
			return e.cross(x, l)
		}
		var err error
		if src, err = e.place(l.Mesh(), src.Shape(), src.Placements()); err != nil {
			return nil, err
		}
	}
	if !e.member(l.Mesh()) {
		return block, nil
	}
	if block.Buffer() == nil {
		return tensor.ShapeOnly(x.DType(), e.LocalShape(l)), nil
	}
	plan, err := e.host.Layouts().Plan(src, l, x.DType().Size())
	if err != nil {
		return nil, OfMesh("redistribute", err)
	}
	steps := plan.Steps
	if slices.Contains(src.Shape(), 0) && e.statesShapes(l.Mesh()) {
		if steps, err = e.stepsOfEmpty(src, l, x.DType().Size()); err != nil {
			return nil, err
		}
	}
	for i := range steps {
		if block, err = e.step(&steps[i], block); err != nil {
			return nil, err
		}
	}
	return block, nil
}

// step carries out a step of a plan on the rank's block.
func (e *Engine) step(s *mesh.Step, block *tensor.Tensor) (*tensor.Tensor, error) {
	switch s.Op {
	case mesh.Slice:
		return view(block, e.sliceOf(s)), nil
	case mesh.MakePartial:
		return e.makePartial(s, block)
	}
	if len(s.Group(e.host.Self())) == 1 {
		return block, nil
	}
	p, err := e.stepPlan(s)
	if err != nil {
		return nil, err
	}
	return e.carry(p, block)
}

// sliceOf returns the part of its block that the rank keeps in s, a slice.
func (e *Engine) sliceOf(s *mesh.Step) mesh.Box {
	if part, ok := e.slices[s]; ok {
		return part
	}
	e.partByShape(s.Src)
	e.partByShape(s.Dst)
	me := e.host.Self()
	have, _ := s.Src.Box(me)
	keep, _ := s.Dst.Box(me)
	if len(e.slices) >= maxDecisions {
		clear(e.slices)
	}
	e.slices[s] = relative(keep, have)
	return e.slices[s]
}

// relative returns box with its indices counted from where base begins.
func relative(box, base mesh.Box) mesh.Box {
	r := mesh.Box{Lo: make([]int, len(box.Lo)), Hi: make([]int, len(box.Lo))}
	for d := range box.Lo {
		r.Lo[d], r.Hi[d] = box.Lo[d]-base.Lo[d], box.Hi[d]-base.Lo[d]
	}
	return r
}

// view returns the elements of the plain tensor x in box, sharing its storage.
func view(x *tensor.Tensor, box mesh.Box) *tensor.Tensor {
	offset := x.Offset()
	for d, lo := range box.Lo {
		offset += lo * x.Strides()[d]
	}
	if box.Numel() == 0 {
		offset = x.Offset()
	}
	return x.View(box.Shape(), x.Strides(), offset)
}

// makePartial returns the rank's term of the block that every rank of its line holds.
func (e *Engine) makePartial(s *mesh.Step, block *tensor.Tensor) (*tensor.Tensor, error) {
	v, changed := e.term(s.Dst.Mesh(), s.Dst.Placements(), s.Dims)
	if !changed {
		return block, nil
	}
	c, err := op.Apply(e.host.Ops(), op.Lookup("full_like"), []*tensor.Tensor{block, tensor.Number(v)}, []op.Arg{op.None})
	if err != nil {
		return nil, err
	}
	return c.Out[0], nil
}

// term returns what the rank holds of a value that becomes Partial along those
// of dims whose placements are: v if changed is true, and else the value itself.
// Outer placements combine the results of inner ones, so where the rank is not the
// first along an outer dim, the inner ones, of dims or not, make their term of v,
// and so on.
func (e *Engine) term(m *mesh.Mesh, placements []mesh.Placement, dims []int) (v float64, changed bool) {
	if e.host.Alike() {
		e.host.Part(m, func(rank int) string {
			v, changed := termAt(m.Coordinate(rank), placements, dims)
			return fmt.Sprint(v, changed)
		})
	}
	return termAt(m.Coordinate(e.host.Self()), placements, dims)
}

// termAt is term of the rank at some coordinates.
func termAt(at []int, placements []mesh.Placement, dims []int) (v float64, changed bool) {
	for d := range placements {
		by, ok := placements[d].Partial()
		if !ok || at == nil || at[d] == 0 || !changed && !slices.Contains(dims, d) {
			continue
		}
		switch by { // of a mean, maximum or minimum each term is the value
		case mesh.Sum:
			v, changed = 0, true
		case mesh.Prod:
			v, changed = 1, true
		}
	}
	return v, changed
}
