package nn

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A copier copies modules for the function fn: what stands in several places of the
// module is one in the copy, too.
type copier struct {
	fn   string
	seen map[starlark.Value]starlark.Value
}

// copied returns a module like m with parameters and buffers of its own, which hold the
// same. It refuses a module around which others run, and one with a function of a script,
// which may know what it was made with.
func (m *Module) copied(fn string) (starlark.Value, error) {
	return (&copier{fn, map[starlark.Value]starlark.Value{}}).module(m)
}

func (c *copier) module(m *Module) (starlark.Value, error) {
	if v := c.seen[m.Value]; v != nil {
		return v, nil
	}
	if m.forward != nil || len(m.hooks)+len(m.ahead)+len(m.around)+len(m.outside)+len(m.marks) > 0 || m.onRead != nil {
		return nil, &op.ArgError{Func: c.fn, Got: m.Describe() + " with a forward function or hooks of its own", Want: "a module of the language as it was made", Rule: "it is copied"}
	}
	n := newModule(m.env, m.Class)
	switch m.Value.(type) {
	case *listModule:
		n = &newList(m.env, m.Class).Module
	case *dictModule:
		n = &newDict(m.env, m.Class).Module
	}
	n.training = m.training
	c.seen[m.Value] = n.Value
	for _, f := range m.Fields {
		v, err := c.value(f.Value)
		if err != nil {
			return nil, err
		}
		n.Put(Field{f.Name, f.Kind, v})
	}
	return n.Value, nil
}

// value returns a copy of a module or a tensor, and other values as they are.
func (c *copier) value(v starlark.Value) (starlark.Value, error) {
	if sub := ModuleOf(v); sub != nil {
		return c.module(sub)
	}
	x, ok := v.(*builtins.Tensor)
	if !ok {
		return v, nil
	}
	if y := c.seen[x]; y != nil {
		return y, nil
	}
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	if x.Lens != nil || x.OwnOperators() {
		return nil, arg.In(c.fn, "", arg.Bad(v, "a plain or a distributed tensor", "it is copied"))
	}
	chain := &builtins.OpChain{E: x.Env, Fn: c.fn}
	y := chain.Do("clone", []*tensor.Tensor{t.Detach()})
	if chain.Err != nil {
		return nil, chain.Err
	}
	copied := x.Env.Wrap(y.Detach())
	copied.Parameter, copied.Buffered, copied.Transient = x.Parameter, x.Buffered, x.Transient
	c.seen[x] = copied
	if t.RequiresGrad() {
		return copied, builtins.RequireGrad(c.fn, copied.T)
	}
	return copied, nil
}
