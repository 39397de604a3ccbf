package builtins

import (
	"fmt"
	"math"
	"math/big"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins/arg"
	"tpsh/internal/libm"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Functions of Python on numbers that Starlark lacks.
func init() {
	Register(&Row{
		Name: "sum",
		Doc: "sum(x, start=0) returns start and the elements of x, added from left to right: numbers or tensors.\n" +
			"The sum of all elements of a tensor is x.sum().\n" +
			">>> sum([1, 2, 3.5])\n6.5\n" +
			">>> sum(i * i for i in range(4))\n14",
		Fn: sumOf,
	}, &Row{
		Name: "round",
		Doc: "round(x, ndigits=None) returns the number x rounded: to the nearest int, or to ndigits digits behind the point.\n" +
			"Halves go to the even neighbour, as in Python. Of a tensor it is x.round(ndigits).\n" +
			">>> round(2.5), round(3.5), round(3.14159, 2)\n(2, 4, 3.14)",
		Fn: roundOf,
	})
}

func sumOf(_ *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x, total starlark.Value = nil, starlark.MakeInt(0)
	if err := arg.Unpack(b.Name(), args, kwargs, "x", &x, "start?", &total); err != nil {
		return nil, err
	}
	list, ok := x.(starlark.Iterable)
	if !ok {
		return nil, arg.In(b.Name(), "x", arg.Bad(x, "a list, or what else has elements", ""))
	}
	if n := starlark.Len(x); n > maxListed {
		return nil, arg.In(b.Name(), "x", arg.Bad(x, fmt.Sprintf("at most %d elements", maxListed), "x.sum() adds the elements of a tensor"))
	}
	for v := range starlark.Elements(list) {
		if _, text := v.(starlark.String); text {
			return nil, arg.In(b.Name(), "x", arg.Bad(v, "numbers or tensors", `"".join(x) joins texts`))
		}
		sum, err := starlark.Binary(syntax.PLUS, total, v)
		if err != nil {
			return nil, err
		}
		total = sum
	}
	return total, nil
}

func roundOf(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		x      starlark.Value
		digits arg.OptInt
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "x", &x, "ndigits?", &digits); err != nil {
		return nil, err
	}
	switch v := x.(type) {
	case *Unknown:
		return v, nil
	case *Tensor:
		t, err := v.Tensor()
		if err != nil {
			return nil, err
		}
		y, err := invokeOne(e, roundOp, []*tensor.Tensor{t}, op.Int1(int(digits.V)))
		if err != nil {
			return nil, arg.Rename(b.Name(), err)
		}
		return e.Wrap(y), nil
	case starlark.Int:
		if !digits.Set || digits.V >= 0 {
			return v, nil
		}
		return roundInt(v, -int(digits.V)), nil
	case starlark.Float:
		if digits.Set {
			return starlark.Float(roundDigits(float64(v), int(digits.V))), nil
		}
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, arg.In(b.Name(), "x", arg.Bad(x, "a number that an int can hold", ""))
		}
		n, _ := big.NewFloat(math.RoundToEven(float64(v))).Int(nil)
		return starlark.MakeBigInt(n), nil
	}
	return nil, arg.In(b.Name(), "x", arg.Bad(x, "a number or a tensor", ""))
}

var roundOp = op.Lookup("round")

// roundInt returns n rounded to a multiple of ten to the power of digits, halves
// to the even one.
func roundInt(n starlark.Int, digits int) starlark.Value {
	if digits > 10_000 {
		return starlark.MakeInt(0)
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	q, r := new(big.Int).DivMod(n.BigInt(), unit, new(big.Int))
	twice := new(big.Int).Lsh(r, 1)
	if c := twice.Cmp(unit); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return starlark.MakeBigInt(q.Mul(q, unit))
}

// roundDigits returns x rounded to digits behind the point: the float nearest to
// the decimal that is nearest to x.
func roundDigits(x float64, digits int) float64 {
	if digits > 323 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	if digits < -308 {
		return math.Copysign(0, x)
	}
	if digits >= 0 {
		var y float64
		fmt.Sscan(fmt.Sprintf("%.*f", digits, x), &y)
		return y
	}
	unit := libm.Pow(10, float64(-digits))
	return math.RoundToEven(x/unit) * unit
}
