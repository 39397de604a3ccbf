package jax

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/spmdtype"
	"tpsh/runtime/tensor"
)

// An Aval is what jax.typeof returns: a tensor's dtype, shape and how it is held.
type Aval struct{ text string }

var _ starlark.Value = Aval{}

func (a Aval) String() string        { return a.text }
func (a Aval) Type() string          { return "ShapedArray" }
func (a Aval) Freeze()               {} // it cannot be changed
func (a Aval) Truth() starlark.Bool  { return true }
func (a Aval) Hash() (uint32, error) { return starlark.String(a.text).Hash() }

// typeofTensor carries out jax.typeof.
func typeofTensor(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x builtins.OneTensor
	if err := arg.Unpack(b.Name(), args, kwargs, "x", &x); err != nil {
		return nil, err
	}
	return Aval{avalText(x.T)}, nil
}

// avalText returns float32[8@dp, 4@(pp,tp)] of a distributed tensor, and float32[4, 1]{V:tp, U:dp} of a local one: what varies
// over which axes, and of what is unreduced.
func avalText(x *tensor.Tensor) string {
	cut := make([][]string, x.Ndim())
	var varying, unreduced []string
	if x.Placed() {
		m, placements := x.Layout().Mesh(), x.Layout().Placements()
		name := func(i int) string {
			if m.Names() != nil {
				return m.Names()[i]
			}
			return fmt.Sprint(i)
		}
		order, _ := x.Layout().Order()
		for _, i := range order {
			d, _ := placements[i].Shard()
			cut[d] = append(cut[d], name(i))
		}
		for i, p := range placements {
			if _, ok := p.Partial(); ok {
				unreduced = append(unreduced, name(i))
			}
		}
	} else {
		for _, axis := range x.Typed().Record().Axes() {
			switch x.Typed().On(axis).Kind() {
			case spmdtype.Varying:
				varying = append(varying, axis)
			case spmdtype.Partial:
				unreduced = append(unreduced, axis)
			}
		}
	}
	dims := make([]string, x.Ndim())
	for d, n := range x.Shape() {
		if dims[d] = fmt.Sprint(n); cut[d] != nil {
			dims[d] += "@" + among(cut[d])
		}
	}
	text := fmt.Sprintf("%v[%s]", x.DType(), strings.Join(dims, ", "))
	var sets []string
	if varying != nil {
		sets = append(sets, "V:"+among(varying))
	}
	if unreduced != nil {
		sets = append(sets, "U:"+among(unreduced))
	}
	if sets != nil {
		text += "{" + strings.Join(sets, ", ") + "}"
	}
	return text
}

// among returns names as JAX writes them: dp, or (dp,tp).
func among(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "(" + strings.Join(names, ",") + ")"
}
