package nn

import (
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

// A forwardHook is a function of a script that sees what a module returns.
type forwardHook struct{ fn starlark.Callable }

func init() {
	builtins.Register(
		ModuleRow("register_forward_hook", "register_forward_hook(fn) calls fn(module, inputs, output) whenever the module has been called, and returns a handle with .remove().\n"+
			"inputs is the tuple of the arguments by position. What fn returns replaces the output,\n"+
			"unless it is None.\n"+
			">>> m = nn.ReLU()\n"+
			">>> h = m.register_forward_hook(lambda module, inputs, output: output + 1)\n"+
			">>> m(zeros(2)).tolist()\n[1.0, 1.0]\n"+
			">>> h.remove()\n"+
			">>> m(zeros(2)).tolist()\n[0.0, 0.0]", registerForwardHook),
	)
}

func registerForwardHook(_ *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var hook arg.Callable
	if err := arg.Unpack(fn, args, kwargs, "fn|hook", &hook); err != nil {
		return nil, err
	}
	if err := m.MayChange(fn); err != nil {
		return nil, err
	}
	h := &forwardHook{hook.Fn}
	m.hooks = append(m.hooks, h)
	remove := func(fn string) error {
		if err := m.MayChange(fn); err != nil {
			return err
		}
		m.hooks = slices.DeleteFunc(slices.Clone(m.hooks), func(x *forwardHook) bool { return x == h })
		return nil
	}
	return builtins.NewHandle(m.env, remove, m.Value.Freeze), nil
}
