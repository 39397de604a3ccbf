package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// read returns v, the argument for p. If v is a tensor and p takes ints or numbers, it returns
// the elements instead, as an int, a number or a list of ints. A tensor that requires grad stays
// what it is: its gradient would be lost.
func (b *binding) read(p *op.Param, v starlark.Value) (starlark.Value, error) {
	x, ok := v.(*Tensor)
	if !ok {
		return v, nil
	}
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	if !readable(p, t) {
		return v, nil
	}
	if t, err = b.env.Whole(b.name, t); err != nil {
		return nil, err
	}
	if t.Hollow() {
		return unknownOf(b.env, t.DType()), nil
	}
	if t.Ndim() == 0 {
		return elementOf(t, t.Offset()), nil
	}
	list := make([]starlark.Value, t.Numel())
	for i := range list {
		list[i] = elementOf(t, t.Offset()+i*t.Strides()[0])
	}
	return starlark.NewList(list), nil
}

// readable reports whether t may stand for the numbers that p takes.
func readable(p *op.Param, t *tensor.Tensor) bool {
	if t.RequiresGrad() || t.Buffer() == nil && !t.Placed() {
		return false
	}
	switch p.Kind {
	case op.Int, op.OptInt, op.Dim, op.OptDim:
		return t.Ndim() == 0 && t.DType().IsInt()
	case op.Float, op.OptFloat:
		return t.Ndim() == 0 && (t.DType().IsInt() || t.DType().IsFloat())
	case op.IntOrSeq:
		return t.Ndim() <= 1 && t.DType().IsInt()
	}
	return false
}
