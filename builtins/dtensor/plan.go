package dtensor

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/mesh"
	"tpsh/runtime/dtype"
)

// planExample begins the examples of what plan_redistribute gives.
const planExample = ">>> mesh = DeviceMesh(\"cpu\", [0])\n" +
	">>> plan = plan_redistribute(mesh, (4, 4), float32, [Shard(0)], [Replicate()])\n"

func init() {
	builtins.Register(&builtins.Row{
		Name: "plan_redistribute",
		Doc: "plan_redistribute(mesh, shape, dtype, from_, to) returns the cheapest way to take a tensor of a shape from placements to others on a mesh: a struct with steps, bytes and seconds.\n" +
			"from_ and to have one placement for each dim of the mesh. Nothing is moved, and any rank\n" +
			"may ask. Costs are those of a fixed model, 1 µs and 0.1 ns a byte, or of the mesh's\n" +
			"mesh_alpha and mesh_beta; they do not depend on measurements. No plan lets a rank receive\n" +
			"more than it lacks, and for a Partial what a reduction takes, unless a tensor is so small that to gather\n" +
			"all of it takes less time. A target may be Partial only where the source is.\n" +
			planExample + ">>> [(s.op, s.mesh_dim, s.src, s.dst) for s in plan.steps]\n[(\"slice\", 0, (Shard(0),), (Replicate(),))]",
		Fn: planRedistribute,
	}, &builtins.Row{
		Name: "compute_local_shape_and_global_offset",
		Doc: "compute_local_shape_and_global_offset(global_shape, mesh, placements, rank=None) returns the shape of what a rank holds of a tensor, and where in the tensor it begins: two tuples.\n" +
			"rank is the caller, or any other: nothing is sent. Of a rank outside the mesh both are ().\n" +
			"One placement on a mesh of several dims speaks of the mesh flattened. A Shard cuts what the\n" +
			"mesh dims before it have left, into blocks of ceil(n/parts), the last ones shorter or\n" +
			"empty; an empty block begins where its part ends.\n" +
			">>> compute_local_shape_and_global_offset((4, 6), DeviceMesh(\"cpu\", [[0]]), [Shard(0), Shard(1)])\n((4, 6), (0, 0))",
		Fn: computeLocalShape,
	},
		&builtins.Row{Name: "Plan", Doc: "Plan is what plan_redistribute returns: a struct with steps, bytes and seconds."},
		&builtins.Row{Name: "Plan.steps", Doc: "steps is the list of the steps, each a struct with op, mesh_dim, src, dst, bytes and seconds.\n" + planExample + ">>> len(plan.steps)\n1"},
		&builtins.Row{Name: "Plan.bytes", Doc: "bytes is the most that any rank receives in all steps together.\n" + planExample + ">>> plan.bytes\n0"},
		&builtins.Row{Name: "Plan.seconds", Doc: "seconds is how long the steps take in the cost model.\n" + planExample + ">>> plan.seconds\n0.0"},
		&builtins.Row{Name: "Step", Doc: "Step is a step of a plan: a struct with op, mesh_dim, src, dst, bytes and seconds."},
		&builtins.Row{Name: "Step.op", Doc: "op is what the ranks do: \"slice\", \"all_gather\", \"all_to_all\", \"reduce_scatter\", \"all_reduce\", \"exchange\" or \"make_partial\".\n" +
			"An exchange sends each rank what it lacks, whatever the placements; slice and make_partial\nmove nothing.\n" + planExample + ">>> plan.steps[0].op\n\"slice\""},
		&builtins.Row{Name: "Step.mesh_dim", Doc: "mesh_dim is the dim of the mesh along which the ranks communicate, or a tuple if they are several.\n" + planExample + ">>> plan.steps[0].mesh_dim\n0"},
		&builtins.Row{Name: "Step.src", Doc: "src is the tuple of the placements before the step.\n" + planExample + ">>> plan.steps[0].src\n(Shard(0),)"},
		&builtins.Row{Name: "Step.dst", Doc: "dst is the tuple of the placements after the step.\n" + planExample + ">>> plan.steps[0].dst\n(Replicate(),)"},
		&builtins.Row{Name: "Step.bytes", Doc: "bytes is the most that any rank receives in the step.\n" + planExample + ">>> plan.steps[0].bytes\n0"},
		&builtins.Row{Name: "Step.seconds", Doc: "seconds is how long the step takes in the cost model.\n" + planExample + ">>> plan.steps[0].seconds\n0.0"},
	)
}

