package jax

import (
	"errors"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/dtensor"
	"tpsh/builtins/spmd"
	"tpsh/mesh"
	"tpsh/runtime/op"
)

// shardMap carries out shard_map.
func shardMap(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		fn      arg.Callable
		m       arg.Opt[dtensor.MeshArg, *dtensor.MeshArg]
		in, out starlark.Value
		check   = arg.Bool(true)
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "f", &fn, "mesh?", &m, "in_specs", &in, "out_specs", &out, "check_vma?", &check); err != nil {
		return nil, err
	}
	d := m.V.DeviceMesh
	if !m.Set {
		if d = spmd.MeshOf(e); d == nil {
			return nil, arg.Missing(b.Name(), "mesh")
		}
	}
	ins, single, err := specList(e, b.Name(), "in_specs", in, d.M)
	if err != nil {
		return nil, err
	}
	outs, one, err := specList(e, b.Name(), "out_specs", out, d.M)
	if err != nil {
		return nil, err
	}
	return starlark.NewBuiltin(fn.Fn.Name(), func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		specs := ins
		if single { // for all arguments
			for len(specs) < len(args) {
				specs = append(specs, ins[0])
			}
		}
		if len(args) != len(specs) {
			return nil, &op.ArgError{Func: b.Name(), Got: builtins.CountWord(len(args), "argument"), Want: builtins.CountWord(len(specs), "argument"), Rule: "shard_map has that many in_specs"}
		}
		mapped := dtensor.MapBlocks(e, fn.Fn, specs, outs, one, d.M)
		v, err := spmd.Within(e, d, bool(check), func() (starlark.Value, error) { return mapped.CallInternal(e.Thread, args, kwargs) })
		return v, told(err)
	}), nil
}

// specList returns v, P or a tuple of such, as lists of placements.
func specList(e *builtins.Env, fn, param string, v starlark.Value, m *mesh.Mesh) (lists [][]mesh.Placement, single bool, err error) {
	if !builtins.IsList(v) {
		list, err := specOf(e, fn, param, v, m)
		return [][]mesh.Placement{list}, true, err
	}
	var items arg.List
	if err := items.Unpack(v); err != nil {
		return nil, false, arg.In(fn, param, err)
	}
	for _, item := range items {
		list, err := specOf(e, fn, param, item, m)
		if err != nil {
			return nil, false, err
		}
		lists = append(lists, list)
	}
	return lists, false, nil
}

// told returns err, in JAX's words if it is an error about results.
func told(err error) error {
	var bad *op.ArgError
	if !errors.As(err, &bad) {
		return err
	}
	bad.Got = strings.Replace(bad.Got, "of out_placements", "of out_specs", 1)
	switch {
	case bad.Rule == dtensor.MapResults:
		bad.Rule = "shard_map has that many out_specs"
	case bad.Want == "R":
		bad.Rule = "out_specs say that all ranks have it alike: lax.psum, pmean or all_gather make that of what varies, P(...) with the axis joins it, and check_vma=False has it taken on trust"
	}
	return err
}
