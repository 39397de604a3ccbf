package shard

import (
	"fmt"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Join is FromLocal of blocks that a program states to be of one tensor: the next
// call on the mesh fails where ranks have stated different shapes of it.
func (e *Engine) Join(x *tensor.Tensor, l *mesh.Placed) (*tensor.Tensor, error) {
	return e.JoinBack(x, l, nil)
}

// JoinBack is Join. The gradient of x is the rank's block of that of the result when this
// lies as back says: nil is for as GradLayout has it.
func (e *Engine) JoinBack(x *tensor.Tensor, l, back *mesh.Placed) (*tensor.Tensor, error) {
	y, err := e.fromLocal(x, l, back)
	if err == nil {
		e.noteJoined(l)
	}
	return y, err
}

// FromLocal returns the tensor of which this rank's block is the plain x, placed
// as l. It shares the storage of x and does not communicate. The gradient of x
// is the rank's block of that of the result.
func (e *Engine) FromLocal(x *tensor.Tensor, l *mesh.Placed) (*tensor.Tensor, error) {
	return e.fromLocal(x, l, nil)
}

// fromLocal is FromLocal, with a layout for the gradient as JoinBack has it.
func (e *Engine) fromLocal(x *tensor.Tensor, l, back *mesh.Placed) (*tensor.Tensor, error) {
	e.notePlaced()
	if e.member(l.Mesh()) {
		if want := shape.Shape(e.LocalShape(l)); !x.Shape().Equal(want) {
			return nil, &op.ArgError{Func: "from_local", Param: "x", Got: op.Describe(x), Want: fmt.Sprintf("shape %v", want),
				Rule: fmt.Sprintf("rank %d's block of %v", e.host.Self(), l)}
		}
	} else if x.Numel() > 0 {
		empty, err := e.outside(op.Spec{DType: x.DType(), Shape: x.Shape()})
		if err != nil {
			return nil, err
		}
		return tensor.NewPlaced(l, empty), nil
	}
	y := tensor.NewPlaced(l, x.Detach())
	if !x.RequiresGrad() {
		return y, nil
	}
	if err := differentiable(l); err != nil {
		return nil, err
	}
	if back == nil {
		back = e.GradLayout(l)
	} else if want := shape.Shape(e.LocalShape(back)); e.member(l.Mesh()) && !x.Shape().Equal(want) {
		return nil, &op.ArgError{Func: "from_local", Param: "grad_placements", Got: fmt.Sprintf("%s, of which rank %d has a block of shape %v", mesh.List(back.Placements()), e.host.Self(), want),
			Want: fmt.Sprintf("blocks of shape %v", x.Shape()), Rule: "the gradient of x is such a block"}
	}
	e.tape.Conduct("from_local", []*tensor.Tensor{x}, []*tensor.Tensor{y}, func(t *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
		g, err := e.move(dy[0], back)
		if err != nil {
			return nil, err
		}
		if g, err = e.ToLocal(g, nil); err != nil {
			return nil, err
		}
		return []*tensor.Tensor{e.shareOfMean(t, g, l)}, nil
	})
	return y, nil
}

// differentiable returns an error if the gradient of a block placed as l is not
// one of the whole's.
func differentiable(l *mesh.Placed) error {
	for _, p := range l.Placements() {
		if red, ok := p.Partial(); ok && red != mesh.Sum && red != mesh.Mean {
			return &op.ArgError{Func: "from_local", Param: "placements", Got: p.Script() + " for a tensor that requires grad", Want: "Partial of sum or mean, Shard or Replicate", Rule: "reduce it with all_reduce, which has a gradient"}
		}
	}
	return nil
}

// shareOfMean returns the gradient of a term of a mean, given that of the mean.
func (e *Engine) shareOfMean(t *op.Tape, g *tensor.Tensor, l *mesh.Placed) *tensor.Tensor {
	n := 1
	for i, p := range l.Placements() {
		if red, ok := p.Partial(); ok && red == mesh.Mean {
			n *= l.Mesh().Shape()[i]
		}
	}
	if n == 1 {
		return g
	}
	return t.Scale(g, 1/float64(n))
}

// notePlaced tells the rank, if it asks, that a tensor is placed otherwise.
func (e *Engine) notePlaced() {
	if f := e.host.Ops().Placed; f != nil {
		f()
	}
}

// ToLocal returns the rank's block of x as a plain tensor that shares its
// storage. Its gradient is taken for the rank's block of the gradient of x,
// which lies as back says: nil is for like x.
func (e *Engine) ToLocal(x *tensor.Tensor, back *mesh.Placed) (*tensor.Tensor, error) {
	e.notePlaced()
	y := x.Local().Detach()
	if !x.RequiresGrad() {
		return y, nil
	}
	if back == nil {
		back = e.GradLayout(x.Layout())
	}
	e.tape.Conduct("to_local", []*tensor.Tensor{x}, []*tensor.Tensor{y}, func(_ *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
		g, err := e.FromLocal(dy[0], back)
		return []*tensor.Tensor{g}, err
	})
	return y, nil
}

// Full returns the whole of x as a plain tensor, on every rank of its mesh.
// back is as ToLocal has it; nil is for replicated.
func (e *Engine) Full(fn string, x *tensor.Tensor, back *mesh.Placed) (*tensor.Tensor, error) {
	l := x.Layout()
	if !e.member(l.Mesh()) {
		return nil, &op.ArgError{Func: fn, Got: fmt.Sprintf("a call on rank %d", e.host.Self()), Want: "a rank of the mesh " + l.Mesh().String(), Rule: "ranks outside the mesh hold nothing of it"}
	}
	y, err := e.settle(x, e.Replicated(l.Mesh(), x.Shape()), true)
	if err != nil {
		return nil, err
	}
	return e.ToLocal(y, back)
}

// Block returns the rank's block of x, of which every rank of l's mesh holds the
// whole, as a placed tensor. It does not communicate, and shares no storage
// with x.
func (e *Engine) Block(x *tensor.Tensor, l *mesh.Placed) (*tensor.Tensor, error) {
	if !e.member(l.Mesh()) {
		empty, err := e.outside(op.Spec{DType: x.DType(), Shape: x.Shape()})
		if err != nil {
			return nil, err
		}
		return tensor.NewPlaced(l, empty), nil
	}
	e.partByShape(l)
	box, _ := l.Box(e.host.Self())
	c, err := op.Apply(e.host.Ops(), cloneOp, []*tensor.Tensor{view(x.Detach(), box)}, nil)
	if err != nil {
		return nil, err
	}
	return tensor.NewPlaced(l, c.Out[0]), nil
}

// Distribute returns the tensor that rank src of the job has in x, placed as l: a
// new leaf. The ranks of l's mesh and src call it with tensors of one shape and
// dtype; the x of others does not count.
func (e *Engine) Distribute(x *tensor.Tensor, l *mesh.Placed, src int) (*tensor.Tensor, error) {
	one, err := mesh.New([]int{1}, []int{src}, nil)
	if err != nil {
		return nil, OfMesh("distribute_tensor", err)
	}
	if _, ok := l.Mesh().Position(src); ok {
		one = e.host.SameRanks(l.Mesh(), one)
	}
	one = e.host.Layouts().Mesh(one)
	from, err := e.place(one, x.Shape(), []mesh.Placement{mesh.Replicate()})
	if err != nil {
		return nil, OfMesh("distribute_tensor", err)
	}
	block := x.Detach()
	if !e.member(one) {
		if block, err = e.outside(op.Spec{DType: x.DType(), Shape: x.Shape()}); err != nil {
			return nil, err
		}
	}
	y, err := e.move(tensor.NewPlaced(from, block), l)
	if err != nil {
		return nil, err
	}
	if y.Buffer() != x.Buffer() || x.Buffer() == nil {
		return y, nil
	}
	return e.Block(x, l)
}

// RecordDistribution records that Distribute or Block has made y of the plain
// tensor x, which is no leaf: the gradient of x, which all ranks of the mesh have
// alike, is the whole of that of y. Outside the mesh it is zero.
func (e *Engine) RecordDistribution(x, y *tensor.Tensor) {
	e.tape.Conduct("distribute_tensor", []*tensor.Tensor{x}, []*tensor.Tensor{y}, func(_ *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
		if !e.member(y.Layout().Mesh()) {
			return []*tensor.Tensor{nil}, nil
		}
		g, err := e.Full("distribute_tensor", dy[0], nil)
		return []*tensor.Tensor{g}, err
	})
}

// Blocks returns the rank's block of x, plain or placed, moved to l: the arguments of a
// function of blocks. Where ranks hold the block alike, their gradients
// of it are added.
func (e *Engine) Blocks(fn string, x *tensor.Tensor, l *mesh.Placed) (*tensor.Tensor, error) {
	if !x.Placed() {
		p, err := e.FromLocal(x, e.Replicated(l.Mesh(), x.Shape()))
		if err != nil {
			return nil, op.Rename(fn, err)
		}
		x = p
	} else if err := e.checkMove(fn, x, l); err != nil {
		return nil, err
	}
	y, err := e.move(x, l)
	if err != nil {
		return nil, err
	}
	return e.ToLocal(y, e.SummandLayout(l))
}

// Outside returns the tensor placed as l of a rank that is not in l's mesh.
func (e *Engine) Outside(l *mesh.Placed, dt dtype.DType) (*tensor.Tensor, error) {
	block, err := e.outside(op.Spec{DType: dt, Shape: l.Shape()})
	if err != nil {
		return nil, err
	}
	return tensor.NewPlaced(l, block), nil
}
