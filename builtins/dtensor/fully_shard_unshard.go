package dtensor

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

// An unshardHandle is an unshard(async_op=True) that has begun.
type unshardHandle struct {
	env   *builtins.Env
	units []*shardUnit
}

var _ starlark.HasAttrs = (*unshardHandle)(nil)

func (h *unshardHandle) String() string        { return "UnshardHandle" }
func (h *unshardHandle) Type() string          { return "UnshardHandle" }
func (h *unshardHandle) Freeze()               {}
func (h *unshardHandle) Truth() starlark.Bool  { return true }
func (h *unshardHandle) Hash() (uint32, error) { return 0, builtins.Unhashable(h) }
func (h *unshardHandle) AttrNames() []string   { return builtins.AttrNames("UnshardHandle") }
func (h *unshardHandle) Attr(name string) (starlark.Value, error) {
	return h.env.Attr("UnshardHandle", h, name)
}

func init() {
	builtins.Register(
		&builtins.Row{Name: "UnshardHandle", Doc: "UnshardHandle is the type of what Module.unshard returns with async_op."},
		&builtins.Row{Name: "UnshardHandle.wait", Doc: "wait() waits until the parameters are gathered, and has them stand for their wholes.\n" +
			exampleFullyShard + ">>> h = m.unshard(async_op=True)\n>>> h.wait()\n>>> m.weight.shape\n(3, 2)",
			Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
					return nil, err
				}
				return starlark.None, unshardAll(b.Receiver().(*unshardHandle).units)
			}},
	)
}
