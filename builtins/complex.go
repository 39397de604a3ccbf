package builtins

import (
	"fmt"
	"math"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins/arg"
	"tpsh/internal/libm"
	"tpsh/lang/operator"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A complexNumber is a complex number of a script: an element of a complex tensor.
type complexNumber complex128

var (
	_ starlark.HasBinary  = complexNumber(0)
	_ starlark.HasUnary   = complexNumber(0)
	_ starlark.HasAttrs   = complexNumber(0)
	_ starlark.Comparable = complexNumber(0)
	_ operator.HasPower   = complexNumber(0)
)

// String shows the number as Python does: (1+2j).
func (z complexNumber) String() string { return tensor.ComplexText(complex128(z)) }

func (z complexNumber) Type() string          { return "complex" }
func (z complexNumber) Freeze()               {} // it cannot be changed
func (z complexNumber) Truth() starlark.Bool  { return z != 0 }
func (z complexNumber) Describe() string      { return z.String() }
func (z complexNumber) Hash() (uint32, error) { return starlark.String(z.String()).Hash() }

// Attr implements starlark.HasAttrs.
func (z complexNumber) Attr(name string) (starlark.Value, error) {
	switch name {
	case "real":
		return starlark.Float(real(z)), nil
	case "imag":
		return starlark.Float(imag(z)), nil
	}
	return nil, nil
}

// AttrNames implements starlark.HasAttrs.
func (z complexNumber) AttrNames() []string { return []string{"imag", "real"} }

// CompareSameType implements starlark.Comparable: complex numbers have no order.
func (z complexNumber) CompareSameType(tok syntax.Token, y starlark.Value, _ int) (bool, error) {
	switch tok {
	case syntax.EQL:
		return z == y.(complexNumber), nil
	case syntax.NEQ:
		return z != y.(complexNumber), nil
	}
	return false, &op.ArgError{Func: tok.String(), Got: "two complex numbers", Want: "real numbers", Rule: "complex numbers have no order"}
}

// Unary implements starlark.HasUnary.
func (z complexNumber) Unary(tok syntax.Token) (starlark.Value, error) {
	switch tok {
	case syntax.MINUS:
		return -z, nil
	case syntax.PLUS:
		return z, nil
	}
	return nil, nil
}

// Binary implements starlark.HasBinary: arithmetic with numbers. That with tensors
// is theirs.
func (z complexNumber) Binary(tok syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	w, ok := asComplex(y)
	if !ok {
		return nil, nil
	}
	a, b := complex128(z), w
	if side == starlark.Right {
		a, b = b, a
	}
	switch tok {
	case syntax.PLUS:
		return complexNumber(a + b), nil
	case syntax.MINUS:
		return complexNumber(a - b), nil
	case syntax.STAR:
		return complexNumber(libm.Mul(a, b)), nil
	case syntax.SLASH:
		if b == 0 {
			return nil, fmt.Errorf("complex division by zero")
		}
		return complexNumber(libm.Div(a, b)), nil
	}
	return nil, nil
}

// Power implements operator.HasPower.
func (z complexNumber) Power(y starlark.Value, side starlark.Side) (starlark.Value, error) {
	w, ok := asComplex(y)
	if !ok {
		return nil, nil
	}
	if side == starlark.Right {
		return complexNumber(libm.PowComplex(w, complex128(z))), nil
	}
	if n := real(w); imag(w) == 0 && n == math.Trunc(n) && math.Abs(n) <= 100 {
		return complexNumber(integerPower(complex128(z), int(n))), nil
	}
	return complexNumber(libm.PowComplex(complex128(z), w)), nil
}

// integerPower returns z multiplied n times, as Python does for small n.
func integerPower(z complex128, n int) complex128 {
	if n < 0 {
		return libm.Div(1, integerPower(z, -n))
	}
	p := complex128(1)
	for ; n > 0; n /= 2 {
		if n%2 == 1 {
			p = libm.Mul(p, z)
		}
		z = libm.Mul(z, z)
	}
	return p
}

// asComplex returns a number of a script as a complex one.
func asComplex(v starlark.Value) (complex128, bool) {
	switch v := v.(type) {
	case complexNumber:
		return complex128(v), true
	case starlark.Bool:
		return complex(asNumber(v), 0), true
	case starlark.Int, starlark.Float:
		f, ok := starlark.AsFloat(v)
		return complex(f, 0), ok
	}
	return 0, false
}

var makeComplexOp = op.Lookup("make_complex")

func init() {
	Register(&Row{
		Name: "complex",
		Doc: "complex(real=0, imag=0) returns a complex number; of float tensors, a complex tensor of those parts.\n" +
			"A number has the attributes real and imag, and arithmetic with numbers and tensors.\n" +
			">>> z = complex(1, 2)\n>>> z * z, z.imag\n((-3+4j), 2.0)\n" +
			">>> complex(tensor([1.0]), tensor([2.0]))\n[1.+2.j]",
		Fn: newComplex,
	})
	Register(
		partRow("real", "real is the real part of a complex tensor, sharing its storage; of a real tensor, the tensor.\n>>> tensor([complex(1, 2)]).real\n[1.]"),
		partRow("imag", "imag is the imaginary part of a complex tensor, sharing its storage.\n>>> tensor([complex(1, 2)]).imag\n[2.]"),
		methodRow("is_complex", "is_complex() returns whether the elements are complex.\n>>> ones(2).is_complex()\nFalse",
			func(_ *Env, fn string, _ *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				return starlark.Bool(t.DType().IsComplex()), arg.Unpack(fn, args, kwargs)
			}),
	)
}

// partRow returns a row for an attribute of tensors that is the operator of its
// name.
func partRow(name, doc string) *Row {
	d := op.Lookup(name)
	return &Row{Name: "Tensor." + name, Doc: doc, Get: func(e *Env, x starlark.Value) (starlark.Value, error) {
		t, err := x.(*Tensor).Tensor()
		if err != nil {
			return nil, err
		}
		return applyOperator(e, d, t, nil, x)
	}}
}

func newComplex(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	values := [2]starlark.Value{starlark.MakeInt(0), starlark.MakeInt(0)}
	if err := arg.Unpack(b.Name(), args, kwargs, "real?", &values[0], "imag?", &values[1]); err != nil {
		return nil, err
	}
	var z [2]complex128
	tensors := false
	for i, v := range values {
		var ok bool
		if _, isTensor := v.(*Tensor); isTensor {
			tensors = true
		} else if z[i], ok = asComplex(v); !ok {
			return nil, arg.In(b.Name(), []string{"real", "imag"}[i], arg.Bad(v, "a number, or a tensor", ""))
		}
	}
	if !tensors {
		return complexNumber(z[0] + libm.Mul(z[1], 1i)), nil
	}
	in := make([]*tensor.Tensor, 2)
	for i, v := range values {
		var err error
		if in[i], err = ToTensor(v); err != nil {
			return nil, arg.In(b.Name(), []string{"real", "imag"}[i], err)
		}
	}
	y, err := invokeOne(e, makeComplexOp, in)
	if err != nil {
		return nil, arg.Rename(b.Name(), err)
	}
	return e.Wrap(y), nil
}
