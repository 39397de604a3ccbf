package builtins

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/lang/operator"
	"tpsh/runtime/op"
)

var (
	_ operator.HasMatMul = (*Tensor)(nil)
	_ operator.HasPower  = (*Tensor)(nil)
	_ operator.HasFormat = (*Tensor)(nil)
	_ operator.HasPower  = (*Unknown)(nil)
	_ operator.HasFormat = (*Unknown)(nil)
)

// The operators behind ** and @.
var (
	powOp   = op.Lookup("pow")
	timesOp = op.Lookup("matmul")
)

// MatMul implements operator.HasMatMul: x @ y.
func (x *Tensor) MatMul(y starlark.Value, side starlark.Side) (starlark.Value, error) {
	if _, ok := y.(*Tensor); !ok {
		return nil, nil
	}
	return x.between(timesOp, y, side)
}

// Power implements operator.HasPower: x ** y, of which one may be a number.
func (x *Tensor) Power(y starlark.Value, side starlark.Side) (starlark.Value, error) {
	if !isOperand(y) {
		return nil, nil
	}
	return x.between(powOp, y, side)
}

// Format implements operator.HasFormat: the element of a tensor that has one is
// written as a number.
func (x *Tensor) Format(spec string) (string, error) {
	v, err := x.item("format")
	if err != nil {
		return "", err
	}
	return operator.FormatValue("format", v, spec)
}

// Power implements operator.HasPower: what comes of a number that is not known is
// not known either.
func (u *Unknown) Power(y starlark.Value, side starlark.Side) (starlark.Value, error) {
	switch y.(type) {
	case starlark.Int, starlark.Float, *Unknown:
		return u.Binary(syntax.STAR, y, side)
	}
	return nil, nil
}

// Format implements operator.HasFormat.
func (u *Unknown) Format(string) (string, error) { return u.String(), nil }
