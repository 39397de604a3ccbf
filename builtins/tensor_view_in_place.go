package builtins

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
)

// PyTorch's views in place: x becomes what the method without the underscore returns.
// No element is written, so the other tensors on the storage of x stay as they are.

func init() {
	for _, v := range []struct{ name, of, params, example string }{
		{"t_", "t", "", "x = zeros(2, 3)\n>>> x.t_().shape, x.shape\n((3, 2), (3, 2))"},
		{"transpose_", "transpose", "dim0, dim1", "x = zeros(2, 3, 4)\n>>> x.transpose_(0, 2).shape, x.shape\n((4, 3, 2), (4, 3, 2))"},
		{"swapaxes_", "swapaxes", "dim0, dim1", "x = zeros(2, 3)\n>>> x.swapaxes_(0, 1).shape\n(3, 2)"},
		{"swapdims_", "swapdims", "dim0, dim1", "x = zeros(2, 3)\n>>> x.swapdims_(0, 1).shape\n(3, 2)"},
		{"squeeze_", "squeeze", "dim=None", "x = zeros(2, 1)\n>>> x.squeeze_().shape, x.shape\n((2,), (2,))"},
		{"unsqueeze_", "unsqueeze", "dim", "x = zeros(2)\n>>> x.unsqueeze_(0).shape, x.shape\n((1, 2), (1, 2))"},
		{"detach_", "detach", "", "x = ones(2, requires_grad=True) * 2\n>>> x.detach_().requires_grad\nFalse"},
	} {
		Register(&Row{
			Name: "Tensor." + v.name,
			MakeDoc: func() string {
				return fmt.Sprintf("%s(%s) makes x what x.%s(%s) returns, and returns it.\n"+
					"A leaf that requires grad is refused: its gradient would have another shape.\n>>> %s", v.name, v.params, v.of, v.params, v.example)
			},
			Fn: becomes(v.of),
		})
	}
}

// becomes returns the method by which a tensor becomes what its method called of
// returns.
func becomes(of string) Function {
	return func(_ *Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		x := b.Receiver().(*Tensor)
		t, err := x.Tensor()
		if err != nil {
			return nil, err
		}
		if err := CheckFrozen(b.Name(), t); err != nil {
			return nil, err
		}
		if x.Lens != nil {
			return nil, &op.ArgError{Func: b.Name(), Got: "a " + x.Type(), Want: "a tensor or a DTensor", Rule: "x = x." + of + "(...) gives the name to another"}
		}
		if t.RequiresGrad() && grad.IsLeaf(t) {
			return nil, &op.ArgError{Func: b.Name(), Got: "a leaf that requires grad", Want: "another tensor", Rule: "x." + of + "(...) is one"}
		}
		method, err := x.Attr(of)
		if err != nil {
			return nil, err
		}
		y, err := starlark.Call(thread, method, args, kwargs)
		if err != nil {
			return nil, arg.Rename(b.Name(), err)
		}
		x.T = y.(*Tensor).T
		return x, nil
	}
}
