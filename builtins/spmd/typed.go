package spmd

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/dtensor"
	"tpsh/internal/units"
	"tpsh/runtime/op"
	"tpsh/runtime/spmdtype"
	"tpsh/runtime/tensor"
)

func init() {
	builtins.Register(&builtins.Row{Name: "spmd.typed", Fn: typed,
		Doc: "typed(fn, mesh, in_types=None, out_types=None) returns a function that calls fn with types on: an operation whose operands do not fit is an error.\n" +
			"in_types has a dict of types by axis for each argument, such as {\"tp\": spmd.R}, or None for one that is left as it is; a single type\n" +
			"stands for all axes. out_types is one such dict, or a list of them for several results, and what fn returns is held to it; None\n" +
			"holds it to nothing. Of a list or tuple of tensors each has the types. A constant without types counts as the same on all ranks; a tensor that\n" +
			"requires grad must have a type. The gradient that backward() in fn begins with must fit, and .grad and what hooks see have types: P for R, R for P, I for I, V for V.\n" +
			">>> mesh = init_device_mesh(\"cpu\", (1,), mesh_dim_names=(\"tp\",))\n" +
			">>> def total(x):\n...     return spmd.all_reduce(x.sum(0), \"tp\", src=spmd.P, dst=spmd.I)\n" +
			">>> spmd.typed(total, mesh, [{\"tp\": spmd.S(0)}], {\"tp\": spmd.I})(ones(2)).item()\n2.0"})
}

// A typedFunction is what typed returns.
type typedFunction struct {
	e      *builtins.Env
	fn     starlark.Callable
	mesh   *dtensor.DeviceMesh
	in     []*spmdtype.Types // nil entries for arguments that are left as they are
	given  bool
	out    []*spmdtype.Types
	single bool
}

func typed(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		fn      arg.Callable
		m       dtensor.MeshArg
		in, out starlark.Value
		f       = &typedFunction{e: e}
		err     error
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "fn|f", &fn, "mesh|device_mesh", &m, "in_types??", &in, "out_types??", &out); err != nil {
		return nil, err
	}
	f.fn, f.mesh = fn.Fn, m.DeviceMesh
	if f.mesh.M.Names() == nil {
		return nil, &op.ArgError{Func: b.Name(), Param: "mesh", Got: f.mesh.Describe() + " without names", Want: "one whose dims have names", Rule: `mesh_dim_names=("dp", "tp")`}
	}
	if in != nil {
		f.given = true
		if f.in, _, err = typeLists(b.Name(), "in_types", in, f.mesh); err != nil {
			return nil, err
		}
	}
	if out != nil {
		if f.out, f.single, err = typeLists(b.Name(), "out_types", out, f.mesh); err != nil {
			return nil, err
		}
	}
	return starlark.NewBuiltin(fn.Fn.Name(), f.call), nil
}

// typeLists returns v, a list or tuple of types by axis or None, or one of these.
func typeLists(fn, param string, v starlark.Value, mesh *dtensor.DeviceMesh) (lists []*spmdtype.Types, single bool, err error) {
	if !builtins.IsList(v) {
		ts, err := toTypes(fn, param, v, mesh)
		return []*spmdtype.Types{ts}, true, err
	}
	var list arg.List
	if err := list.Unpack(v); err != nil {
		return nil, false, arg.In(fn, param, err)
	}
	for _, item := range list {
		var ts *spmdtype.Types
		if item != starlark.None {
			if ts, err = toTypes(fn, param, item, mesh); err != nil {
				return nil, false, err
			}
		}
		lists = append(lists, ts)
	}
	return lists, false, nil
}

// call calls the function.
func (f *typedFunction) call(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	name := b.Name()
	if f.given && len(args) != len(f.in) {
		return nil, &op.ArgError{Func: name, Got: units.Count(len(args), "argument"), Want: units.Count(len(f.in), "argument"), Rule: "spmd.typed has that many in_types"}
	}
	return Within(f.e, f.mesh, true, func() (starlark.Value, error) {
		for i, ts := range f.in {
			if ts == nil {
				continue
			}
			restore, err := f.declare(name, fmt.Sprintf("argument %d", i), args[i], ts)
			if err != nil {
				return nil, err
			}
			defer restore()
		}
		v, err := starlark.Call(f.e.Thread, f.fn, args, kwargs)
		if err != nil || f.out == nil {
			return v, err
		}
		return v, f.check(name, v)
	})
}

