package jax

import (
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/dtensor"
)

const (
	exampleMesh = ">>> mesh = init_device_mesh(\"cpu\", (1, 1), mesh_dim_names=(\"dp\", \"tp\"))\n"
	exampleMap  = exampleMesh + ">>> f = shard_map(lambda x: %s, mesh=mesh, in_specs=P(\"tp\"), out_specs=P(%s))\n>>> f(ones(2)).full_tensor().tolist()\n[1.0, 1.0]"
)

// mapExample returns the example of a function of lax.
func mapExample(call, out string) string {
	return strings.Replace(strings.Replace(exampleMap, "%s", call, 1), "%s", out, 1)
}

func init() {
	namedOnUse := func(names []string, makeDoc func() string, fn builtins.Function, communicates bool) {
		for i, name := range names {
			builtins.Register(&builtins.Row{Name: name, Fn: fn, Communicates: communicates, MakeDoc: func() string {
				doc := makeDoc()
				if i == 0 {
					return doc
				}
				head, example, _ := strings.Cut(doc, "\n>>>")
				first, _, _ := strings.Cut(head, " returns ")
				short := name[strings.LastIndexByte(name, '.')+1:]
				_, params, _ := strings.Cut(first, "(")
				return short + "(" + params + " returns " + names[0] + "(" + params + ".\n>>>" + example
			}})
		}
	}
	named := func(names []string, doc string, fn builtins.Function, communicates bool) {
		namedOnUse(names, func() string { return doc }, fn, communicates)
	}
	builtins.Register(&builtins.Row{Name: "jax", Namespace: true, Doc: "jax holds JAX's words for distributed tensors: jax.make_mesh, jax.typeof, jax.P, jax.NamedSharding, jax.reshard, jax.shard_map, jax.lax.\n>>> str(jax.typeof(ones(2)))\n\"float32[2]\""},
		&builtins.Row{Name: "lax", Namespace: true, Doc: "lax holds JAX's collectives by the names of axes, for functions that shard_map calls: lax.psum(x, \"tp\").\n" + mapExample("lax.psum(x, \"dp\")", "\"tp\"")})
	named([]string{"P", "PartitionSpec", "jax.P", "jax.sharding.PartitionSpec"},
		"P(*partitions) returns which axes of a mesh cut which dims of a tensor: for each dim a name, a tuple of names, or None; dims behind are not cut, and no tensor of fewer dims is taken.\n"+
			"It is accepted wherever placements are, on the mesh of the call; where a call names none, on that of the innermost typed function, shard_map or local_map, else the last that was made.\nThe names of a tuple are in the order in which they cut: against that of the mesh, it is _StridedShard.\n"+
			exampleMesh+">>> distribute_tensor(ones(2, 2), mesh, P(None, \"tp\")).placements\n(Replicate(), Shard(1))", newSpec, false)
	named([]string{"NamedSharding", "jax.NamedSharding", "jax.sharding.NamedSharding"},
		"NamedSharding(mesh, spec) returns P(...) on a mesh. It is accepted wherever placements are.\n"+
			exampleMesh+">>> NamedSharding(mesh, P(\"dp\")).spec\nP(\"dp\")",
		func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			var (
				m    dtensor.MeshArg
				spec starlark.Value
			)
			if err := arg.Unpack(b.Name(), args, kwargs, "mesh", &m, "spec", &spec); err != nil {
				return nil, err
			}
			s, ok := spec.(*Spec)
			if !ok {
				return nil, arg.In(b.Name(), "spec", arg.Bad(spec, "P(...)", ""))
			}
			if _, err := s.On(m.M, dtensor.AnyDims); err != nil {
				return nil, arg.In(b.Name(), "spec", err)
			}
			return &Sharding{e, m.DeviceMesh, s}, nil
		}, false)
	builtins.Register(
		&builtins.Row{Name: "NamedSharding.mesh", Doc: "mesh is the mesh on which axes cut.\n" + exampleMesh + ">>> NamedSharding(mesh, P(\"dp\")).mesh == mesh\nTrue",
			Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) { return x.(*Sharding).mesh, nil }},
		&builtins.Row{Name: "NamedSharding.spec", Doc: "spec is which axes cut which dims.\n" + exampleMesh + ">>> NamedSharding(mesh, P(\"dp\")).spec\nP(\"dp\")",
			Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) { return x.(*Sharding).spec, nil }})
	named([]string{"reshard", "jax.reshard", "jax.device_put"},
		"reshard(x, sharding) returns x as sharding, a NamedSharding or P(...), places it. A plain tensor counts as the same on all ranks. x may be\na list, tuple or dict of tensors, with one sharding for all in it or a list or dict of such.\n"+
			exampleMesh+">>> str(jax.typeof(reshard(ones(2, 2), P(\"dp\", \"tp\"))))\n\"float32[2@dp, 2@tp]\"", reshard, true)
	named([]string{"shard_map", "jax.shard_map"},
		"shard_map(f, mesh=None, in_specs, out_specs, check_vma=True) returns a function of distributed tensors that calls f with their blocks: local_map in JAX's words.\n"+
			"in_specs is P(...) for all arguments or a tuple of such, None for one that is no tensor; out_specs likewise for results. Arguments and results may be\n"+
			"lists, tuples and dicts of tensors, with one spec for all in them or a list or dict of specs. Inside, lax.psum and its like talk along axes, of tensors and such trees. With check_vma it is known what varies over which axes, as with spmd.typed, and a result of which out_specs say that ranks have it alike must be so.\n"+
			mapExample("lax.psum(x, \"dp\")", "\"tp\""), shardMap, true)
	named([]string{"jax.typeof"},
		"typeof(x) returns the type of x as JAX shows it: dtype, sizes with the axes that cut them, and of local tensors {V:axis} over which it varies, {U:axis} over which it is not yet reduced.\n"+
			exampleMesh+">>> str(jax.typeof(distribute_tensor(ones(8, 4), mesh, P(\"dp\", \"tp\"))))\n\"float32[8@dp, 4@tp]\"", typeofTensor, false)
	named([]string{"jax.make_mesh"},
		"make_mesh(axis_shapes, axis_names, axis_types=None) returns the DeviceMesh of the ranks from 0 on in a shape, the last axis fastest, as init_device_mesh does. All axes are of one type.\n"+
			">>> jax.make_mesh((1, 1), (\"x\", \"y\"))\nDeviceMesh(\"cpu\", [[0]], mesh_dim_names=(\"x\", \"y\"))", makeMesh, false)
	named([]string{"jax.sharding.Mesh"},
		"Mesh(devices, axis_names, axis_types=None) returns the DeviceMesh of ranks in nested lists or a tensor, as DeviceMesh does. All axes are of one type.\n"+
			">>> jax.sharding.Mesh([[0]], (\"x\", \"y\"))\nDeviceMesh(\"cpu\", [[0]], mesh_dim_names=(\"x\", \"y\"))", meshOf, false)
	named([]string{"jax.debug.visualize_array_sharding"},
		"visualize_array_sharding(x, header=\"\", use_rich=False) draws which rank holds which block of the distributed tensor x, as visualize_sharding(x) does.\n"+
			exampleMesh+">>> jax.debug.visualize_array_sharding\n<built-in function jax.debug.visualize_array_sharding>",
		func(_ *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			v, err := starlark.Call(thread, builtins.Lookup("visualize_sharding"), args, kwargs)
			return v, arg.Rename(b.Name(), err)
		}, true)
	for _, f := range []struct {
		name, doc, call, out string
		fn                   builtins.Function
	}{
		{"psum", "psum(x, axis_name) returns the sum of x over an axis, or a tuple of axes; what all ranks have alike is counted as often as there are.", "lax.psum(x, \"dp\")", "\"tp\"", psum},
		{"pmean", "pmean(x, axis_name) returns the mean of x over an axis, or a tuple of axes.", "lax.pmean(x, \"dp\")", "\"tp\"", pmean},
		{"pmax", "pmax(x, axis_name) returns the greatest elements of x over an axis, or a tuple of axes.", "lax.pmax(x, \"dp\")", "\"tp\"", extreme("max")},
		{"pmin", "pmin(x, axis_name) returns the least elements of x over an axis, or a tuple of axes.", "lax.pmin(x, \"dp\")", "\"tp\"", extreme("min")},
		{"all_gather", "all_gather(x, axis_name, axis=0, tiled=False) returns what the ranks of an axis have, along a new dim axis, or with tiled joined along it.", "lax.all_gather(x, \"tp\", tiled=True)", "", allGather},
		{"psum_scatter", "psum_scatter(x, axis_name, scatter_dimension=0, tiled=False) returns this rank's entry of a dim of the sum over an axis, or with tiled its block.", "lax.psum_scatter(x, \"dp\", tiled=True)", "(\"dp\", \"tp\")", psumScatter},
		{"ppermute", "ppermute(x, axis_name, perm) returns the x of the place a of an axis where perm has (a, this place), and zeros where it has none.", "lax.ppermute(x, \"tp\", [(0, 0)])", "\"tp\"", ppermute},
		{"all_to_all", "all_to_all(x, axis_name, split_axis, concat_axis, tiled=False) returns the entries of dim split_axis that the ranks of an axis have for this one, along a new dim concat_axis; with tiled blocks of a dim, joined along the other.", "lax.all_to_all(x, \"tp\", 0, 0, tiled=True)", "\"tp\"", allToAll},
		{"axis_index", "axis_index(axis_name) returns the place of this rank along an axis, an int32 tensor; of a tuple of axes, the last fastest.", "x + lax.axis_index(\"tp\")", "\"tp\"", axisIndex},
		{"axis_size", "axis_size(axis_name) returns how many ranks an axis has, an int; of a tuple of axes, the product.", "x * lax.axis_size(\"tp\")", "\"tp\"", axisSize},
		{"pcast", "pcast(x, axis_name, to) returns x as \"varying\", \"unreduced\" or \"reduced\" over an axis: the same elements, with another gradient.", "lax.pcast(x, \"dp\", to=\"reduced\")", "\"tp\"", pcast},
		{"pvary", "pvary(x, axis_name) returns x as what varies over an axis.", "lax.pvary(x, \"tp\")", "\"tp\"", pcast},
	} {
		ofAxis := f.name == "axis_index" || f.name == "axis_size"
		if !ofAxis {
			f.fn = leafwise(f.fn)
		}
		namedOnUse([]string{"lax." + f.name, "jax.lax." + f.name}, func() string { return f.doc + "\n" + mapExample(f.call, f.out) }, f.fn, !ofAxis)
	}
}
