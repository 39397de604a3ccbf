package dtensor

import (
	"math"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/collective"
	"tpsh/runtime/op"
)

// meshExample begins the examples of what a mesh has.
const meshExample = ">>> mesh = DeviceMesh(\"cpu\", [[0]], mesh_dim_names=(\"dp\", \"tp\"))\n"

// meshRow returns the row of an attribute of meshes.
func meshRow(name, doc string, get func(d *DeviceMesh) starlark.Value) *builtins.Row {
	return &builtins.Row{Name: "DeviceMesh." + name, Doc: doc, Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
		return get(x.(*DeviceMesh)), nil
	}}
}

// meshMethod returns the row of a method of meshes that takes no arguments.
func meshMethod(name, doc string, do func(d *DeviceMesh) (starlark.Value, error)) *builtins.Row {
	return &builtins.Row{Name: "DeviceMesh." + name, Doc: doc, Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
			return nil, err
		}
		return do(b.Receiver().(*DeviceMesh))
	}}
}

// meshDimMethod returns the row of a method of meshes whose argument mesh_dim
// is a dim; without it, v is nil.
func meshDimMethod(name, doc string, do func(d *DeviceMesh, fn string, v starlark.Value) (starlark.Value, error)) *builtins.Row {
	return &builtins.Row{Name: "DeviceMesh." + name, Doc: doc, Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var dim starlark.Value
		if err := arg.Unpack(b.Name(), args, kwargs, "mesh_dim|dim??", &dim); err != nil {
			return nil, err
		}
		d := b.Receiver().(*DeviceMesh)
		if _, named := dim.(starlark.String); named {
			dims, name, err := d.along(b.Name(), "mesh_dim", dim)
			if err != nil {
				return nil, err
			}
			if len(dims) > 1 {
				d, dim = d.sub([][]int{dims}, []string{name}), starlark.MakeInt(0)
			}
		}
		return do(d, b.Name(), dim)
	}}
}

// onlyDim returns the dim that v says, or if v is nil, the one dim that a mesh
// of one dim has.
func (d *DeviceMesh) onlyDim(fn string, v starlark.Value) (int, error) {
	if v != nil {
		return d.Dim(fn, "mesh_dim", v)
	}
	if d.M.NDim() != 1 {
		return 0, &op.ArgError{Func: fn, Param: "mesh_dim", Got: "None", Want: "a dim", Rule: "the mesh is " + d.M.Short()}
	}
	return 0, nil
}

