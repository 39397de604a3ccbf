package shard

import (
	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Redistribute is Move for the script's function fn: the result shares no
// storage with x.
func (e *Engine) Redistribute(fn string, x *tensor.Tensor, l *mesh.Placed) (*tensor.Tensor, error) {
	e.notePlaced()
	if err := e.checkMove(fn, x, l); err != nil {
		return nil, err
	}
	y, err := e.settle(x, l, true)
	if err != nil || y.Buffer() == nil || y.Buffer() != x.Buffer() {
		return y, err
	}
	out, err := e.tape.Apply(cloneOp, []*tensor.Tensor{y}, nil)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

var cloneOp = op.Lookup("clone")

// checkMove returns an error unless a script may have x moved to l.
func (e *Engine) checkMove(fn string, x *tensor.Tensor, l *mesh.Placed) error {
	if x.Layout().Mesh() == l.Mesh() {
		if err := mesh.CheckTarget(x.Layout(), l); err != nil {
			return OfMesh(fn, err)
		}
		if _, err := e.host.Layouts().Plan(x.Layout(), l, x.DType().Size()); err != nil {
			return OfMesh(fn, err)
		}
		return nil
	}
	if l.IsPartial() {
		return &op.ArgError{Func: fn, Param: "placements", Got: mesh.List(l.Placements()), Want: "no Partial", Rule: "Partial is what operators leave, no target on another mesh"}
	}
	return nil
}

// RedistributeAs is Redistribute of x in dtype there, which is that of the result; its
// gradient is moved in dtype back, and then given that of x.
func (e *Engine) RedistributeAs(fn string, x *tensor.Tensor, l *mesh.Placed, there, back dtype.DType) (*tensor.Tensor, error) {
	restore := e.tape.SetEnabled(false)
	z, err := e.inDType(x, there)
	if err == nil {
		z, err = e.Redistribute(fn, z, l)
	}
	restore()
	if err != nil || !x.RequiresGrad() {
		return z, err
	}
	home, dt := e.GradLayout(x.Layout()), x.DType()
	e.tape.Conduct(fn, []*tensor.Tensor{x}, []*tensor.Tensor{z}, func(_ *op.Tape, dz []*tensor.Tensor) ([]*tensor.Tensor, error) {
		g, err := e.inDType(dz[0], back)
		if err != nil {
			return nil, err
		}
		if g, err = e.move(g, home); err != nil {
			return nil, err
		}
		g, err = e.inDType(g, dt)
		return []*tensor.Tensor{g}, err
	})
	return z, nil
}

// inDType returns x converted to dt.
func (e *Engine) inDType(x *tensor.Tensor, dt dtype.DType) (*tensor.Tensor, error) {
	if x.DType() == dt {
		return x, nil
	}
	out, err := e.tape.Apply(toOp, []*tensor.Tensor{x}, []op.Arg{op.Int1(int(dt))})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

var toOp = op.Lookup("to")
