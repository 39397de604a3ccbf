package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
)

func init() {
	Register(&Row{
		Name: "tensor",
		Doc: "tensor(data, dtype=None, requires_grad=False, device=None) returns a tensor of the numbers in data: a number, nested lists of them, or a tensor, which is copied.\n" +
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
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "data|nested_list", &data, "dtype?", &dt, "requires_grad?", &requires, "device?", Device{}); err != nil {
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

// A Device is an argument that is the device "cpu" or None. There is no other.
type Device struct{}

// Unpack implements starlark.Unpacker.
func (Device) Unpack(v starlark.Value) error {
	if v == starlark.None || v == starlark.String("cpu") {
		return nil
	}
	return arg.Bad(v, `"cpu"`, "there is no other device")
}
