package collective

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/runtime"
	"tpsh/runtime/op"
	"tpsh/runtime/spmdtype"
	"tpsh/runtime/tensor"
)

// A TypedCall is a collective of local tensors whose types along the group are given, or known.
type TypedCall struct {
	runtime.Collective
	X        *tensor.Tensor
	Group    starlark.Value // as the script gave it; nil for the world
	G        *runtime.Group
	Src, Dst starlark.Value // nil if not given
}

// typing carries out typed calls.
var typing func(e *builtins.Env, c *TypedCall) (*tensor.Tensor, error)

// RegisterTyping has typed calls carried out by f. The vocabulary of the types calls it in an init function.
func RegisterTyping(f func(e *builtins.Env, c *TypedCall) (*tensor.Tensor, error)) { typing = f }

// typed carries out the call, on g.
func (c *collectiveCall) typed(g *runtime.Group) (starlark.Value, error) {
	if c.list != nil || c.async {
		if c.from == nil && c.to == nil { // what comes of it has no type
			return c.untyped(g)
		}
		return nil, &op.ArgError{Func: c.Op, Got: "src= or dst= of an asynchronous call or of a list", Want: "a tensor, and no async_op", Rule: "spmd.mutate_type says what the result is"}
	}
	if typing == nil {
		return nil, &op.ArgError{Func: c.Op, Got: "src= or dst=", Want: "neither", Rule: "there are no types here"}
	}
	y, err := typing(c.e, &TypedCall{Collective: c.Collective, X: c.x, Group: c.group, G: g, Src: c.from, Dst: c.to})
	if err != nil || y == nil {
		return starlark.None, err
	}
	return c.e.Wrap(y), nil
}

// untyped carries out a call on a list, or an asynchronous one.
func (c *collectiveCall) untyped(g *runtime.Group) (starlark.Value, error) {
	if c.list != nil {
		return c.exchange(g)
	}
	return c.issue(g)
}

// rooted reports whether src or dst of the collective is a rank, and not a type.
func (k *collective) rooted() bool { return spmdtype.Named(k.name) == nil }
