package nn

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
)

var (
	_ builtins.Holder = (*Module)(nil)
	_ builtins.Holder = (*Optimizer)(nil)
)

// Holdings implements builtins.Holder: a module holds its parameters and those of the
// modules below it.
func (m *Module) Holdings(parameter func(path string, x *builtins.Tensor), _ func(x *builtins.Tensor)) {
	for _, p := range m.Parameters("", true) {
		parameter(p.Path, p.X)
	}
}

// Holdings implements builtins.Holder: an optimizer holds the parameters of its
// groups, whose names it does not know, and what it keeps for them.
func (o *Optimizer) Holdings(parameter func(path string, x *builtins.Tensor), state func(x *builtins.Tensor)) {
	for _, g := range o.groups {
		params, ok := valueAt(g, "params").(starlark.Indexable)
		if !ok {
			continue
		}
		for i := range params.Len() {
			if x, ok := params.Index(i).(*builtins.Tensor); ok {
				parameter("", x)
			}
		}
	}
	for _, s := range o.state {
		for _, x := range s.buffers {
			state(x)
		}
	}
}