func init() {
	builtins.Register(
		meshRow("shape", "shape is the tuple of the sizes of the dims.\n"+meshExample+">>> mesh.shape\n(1, 1)",
			func(d *DeviceMesh) starlark.Value { return builtins.ShapeTuple(d.M.Shape()) }),
		meshRow("ndim", "ndim is the number of dims.\n"+meshExample+">>> mesh.ndim\n2",
			func(d *DeviceMesh) starlark.Value { return starlark.MakeInt(d.M.NDim()) }),
		meshRow("mesh_dim_names", "mesh_dim_names is the tuple of the names of the dims, or None if they have none.\n"+meshExample+">>> mesh.mesh_dim_names\n(\"dp\", \"tp\")",
			meshNames),
		meshRow("device_type", "device_type is \"cpu\".\n"+meshExample+">>> mesh.device_type\n\"cpu\"",
			func(*DeviceMesh) starlark.Value { return starlark.String("cpu") }),
		meshRow("mesh", "mesh is the ranks in nested lists.\n"+meshExample+">>> mesh.mesh\n[[0]]",
			func(d *DeviceMesh) starlark.Value { return nestedRanks(d.M.Shape(), d.env.Runtime.RanksOfMesh(d.M)) }),
		meshDimMethod("size", "size(mesh_dim=None) returns the number of ranks, or the size of a dim.\n"+meshExample+">>> mesh.size(), mesh.size(\"tp\")\n(1, 1)",
			meshSize),
		meshMethod("get_rank", "get_rank() returns the caller's rank among all ranks.\n"+meshExample+">>> mesh.get_rank()\n0",
			func(d *DeviceMesh) (starlark.Value, error) { return builtins.OwnRank(d.env), nil }),
		meshMethod("get_coordinate", "get_coordinate() returns the list of the caller's indices along the dims, or None outside the mesh.\n"+meshExample+">>> mesh.get_coordinate()\n[0, 0]",
			func(d *DeviceMesh) (starlark.Value, error) {
				if !d.env.Runtime.Member(d.M) {
					return starlark.None, nil
				}
				list := make([]starlark.Value, d.M.NDim())
				for i := range list {
					list[i] = builtins.Coordinate(d.env, d.M, i)
				}
				return starlark.NewList(list), nil
			}),
		meshDimMethod("get_local_rank", "get_local_rank(mesh_dim=None) returns the caller's index along a dim, or None outside the mesh.\n"+
			"A mesh of one dim needs no mesh_dim.\n"+meshExample+">>> mesh.get_local_rank(\"tp\")\n0",
			meshLocalRank),
		meshDimMethod("get_group", "get_group(mesh_dim=None) returns the Group of the ranks along a dim that holds the caller.\n"+
			"A mesh of one dim needs no mesh_dim. Meshes, ProcessGroups and modes with the same ranks in\n"+
			"the same order share one group. Outside the mesh it is the group of the mesh's first rank.\n"+
			meshExample+">>> mesh.get_group(1)\nGroup([0])",
			func(d *DeviceMesh, fn string, v starlark.Value) (starlark.Value, error) {
				dim, err := d.onlyDim(fn, v)
				if err != nil {
					return nil, err
				}
				return d.lineGroup(dim)
			}),
		meshMethod("get_dim_groups", "get_dim_groups() returns the list of what get_group gives for each dim.\n"+meshExample+">>> mesh.get_dim_groups()\n[Group([0]), Group([0])]",
			meshDimGroups),
		&builtins.Row{Name: "DeviceMesh._flatten", Fn: flattenNamed,
			Doc: "_flatten(mesh_dim_name=None) is flatten() with a name of its own, as PyTorch has it.\n" +
				"The mesh, or the one that it was cut out of, is indexed by that name from then on: mesh[\"dp\", \"cp\"]._flatten(\"dp_cp\")\n" +
				"has mesh[\"dp_cp\"] and mesh[\"dp_cp\", \"tp\"].\n" + meshExample + ">>> mesh._flatten(\"all\").mesh_dim_names, mesh[\"all\"].shape\n((\"all\",), (1,))"},
		&builtins.Row{Name: "DeviceMesh._unflatten", Fn: unflatten,
			Doc: "_unflatten(dim, mesh_sizes, mesh_dim_names) returns the mesh in which several dims stand for one, as PyTorch has it.\n" +
				"mesh_sizes are their sizes, whose product is that of dim, the last fastest, and mesh_dim_names their names.\n" +
				meshExample + ">>> mesh._unflatten(\"dp\", (1, 1), (\"replicate\", \"shard\")).mesh_dim_names\n(\"replicate\", \"shard\", \"tp\")"},
		meshMethod("get_all_groups", "get_all_groups() is get_dim_groups(), as PyTorch calls it.\n"+meshExample+">>> mesh.get_all_groups()\n[Group([0]), Group([0])]",
			meshDimGroups),
		meshMethod("flatten", "flatten() returns the mesh of one dim that holds the same ranks in row-major order.\n"+
			"Its name is the names joined by \"_\", its alpha and beta are the greatest of the dims.\n"+meshExample+">>> mesh.flatten().mesh_dim_names\n(\"dp_tp\",)",
			func(d *DeviceMesh) (starlark.Value, error) {
				return &DeviceMesh{d.env, d.env.Runtime.SameRanks(d.M, d.M.Flatten())}, nil
			}),
	)
	registerMeshCosts()
}

