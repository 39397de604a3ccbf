package jax

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/dtensor"
	"tpsh/builtins/spmd"
	"tpsh/internal/units"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A sharded is a function that shard_map made.
type sharded struct {
	e       *builtins.Env
	fn      starlark.Callable
	in, out starlark.Value // trees of specs
	mesh    *mesh.Mesh
}

// shardMap carries out shard_map.
func shardMap(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		fn    arg.Callable
		m     arg.Opt[dtensor.MeshArg, *dtensor.MeshArg]
		s     = &sharded{e: e}
		check = arg.Bool(true)
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "f", &fn, "mesh?", &m, "in_specs", &s.in, "out_specs", &s.out, "check_vma?", &check); err != nil {
		return nil, err
	}
	d := m.V.DeviceMesh
	if !m.Set {
		if d = dtensor.CurrentMesh(e); d == nil {
			return nil, arg.Missing(b.Name(), "mesh")
		}
	}
	s.fn, s.mesh = fn.Fn, d.M
	if _, ok := s.in.(*starlark.Dict); ok {
		return nil, &op.ArgError{Func: b.Name(), Param: "in_specs", Got: arg.Show(s.in), Want: "P(...), or a tuple with an entry for each argument"}
	}
	if err := s.checkSpecs(b.Name(), "in_specs", s.in); err != nil {
		return nil, err
	}
	if err := s.checkSpecs(b.Name(), "out_specs", s.out); err != nil {
		return nil, err
	}
	return starlark.NewBuiltin(fn.Fn.Name(), func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return spmd.Within(e, d, bool(check), func() (starlark.Value, error) { return s.call(b.Name(), args, kwargs) })
	}), nil
}

// checkSpecs returns an error unless v, the argument called param of fn, is a tree of specs on the mesh.
func (s *sharded) checkSpecs(fn, param string, v starlark.Value) error {
	_, err := each(fn, anySpec, v, param, func(_, leaf starlark.Value, _ string) (starlark.Value, error) {
		_, err := specOf(fn, param, leaf, s.mesh, dtensor.AnyDims)
		return starlark.None, err
	})
	return err
}

// call calls the function with the blocks of args, and joins its results.
func (s *sharded) call(name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	trees, mapping, err := s.blocks(name, args)
	if err != nil {
		return nil, err
	}
	v, err := starlark.Call(s.e.Thread, s.fn, trees, kwargs)
	if err != nil {
		return nil, err
	}
	return s.join(name, mapping, v)
}

