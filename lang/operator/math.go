package operator

import (
	"errors"
	"fmt"
	gomath "math"

	"go.starlark.net/lib/math"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"tpsh/internal/libm"
)

// Math is Starlark's module math, whose functions have the same bits on every processor.
var Math = &starlarkstruct.Module{Name: "math", Members: mathMembers()}

func mathMembers() starlark.StringDict {
	all := starlark.StringDict{}
	for name, v := range math.Module.Members {
		all[name] = v
	}
	for name, f := range map[string]func(float64) float64{
		"exp": libm.Exp, "acos": libm.Acos, "asin": libm.Asin, "atan": libm.Atan, "cos": libm.Cos, "sin": libm.Sin, "tan": libm.Tan,
		"acosh": libm.Acosh, "asinh": libm.Asinh, "atanh": libm.Atanh, "cosh": libm.Cosh, "sinh": libm.Sinh, "tanh": libm.Tanh, "gamma": libm.Gamma,
	} {
		all[name] = ofNumbers(name, 1, func(x []float64) (float64, error) { return f(x[0]), nil })
	}
	for name, f := range map[string]func(x, y float64) float64{"atan2": libm.Atan2, "hypot": libm.Hypot, "pow": libm.Pow} {
		all[name] = ofNumbers(name, 2, func(x []float64) (float64, error) { return f(x[0], x[1]), nil })
	}
	all["log"] = ofNumbers("log", 1, func(x []float64) (float64, error) {
		if x[1] == 1 {
			return 0, errors.New("division by zero")
		}
		return libm.Log(x[0]) / libm.Log(x[1]), nil
	}, gomath.E)
	return all
}

// ofNumbers returns the function of given numbers, by position, and others that have defaults.
func ofNumbers(name string, given int, f func(x []float64) (float64, error), defaults ...float64) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		x := append(make([]float64, given), defaults...)
		vars := make([]any, len(x))
		for i := range x {
			vars[i] = (*anyNumber)(&x[i])
		}
		if err := starlark.UnpackPositionalArgs(name, args, kwargs, given, vars...); err != nil {
			return nil, err
		}
		y, err := f(x)
		if err != nil {
			return nil, err
		}
		return starlark.Float(y), nil
	})
}

// An anyNumber is an int or a float of a script.
type anyNumber float64

// Unpack implements starlark.Unpacker.
func (p *anyNumber) Unpack(v starlark.Value) error {
	f, ok := number(v)
	if !ok {
		return fmt.Errorf("got %s, want float or int", v.Type())
	}
	*p = anyNumber(f)
	return nil
}