// declare gives the tensors of v, which what names, the types ts, or checks those that they have, until the function that it
// returns is called.
func (f *typedFunction) declare(fn, what string, v starlark.Value, ts *spmdtype.Types) (restore func(), err error) {
	if builtins.IsList(v) {
		var list arg.List
		if err := list.Unpack(v); err != nil {
			return nil, arg.In(fn, what, err)
		}
		all := func() {}
		for i, item := range list {
			one, err := f.declare(fn, fmt.Sprintf("%s, item %d", what, i), item, ts)
			if err != nil {
				return nil, err
			}
			before := all
			all = func() { before(); one() }
		}
		return all, nil
	}
	x, ok := v.(*builtins.Tensor)
	if !ok {
		return nil, &op.ArgError{Func: fn, Got: arg.Show(v) + " as " + what, Want: "a tensor", Rule: "None in in_types stands for what is no tensor"}
	}
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	was := t.Typed()
	if err := state(f.e, fn, what, t, ts); err != nil {
		return nil, err
	}
	return func() {
		if !t.Placed() {
			t.SetTyped(was)
		}
	}, nil
}

// check returns an error if what the function has returned is not of the types that out_types say.
func (f *typedFunction) check(fn string, v starlark.Value) error {
	list := []starlark.Value{v}
	if !f.single {
		var items arg.List
		if builtins.IsList(v) {
			if err := items.Unpack(v); err != nil {
				return err
			}
			list = items
		}
	}
	if len(list) != len(f.out) {
		return &op.ArgError{Func: fn, Got: units.Count(len(list), "result"), Want: units.Count(len(f.out), "result"), Rule: "spmd.typed has that many out_types"}
	}
	for i, item := range list {
		if f.out[i] == nil {
			continue
		}
		what := "the result"
		if !f.single {
			what = fmt.Sprintf("result %d", i)
		}
		if err := f.checkOne(fn, what, item, f.out[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkOne is check of one result, or of a list that has the types each.
func (f *typedFunction) checkOne(fn, what string, v starlark.Value, want *spmdtype.Types) error {
	if builtins.IsList(v) {
		var items arg.List
		if err := items.Unpack(v); err != nil {
			return err
		}
		for i, item := range items {
			if err := f.checkOne(fn, fmt.Sprintf("%s, item %d", what, i), item, want); err != nil {
				return err
			}
		}
		return nil
	}
	x, ok := v.(*builtins.Tensor)
	if !ok {
		return &op.ArgError{Func: fn, Got: arg.Show(v) + " as " + what, Want: "a tensor", Rule: "None in out_types stands for what is no tensor"}
	}
	t, err := x.Tensor()
	if err != nil {
		return err
	}
	for _, axis := range want.Axes() {
		if err := differs(fn, what, axis, t, want.On(axis), "say out_types "); err != nil {
			return err
		}
	}
	return nil
}

// differs returns an error if t, which what names, is known not to be a want along axis. say begins what else may be said.
func differs(fn, what, axis string, t *tensor.Tensor, want spmdtype.Type, say string) error {
	had, since := typeAlong(t, axis)
	want, ok := want.Of(t.Ndim())
	switch {
	case !ok:
		return &op.ArgError{Func: fn, Got: op.Describe(t) + " as " + what, Want: fmt.Sprintf("a tensor that has the dim of %v", want)}
	case had.Is(want), had.IsNone() && want.Same():
		return nil
	case had.IsNone():
		return &op.ArgError{Func: fn, Got: what + " without a type over " + axis, Want: want.String() + " over " + axis, Rule: "a constant is the same on all ranks"}
	}
	e := &op.ArgError{Func: fn, Got: fmt.Sprintf("%v over %s%s as %s", had, axis, since, what), Want: fmt.Sprintf("%v over %s", want, axis)}
	switch call := spmdtype.Call("x", axis, had, want); {
	case call != "" && had == spmdtype.P:
		e.Rule = fmt.Sprintf("all_reduce it over %s: %s, or %s%v", axis, call, say, had)
		if want.Kind() == spmdtype.Varying {
			e.Rule = fmt.Sprintf("reduce_scatter it over %s: %s, or %s%v", axis, call, say, had)
		}
	case call != "" && had != spmdtype.V || call != "" && want.Kind() != spmdtype.Varying:
		e.Rule = fmt.Sprintf("%s, or %s%v", call, say, had)
	default:
		e.Rule = fmt.Sprintf("%s%v, or what only you know by spmd.mutate_type", say, had)
	}
	return e
}
