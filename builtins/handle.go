package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
)

// A RemovableHandle takes a hook away.
type RemovableHandle struct {
	env    *Env
	remove func(fn string) error // any number of times; fn is the function of the script
	freeze func()
}

// NewHandle returns a handle whose .remove() calls remove. freeze freezes what the
// hook is on.
func NewHandle(e *Env, remove func(fn string) error, freeze func()) *RemovableHandle {
	return &RemovableHandle{e, remove, freeze}
}

var _ starlark.HasAttrs = (*RemovableHandle)(nil)

func (h *RemovableHandle) String() string        { return "RemovableHandle" }
func (h *RemovableHandle) Type() string          { return "RemovableHandle" }
func (h *RemovableHandle) Freeze()               { h.freeze() }
func (h *RemovableHandle) Truth() starlark.Bool  { return true }
func (h *RemovableHandle) Hash() (uint32, error) { return 0, Unhashable(h) }
func (h *RemovableHandle) AttrNames() []string   { return AttrNames("RemovableHandle") }
func (h *RemovableHandle) Attr(name string) (starlark.Value, error) {
	return h.env.Attr("RemovableHandle", h, name)
}

func init() {
	Register(
		&Row{Name: "RemovableHandle", Doc: "RemovableHandle is the type of what register_hook and register_forward_hook return."},
		&Row{Name: "RemovableHandle.remove", Doc: "remove() takes the hook away. Once it is gone, it does nothing.\n" +
			">>> nn.ReLU().register_forward_hook(print).remove()",
			Fn: removeHook},
	)
}

func removeHook(_ *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	return starlark.None, b.Receiver().(*RemovableHandle).remove(b.Name())
}
