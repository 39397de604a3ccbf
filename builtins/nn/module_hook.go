package nn

import (
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

// A forwardHook is a function of a script that sees what a module returns, or is called with.
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
			">>> m(zeros(2)).tolist()\n[0.0, 0.0]", hookMethod(func(m *Module) *[]*forwardHook { return &m.hooks })),
		ModuleRow("register_forward_pre_hook", "register_forward_pre_hook(fn) calls fn(module, inputs) whenever the module is about to be called, and returns a handle with .remove().\n"+
			"inputs is the tuple of the arguments by position. What fn returns replaces them,\n"+
			"unless it is None: a tuple, or one argument.\n"+
			">>> m = nn.ReLU()\n"+
			">>> h = m.register_forward_pre_hook(lambda module, inputs: inputs[0] + 1)\n"+
			">>> m(zeros(2)).tolist()\n[1.0, 1.0]\n"+
			">>> h.remove()\n"+
			">>> m(zeros(2)).tolist()\n[0.0, 0.0]", hookMethod(func(m *Module) *[]*forwardHook { return &m.ahead })),
	)
}

// hookMethod returns the method that adds a function of a script to a list of hooks.
func hookMethod(of func(m *Module) *[]*forwardHook) moduleMethod {
	return func(_ *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return registerHook(fn, m, of(m), args, kwargs)
	}
}

func registerHook(fn string, m *Module, list *[]*forwardHook, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var hook arg.Callable
	if err := arg.Unpack(fn, args, kwargs, "fn|hook", &hook); err != nil {
		return nil, err
	}
	if err := m.MayChange(fn); err != nil {
		return nil, err
	}
	h := &forwardHook{hook.Fn}
	*list = append(*list, h)
	remove := func(fn string) error {
		if err := m.MayChange(fn); err != nil {
			return err
		}
		*list = slices.DeleteFunc(slices.Clone(*list), func(x *forwardHook) bool { return x == h })
		return nil
	}
	return builtins.NewHandle(m.env, remove, m.Value.Freeze), nil
}
