package builtins

import (
	"math/big"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/builtins/pyfmt"
	"tpsh/runtime/op"
)

func init() {
	Register(&Row{
		Name: "fmt",
		Doc: "fmt(x, spec=\"\") returns x as text: a number, a string, or the element of a tensor that has one.\n" +
			"spec is as in Python's format: [[fill]align][sign][#][0][width][grouping][.precision][type].\n" +
			">>> fmt(2.0 / 3, \".4f\")\n\"0.6667\"\n" +
			">>> fmt(tensor(1234567), \",\")\n\"1,234,567\"",
		Fn: format,
	})
}

func format(_ *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		x    starlark.Value
		text arg.String
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "x", &x, "spec?", &text); err != nil {
		return nil, err
	}
	if t, ok := x.(*Tensor); ok {
		var err error
		if x, err = t.item(b.Name()); err != nil {
			return nil, err
		}
	}
	if isUnknown(x) {
		return starlark.String("?"), nil
	}
	out := ""
	spec, err := pyfmt.Parse(string(text))
	if err == nil {
		switch x := x.(type) {
		case starlark.Bool:
			out, err = formatBool(bool(x), string(text), spec)
		case starlark.Int:
			out, err = pyfmt.Int(x.BigInt(), spec)
		case starlark.Float:
			out, err = pyfmt.Float(float64(x), spec)
		case starlark.String:
			out, err = pyfmt.String(string(x), spec)
		default:
			return nil, &op.ArgError{Func: b.Name(), Param: "x", Got: arg.Show(x), Want: "a number, a string or a tensor of one element"}
		}
	}
	if err != nil {
		return nil, &op.ArgError{Func: b.Name(), Param: "spec", Got: arg.Show(starlark.String(text)), Want: "[[fill]align][sign][#][0][width][grouping][.precision][type]", Rule: "it has " + err.Error()}
	}
	return starlark.String(out), nil
}

// formatBool formats a bool: as its name if nothing else is asked for, and
// else as 0 or 1.
func formatBool(b bool, text string, spec *pyfmt.Spec) (string, error) {
	if text == "" {
		return starlark.Bool(b).String(), nil
	}
	n := int64(0)
	if b {
		n = 1
	}
	return pyfmt.Int(big.NewInt(n), spec)
}