// registerMeshCosts adds the cost methods of meshes.
func registerMeshCosts() {
	for _, c := range []struct {
		name, formula, example string
		cost                   func(d *DeviceMesh, size float64, dim int) float64
	}{
		{"all_gather_cost", "a + b*(n-1)/n*num_bytes + 0.1", "1.1", func(d *DeviceMesh, size float64, dim int) float64 { return d.M.AllGatherCost(size, dim) }},
		{"all_reduce_cost", "a + b*2*(n-1)/n*num_bytes + 0.01", "1.01", func(d *DeviceMesh, size float64, dim int) float64 { return d.M.AllReduceCost(size, dim) }},
		{"reduce_scatter_cost", "a + b*(n-1)/n*num_bytes + 0.001", "1.001", func(d *DeviceMesh, size float64, dim int) float64 { return d.M.ReduceScatterCost(size, dim) }},
		{"all_to_all_cost", "a + b*(n-1)/n/n*num_bytes*(n/2) + 0.001", "1.001", func(d *DeviceMesh, size float64, dim int) float64 { return d.M.AllToAllCost(size, dim) }},
	} {
		builtins.Register(&builtins.Row{
			Name: "DeviceMesh." + c.name,
			Doc: c.name + "(num_bytes, mesh_dim) returns " + c.formula + ", ColossalAI's cost along a dim of n ranks.\n" +
				"a and b are the mesh_alpha and mesh_beta of the dim, 1 where the mesh has none.\n" +
				meshExample + ">>> mesh." + c.name + "(16, 0)\n" + c.example,
			Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				var (
					size byteCount
					dim  starlark.Value
				)
				if err := arg.Unpack(b.Name(), args, kwargs, "num_bytes", &size, "mesh_dim", &dim); err != nil {
					return nil, err
				}
				d := b.Receiver().(*DeviceMesh)
				i, err := d.Dim(b.Name(), "mesh_dim", dim)
				if err != nil {
					return nil, err
				}
				return starlark.Float(c.cost(d, float64(size), i)), nil
			},
		})
	}
	builtins.Register(&builtins.Row{
		Name: "DeviceMesh.mix_gather_cost",
		Doc: "mix_gather_cost(num_bytes, mesh_dim=None) returns a + b*(n-1)/n*num_bytes + 0.1, ColossalAI's cost of a gather over all n ranks.\n" +
			"a is the greatest mesh_alpha, b the least mesh_beta, 1 where the mesh has none. mesh_dim is\n" +
			"checked and does not count.\n" + meshExample + ">>> mesh.mix_gather_cost(16)\n1.1",
		Fn: mixGatherCost,
	})
}

// byteCount is an argument that is a size in bytes.
type byteCount float64

// Unpack implements starlark.Unpacker.
func (p *byteCount) Unpack(v starlark.Value) error {
	var size arg.Float
	if err := size.Unpack(v); err != nil {
		return err
	}
	if !(size >= 0) || math.IsInf(float64(size), 1) {
		return arg.Bad(v, "a finite number that is not negative", "")
	}
	*p = byteCount(size)
	return nil
}

func mixGatherCost(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		size byteCount
		dim  starlark.Value
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "num_bytes", &size, "mesh_dim??", &dim); err != nil {
		return nil, err
	}
	d := b.Receiver().(*DeviceMesh)
	if dim != nil {
		if _, err := d.Dim(b.Name(), "mesh_dim", dim); err != nil {
			return nil, err
		}
	}
	return starlark.Float(d.M.MixGatherCost(float64(size))), nil
}

// meshNames returns the names of the dims of d, None if they have none.
func meshNames(d *DeviceMesh) starlark.Value {
	if d.M.Names() == nil {
		return starlark.None
	}
	tuple := make(starlark.Tuple, d.M.NDim())
	for i, name := range d.M.Names() {
		tuple[i] = starlark.String(name)
	}
	return tuple
}

// nestedRanks returns ranks in row-major order as nested lists of a shape of at
// least one dim.
func nestedRanks(shape, ranks []int) starlark.Value {
	if len(shape) == 1 {
		return builtins.IntList(ranks)
	}
	list := make([]starlark.Value, shape[0])
	step := len(ranks) / shape[0]
	for i := range list {
		list[i] = nestedRanks(shape[1:], ranks[i*step:(i+1)*step])
	}
	return starlark.NewList(list)
}

func meshSize(d *DeviceMesh, fn string, v starlark.Value) (starlark.Value, error) {
	if v == nil {
		return starlark.MakeInt(d.M.Size()), nil
	}
	dim, err := d.Dim(fn, "mesh_dim", v)
	if err != nil {
		return nil, err
	}
	return starlark.MakeInt(d.M.Shape()[dim]), nil
}

func meshLocalRank(d *DeviceMesh, fn string, v starlark.Value) (starlark.Value, error) {
	dim, err := d.onlyDim(fn, v)
	if err != nil {
		return nil, err
	}
	if !d.env.Runtime.Member(d.M) {
		return starlark.None, nil
	}
	return builtins.Coordinate(d.env, d.M, dim), nil
}

func meshDimGroups(d *DeviceMesh) (starlark.Value, error) {
	groups := make([]starlark.Value, d.M.NDim())
	for dim := range groups {
		g, err := d.lineGroup(dim)
		if err != nil {
			return nil, err
		}
		groups[dim] = g
	}
	return starlark.NewList(groups), nil
}

// lineGroup returns the group along dim that holds the caller, or outside of the mesh
// its first rank, as scripts have it.
func (d *DeviceMesh) lineGroup(dim int) (starlark.Value, error) {
	g, err := d.env.Runtime.LineGroup(d.M, dim)
	if err != nil {
		return nil, err
	}
	return collective.WrapGroup(d.env, g), nil
}
