package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

func init() {
	Register(&Row{
		Name: "tensor",
		Doc: "tensor(data, dtype=None, requires_grad=False) returns a tensor of the numbers in data: a number, nested lists of them, or a tensor, which is copied.\n" +
			"Without a dtype it is that of the numbers: bool, int64, or, if one is a float, the\n" +
			"default float. device=\"cpu\" is accepted.\n" +
			">>> tensor([[1, 2], [3, 4]]).shape\n(2, 2)\n" +
			">>> tensor([1, 2.5]).dtype\nfloat32",
		Fn: newTensor,
	})
}

func newTensor(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		data     starlark.Value
		dt       arg.OptDType
		requires arg.Bool
		device   arg.String = "cpu"
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "data|nested_list", &data, "dtype?", &dt, "requires_grad?", &requires, "device?", &device); err != nil {
		return nil, err
	}
	if err := CheckDevice(b.Name(), starlark.String(device)); err != nil {
		return nil, err
	}
	t, err := FromNested(e, data, dt)
	if err != nil {
		return nil, arg.In(b.Name(), "data", err)
	}
	if requires {
		if err := RequireGrad(b.Name(), t); err != nil {
			return nil, err
		}
	}
	return e.Wrap(t), nil
}

// CheckDevice returns an error of the function fn if v is no device.
func CheckDevice(fn string, v starlark.Value) error {
	if s, ok := starlark.AsString(v); ok && s == "cpu" || v == starlark.None {
		return nil
	}
	return &op.ArgError{Func: fn, Param: "device", Got: arg.Show(v), Want: `"cpu"`, Rule: "there is no other device"}
}