func planRedistribute(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		m        MeshArg
		shape    arg.Shape
		dt       = arg.DType{D: dtype.Float32}
		from, to placements
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "mesh|device_mesh", &m, "shape", &shape, "dtype", &dt, "from_", &from, "to", &to); err != nil {
		return nil, err
	}
	src, err := placeArg(e, b.Name(), "from_", m.Mesh(), shape, from)
	if err != nil {
		return nil, err
	}
	dst, err := placeArg(e, b.Name(), "to", m.Mesh(), shape, to)
	if err != nil {
		return nil, err
	}
	if err := mesh.CheckTarget(src, dst); err != nil {
		return nil, ofParam(b.Name(), "to", err)
	}
	plan, err := e.Runtime.Layouts().Plan(src, dst, dt.D.Size())
	if err != nil {
		return nil, ofParam(b.Name(), "to", err)
	}
	return planStruct(e, plan), nil
}

// placeArg is Place of placements that are the argument called param.
func placeArg(e *builtins.Env, fn, param string, m *mesh.Mesh, shape []int, p placements) (*mesh.Placed, error) {
	list, err := p.on(m, len(shape))
	if err != nil {
		return nil, arg.In(fn, param, err)
	}
	return Place(e, fn, param, m, shape, list)
}

// Place returns the layout of a tensor with placements, the argument called
// param of fn.
func Place(e *builtins.Env, fn, param string, m *mesh.Mesh, shape []int, placements []mesh.Placement) (*mesh.Placed, error) {
	l, err := e.Runtime.Layouts().Place(m, shape, placements)
	if err != nil {
		return nil, ofParam(fn, param, err)
	}
	return l, nil
}

// planStruct returns plan as scripts have it.
func planStruct(e *builtins.Env, plan *mesh.Plan) *starlarkstruct.Struct {
	steps := make([]starlark.Value, len(plan.Steps))
	for i := range steps {
		s := &plan.Steps[i]
		steps[i] = builtins.NewStruct(starlark.StringDict{
			"op":       starlark.String(s.Op.String()),
			"mesh_dim": oneOrTuple(s.Dims),
			"src":      placementTuple(e, s.Src.Placements()),
			"dst":      placementTuple(e, s.Dst.Placements()),
			"bytes":    starlark.MakeInt(s.Bytes),
			"seconds":  starlark.Float(s.Seconds),
		})
	}
	return builtins.NewStruct(starlark.StringDict{
		"steps":   starlark.NewList(steps),
		"bytes":   starlark.MakeInt(plan.Bytes),
		"seconds": starlark.Float(plan.Seconds),
	})
}

// oneOrTuple returns the one int of a list, or a tuple of several.
func oneOrTuple(xs []int) starlark.Value {
	if len(xs) == 1 {
		return starlark.MakeInt(xs[0])
	}
	return builtins.ShapeTuple(xs)
}

func computeLocalShape(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		shape arg.Shape
		m     MeshArg
		list  placements
		rank  arg.OptInt
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "global_shape|shape", &shape, "mesh|device_mesh", &m, "placements", &list, "rank??", &rank); err != nil {
		return nil, err
	}
	placed, err := list.on(m.Mesh(), len(shape))
	if err != nil {
		return nil, arg.In(b.Name(), "placements", err)
	}
	return localShapeAndOffset(e, b.Name(), m.Mesh(), shape, placed, rank)
}

// localShapeAndOffset returns the shape and the offset of what rank holds of a
// tensor, the caller if it is not given, for the function fn: a pair of tuples. One
// placement on a mesh of several dims speaks of the mesh flattened. Callers in a plan
// are told apart by the shape, and where theirs begins varies.
func localShapeAndOffset(e *builtins.Env, fn string, m *mesh.Mesh, shape []int, list []mesh.Placement, rank arg.OptInt) (starlark.Value, error) {
	in := m
	if len(list) == 1 && m.NDim() > 1 {
		m = e.Runtime.Layouts().Mesh(m.Flatten())
	}
	l, err := Place(e, fn, "placements", m, shape, list)
	if err != nil {
		return nil, err
	}
	if rank.Set {
		return starlark.Tuple{builtins.ShapeTuple(l.LocalShape(int(rank.V))), builtins.ShapeTuple(l.Offset(int(rank.V)))}, nil
	}
	e.Runtime.Part(in, func(rank int) string { return fmt.Sprint(l.LocalShape(rank)) })
	offset := make(starlark.Tuple, len(l.Offset(e.Runtime.Self())))
	for dim := range offset {
		offset[dim] = builtins.Along(e, in, func(rank int) int { return l.Offset(rank)[dim] })
	}
	return starlark.Tuple{builtins.ShapeTuple(l.LocalShape(e.Runtime.Self())), offset}, nil
}