// blocks returns args with this rank's blocks for the tensors in them.
func (s *sharded) blocks(name string, args starlark.Tuple) (trees starlark.Tuple, _ *dtensor.Mapping, err error) {
	if list, ok := s.in.(starlark.Indexable); ok && list.Len() != len(args) {
		return nil, nil, &op.ArgError{Func: name, Got: units.Count(len(args), "argument"), Want: units.Count(list.Len(), "argument"), Rule: "shard_map has that many in_specs"}
	}
	specs, err := entries(name, s.in, args, "arguments", len(args))
	if err != nil {
		return nil, nil, err
	}
	var (
		leaves starlark.Tuple
		in     [][]mesh.Placement
	)
	trees = make(starlark.Tuple, len(args)) // whose leaves are places in leaves
	for i, v := range args {
		trees[i], err = each(name, specs(i), v, fmt.Sprintf("argument %d", i), func(spec, leaf starlark.Value, at string) (starlark.Value, error) {
			list, err := s.leaf(name, spec, leaf, at)
			leaves, in = append(leaves, leaf), append(in, list)
			return starlark.MakeInt(len(leaves) - 1), err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	blocks, mapping, err := dtensor.Blocks(s.e, name, s.mesh, leaves, in)
	if err != nil {
		return nil, nil, err
	}
	for i := range trees {
		if trees[i], err = placed(name, trees[i], blocks); err != nil {
			return nil, nil, err
		}
	}
	return trees, mapping, nil
}

// join returns v, which the function has returned, with distributed tensors for the blocks in it.
func (s *sharded) join(name string, mapping *dtensor.Mapping, v starlark.Value) (starlark.Value, error) {
	v, err := s.asMany(name, v)
	if err != nil {
		return nil, err
	}
	var (
		list   []*tensor.Tensor
		out    [][]mesh.Placement
		places []string // "the result[0]"
	)
	tree, err := each(name, s.out, v, "the result", func(spec, leaf starlark.Value, at string) (starlark.Value, error) {
		var x builtins.OneTensor
		if leaf == starlark.None && (spec == starlark.None || v != starlark.None) { // a function that returns nothing has forgotten to
			return leaf, nil
		}
		if x.Unpack(leaf) != nil || spec == starlark.None {
			return nil, &op.ArgError{Func: name, Got: fmt.Sprintf("%s as %s, for which out_specs have %s", arg.Show(leaf), at, arg.Show(spec)), Want: "a tensor and P(...)"}
		}
		place, err := specOf(name, "out_specs", spec, s.mesh, x.T.Ndim())
		list, out, places = append(list, x.T), append(out, place), append(places, at)
		return starlark.MakeInt(len(list) - 1), err
	})
	if err != nil {
		return nil, err
	}
	joined, err := mapping.Join(list, out)
	if err != nil {
		return nil, told(err, places)
	}
	return placed(name, tree, joined)
}

// placed returns tree, whose leaves are places in list, with what is there.
func placed(name string, tree starlark.Value, list starlark.Tuple) (starlark.Value, error) {
	return each(name, anySpec, tree, "", func(_, leaf starlark.Value, _ string) (starlark.Value, error) { return at(list, leaf), nil })
}

// at returns the value of list at a place, and None for None.
func at(list starlark.Tuple, place starlark.Value) starlark.Value {
	i, err := starlark.AsInt32(place)
	if err != nil {
		return place
	}
	return list[i]
}

// leaf returns the placements of a leaf of the arguments, nil for what is no tensor.
func (s *sharded) leaf(name string, spec, leaf starlark.Value, at string) ([]mesh.Placement, error) {
	ndim := dtensor.AnyDims
	if x, ok := leaf.(*builtins.Tensor); ok {
		t, err := x.Tensor()
		if err != nil {
			return nil, err
		}
		ndim = t.Ndim()
	}
	list, err := specOf(name, "in_specs", spec, s.mesh, ndim)
	if err != nil || list == nil {
		return nil, err
	}
	switch leaf.(type) {
	case *builtins.Tensor:
		return list, nil
	case starlark.NoneType:
		return nil, nil
	case starlark.Int, starlark.Float, starlark.Bool:
		for _, p := range list {
			if !p.IsReplicate() {
				return nil, &op.ArgError{Func: name, Got: fmt.Sprintf("%s as %s", arg.Show(leaf), at), Want: "a tensor", Rule: fmt.Sprintf("%s cuts it; P() leaves a number as it is", arg.Show(spec))}
			}
		}
		return nil, nil
	}
	return nil, &op.ArgError{Func: name, Got: fmt.Sprintf("%s as %s", arg.Show(leaf), at), Want: "a tensor", Rule: "None in in_specs stands for what is no tensor"}
}

// asMany returns what the function has returned if it is as many as out_specs say.
func (s *sharded) asMany(name string, v starlark.Value) (starlark.Value, error) {
	if !builtins.IsList(s.out) {
		return v, nil
	}
	want, got := s.out.(starlark.Indexable).Len(), 1
	if builtins.IsList(v) {
		got = v.(starlark.Indexable).Len()
	} else if want == 1 {
		return starlark.Tuple{v}, nil
	}
	if got != want {
		return nil, &op.ArgError{Func: name, Got: units.Count(got, "result"), Want: units.Count(want, "result"), Rule: "shard_map has that many out_specs"}
	}
	return v, nil
}

// told returns err, in JAX's words if it is an error about results, which are at places.
func told(err error, places []string) error {
	var bad *op.ArgError
	if !errors.As(err, &bad) {
		return err
	}
	bad.Got = strings.Replace(bad.Got, "of out_placements", "of out_specs", 1)
	for i, place := range places {
		bad.Got = strings.Replace(bad.Got, fmt.Sprintf("result %d,", i), place+",", 1)
	}
	if bad.Want == "R" {
		bad.Rule = "out_specs say that all ranks have it alike: lax.psum, pmean or all_gather make that of what varies, P(...) with the axis joins it, and check_vma=False has it taken on trust"
	}
	return err
}
