package builtins

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins/arg"
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
	switch y.(type) {
	case *Tensor, starlark.Int, starlark.Float, starlark.Bool, complexNumber, *Unknown, *Varying:
		return x.between(powOp, y, side)
	}
	return nil, nil
}

// between applies an operator to x and y, which is on the other side of it.
func (x *Tensor) between(d *op.Def, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	a, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	b, err := ToOperand(y)
	if err != nil {
		return nil, arg.In(d.Name, "", err)
	}
	if side == starlark.Right {
		return applyOperator(x.Env, d, b, a, y, x)
	}
	return applyOperator(x.Env, d, a, b, x, y)
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
