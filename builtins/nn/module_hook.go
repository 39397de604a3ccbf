package nn

import (
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

// A forwardHook is a function of a script that sees what a module returns.
type forwardHook struct{ fn starlark.Callable }

// A RemovableHandle takes a hook away.
type RemovableHandle struct {
	m    *Module
	hook *forwardHook
}

var _ starlark.HasAttrs = (*RemovableHandle)(nil)

func (h *RemovableHandle) String() string        { return "RemovableHandle" }
func (h *RemovableHandle) Type() string          { return "RemovableHandle" }
func (h *RemovableHandle) Freeze()               { h.m.Value.Freeze() }
func (h *RemovableHandle) Truth() starlark.Bool  { return true }
func (h *RemovableHandle) Hash() (uint32, error) { return 0, builtins.Unhashable(h) }
func (h *RemovableHandle) AttrNames() []string   { return builtins.AttrNames("RemovableHandle") }
func (h *RemovableHandle) Attr(name string) (starlark.Value, error) {
	return h.m.env.Attr("RemovableHandle", h, name)
}

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
		&builtins.Row{Name: "RemovableHandle", Doc: "RemovableHandle is the type of what register_forward_hook returns."},
		&builtins.Row{Name: "RemovableHandle.remove", Doc: "remove() takes the hook away. Once it is gone, it does nothing.\n" +
			">>> nn.ReLU().register_forward_hook(print).remove()",
			Fn: removeHook},
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
	return &RemovableHandle{m, h}, nil
}

func removeHook(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	h := b.Receiver().(*RemovableHandle)
	if err := h.m.MayChange(b.Name()); err != nil {
		return nil, err
	}
	h.m.hooks = slices.DeleteFunc(slices.Clone(h.m.hooks), func(x *forwardHook) bool { return x == h.hook })
	return starlark.None, nil
}
