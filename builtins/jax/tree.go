package jax

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

// A leafFunc returns what stands for a leaf of a tree. spec is what is said of it; at says where it is: `argument 0["w"]`.
type leafFunc func(spec, leaf starlark.Value, at string) (starlark.Value, error)

// anySpec stands for the specs of a tree where they do not matter.
var anySpec starlark.Value = (*Spec)(nil)

// each returns a tree like v of what f makes of its leaves: v is a leaf, or a list, tuple or dict of trees, as
// parameters are kept. spec is a tree, too: of the same form, or with one spec for all leaves below. What it has None
// for is a leaf, whatever it is.
func each(fn string, spec, v starlark.Value, at string, f leafFunc) (starlark.Value, error) {
	if spec == starlark.None {
		return f(spec, v, at)
	}
	switch v := v.(type) {
	case starlark.Tuple, *starlark.List:
		items := v.(starlark.Indexable)
		specs, err := entries(fn, spec, v, at, items.Len())
		if err != nil {
			return nil, err
		}
		out := make([]starlark.Value, items.Len())
		for i := range out {
			if out[i], err = each(fn, specs(i), items.Index(i), fmt.Sprintf("%s[%d]", at, i), f); err != nil {
				return nil, err
			}
		}
		if _, ok := v.(starlark.Tuple); ok {
			return starlark.Tuple(out), nil
		}
		return starlark.NewList(out), nil
	case *starlark.Dict:
		out := starlark.NewDict(v.Len())
		for _, pair := range v.Items() {
			where := fmt.Sprintf("%s[%v]", at, pair[0])
			below := spec
			switch s := spec.(type) {
			case *starlark.Dict:
				found, ok, err := s.Get(pair[0])
				if err == nil && !ok || s.Len() != v.Len() {
					err = &op.ArgError{Func: fn, Got: fmt.Sprintf("%s as %s", arg.Show(v), at), Want: fmt.Sprintf("the keys of %s", arg.Show(s)), Rule: "its specs have these"}
				}
				if err != nil {
					return nil, err
				}
				below = found
			case *starlark.List, starlark.Tuple:
				return nil, otherForm(fn, spec, v, at)
			}
			item, err := each(fn, below, pair[1], where, f)
			if err == nil {
				err = out.SetKey(pair[0], item)
			}
			if err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	if isTree(spec) {
		return nil, otherForm(fn, spec, v, at)
	}
	return f(spec, v, at)
}

// entries returns the specs of the n entries of v.
func entries(fn string, spec, v starlark.Value, at string, n int) (func(int) starlark.Value, error) {
	switch s := spec.(type) {
	case *starlark.Dict:
		return nil, otherForm(fn, spec, v, at)
	case *starlark.List, starlark.Tuple:
		list := s.(starlark.Indexable)
		if list.Len() != n {
			return nil, otherForm(fn, spec, v, at)
		}
		return list.Index, nil
	}
	return func(int) starlark.Value { return spec }, nil
}

// otherForm returns the error of a tree that is not of the form of its specs.
func otherForm(fn string, spec, v starlark.Value, at string) error {
	return &op.ArgError{Func: fn, Got: fmt.Sprintf("%s as %s", arg.Show(v), at), Want: fmt.Sprintf("what fits the specs %s", arg.Show(spec)), Rule: "a spec for each entry, or one for all"}
}

// leafwise returns fn, whose first parameter is x, as a function of trees: of each leaf it is fn, of None nothing.
func leafwise(fn builtins.Function) builtins.Function {
	return func(e *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var x *starlark.Value
		args, kwargs = slices.Clone(args), slices.Clone(kwargs)
		if len(args) > 0 {
			x = &args[0]
		}
		for i, pair := range kwargs {
			if pair[0] == starlark.String("x") {
				kwargs[i] = slices.Clone(pair)
				x = &kwargs[i][1]
			}
		}
		if x == nil || !isTree(*x) {
			return fn(e, thread, b, args, kwargs)
		}
		return each(b.Name(), anySpec, *x, "x", func(_, leaf starlark.Value, _ string) (starlark.Value, error) {
			if leaf == starlark.None {
				return leaf, nil
			}
			*x = leaf
			return fn(e, thread, b, args, kwargs)
		})
	}
}

// isTree reports whether v is a list, tuple or dict.
func isTree(v starlark.Value) bool {
	_, dict := v.(*starlark.Dict)
	return dict || builtins.IsList(v)
}
