package dtensor

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/collective"
	"tpsh/internal/units"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shard"
)

// What PyTorch writes with "with", which scripts have not, is a function of a function.
func init() {
	builtins.Register(&builtins.Row{Name: "with_mesh", Fn: withMesh,
		Doc: "with_mesh(mesh, fn) returns fn(), in which mesh is the mesh wherever none is given: distribute_tensor, DTensor.zeros, parallelize_module.\n" +
			"PyTorch writes \"with mesh:\".\n" +
			">>> m = init_device_mesh(\"cpu\", [1], mesh_dim_names=[\"tp\"])\n" +
			">>> with_mesh(m, lambda: distribute_tensor(ones(2), placements=[Shard(0)])).device_mesh\n" +
			"DeviceMesh(\"cpu\", [0], mesh_dim_names=(\"tp\",))"},
		&builtins.Row{Name: "loss_parallel", Fn: lossParallel,
			Doc: "loss_parallel(fn) returns fn(). The loss of logits that are cut along the classes is computed on the blocks everywhere, as PyTorch does inside loss_parallel.\n" +
				"The name is for programs that have it.\n" +
				">>> m = init_device_mesh(\"cpu\", [1])\n>>> logits = distribute_tensor(zeros(2, 4), m, [Shard(1)])\n" +
				">>> loss_parallel(lambda: F.cross_entropy(logits, tensor([0, 3]))).item()\n1.3862943649291992"},
		&builtins.Row{Name: "context_parallel", Fn: contextParallel,
			Doc: "context_parallel(mesh, fn, buffers=[], buffer_seq_dims=[]) returns fn(*buffers), each buffer cut along its dim of the sequence for the ranks of mesh.\n" +
				"buffers are plain tensors, alike on all ranks, and reach fn as distributed ones: what works along the sequence,\n" +
				"F.scaled_dot_product_attention among it, works on the whole, and the rest on the blocks. Gradients reach the\n" +
				"buffers. The tensors themselves stay what they are; mesh has one dim.\n" +
				">>> m = init_device_mesh(\"cpu\", [1])\n>>> q = ones(1, 2, 4, 8)\n" +
				">>> y = context_parallel(m, lambda q: F.scaled_dot_product_attention(q, q, q), buffers=[q], buffer_seq_dims=[2])\n" +
				">>> y.shape\n(1, 2, 4, 8)"},
		&builtins.Row{Name: "DeviceMesh.from_group", Static: true, Fn: meshFromGroup,
			Doc: "DeviceMesh.from_group(group, device_type=\"cpu\", mesh=None, mesh_dim_names=None) returns the mesh whose dims are groups that are there.\n" +
				"One group gives a mesh of one dim with its ranks. A list of groups, one for each dim, needs mesh, the ranks in\n" +
				"nested lists or in a tensor: along each dim the caller's ranks must be those of the group.\n" +
				">>> DeviceMesh.from_group(new_group([0]), mesh_dim_names=[\"tp\"])\nDeviceMesh(\"cpu\", [0], mesh_dim_names=(\"tp\",))"},
	)
}

// A currentMesh is what with_mesh has set for a rank: nil outside of it.
type currentMesh struct{ m *mesh.Mesh }

func withMesh(e *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		m  MeshArg
		fn arg.Callable
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "mesh|device_mesh", &m, "fn", &fn); err != nil {
		return nil, err
	}
	current := builtins.StateOf[currentMesh](e)
	was := *current
	defer func() { *current = was }()
	current.m = m.Mesh()
	return starlark.Call(thread, fn.Fn, nil, nil)
}

func lossParallel(_ *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var fn arg.Callable
	if err := arg.Unpack(b.Name(), args, kwargs, "fn", &fn); err != nil {
		return nil, err
	}
	return starlark.Call(thread, fn.Fn, nil, nil)
}

func contextParallel(e *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		m       MeshArg
		fn      arg.Callable
		buffers arg.List
		dims    arg.List
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "mesh|device_mesh", &m, "fn", &fn, "buffers?", &buffers, "buffer_seq_dims?", &dims); err != nil {
		return nil, err
	}
	if n := m.M.NDim(); n != 1 {
		return nil, &op.ArgError{Func: b.Name(), Param: "mesh", Got: m.Describe(), Want: "a mesh of one dim", Rule: `mesh["cp"] is the part along a dim`}
	}
	if len(dims) != len(buffers) {
		return nil, &op.ArgError{Func: b.Name(), Param: "buffer_seq_dims", Got: units.Count(len(dims), "dim"), Want: units.Count(len(buffers), "dim"), Rule: "one for each of buffers"}
	}
	parts := make(starlark.Tuple, len(buffers))
	for i, v := range buffers {
		t, err := e.TensorArg(b.Name(), "buffers", v)
		if err != nil {
			return nil, err
		}
		d, err := arg.ToInt(dims[i])
		if err != nil {
			return nil, arg.In(b.Name(), "buffer_seq_dims", arg.BadItem(dims[i], i, "an int"))
		}
		if d, err = arg.Dim(b.Name(), "buffer_seq_dims", d, t.Shape()); err != nil {
			return nil, err
		}
		t, y, err := laid(e, b.Name(), v, m.M, optPlacements{V: only(mesh.Shard(d)), Set: true}, arg.OptInt{})
		if err != nil {
			return nil, err
		}
		if parts[i] = v; y != t {
			if t.RequiresGrad() {
				e.Runtime.Shard.RecordDistribution(t, y)
			}
			parts[i] = e.Wrap(y)
		}
	}
	return starlark.Call(thread, fn.Fn, parts, nil)
}

func meshFromGroup(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		v      starlark.Value
		device deviceArg
		ranks  arg.Opt[rankArray, *rankArray]
		names  arg.Strings
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "group", &v, "device_type?", &device, "mesh?", &ranks, "mesh_dim_names??", &names); err != nil {
		return nil, err
	}
	groups := arg.List{v}
	if _, one := v.(collective.Grouped); !one {
		groups = nil
		if groups.Unpack(v) != nil || len(groups) == 0 {
			return nil, arg.In(b.Name(), "group", arg.Bad(v, "a group or a list of groups", ""))
		}
		if !ranks.Set && len(groups) > 1 {
			return nil, &op.ArgError{Func: b.Name(), Param: "mesh", Got: "None", Want: "the ranks", Rule: "several groups do not say how their ranks lie"}
		}
	}
	first, err := collective.GroupOf(e, b.Name(), groups[0])
	if err != nil {
		return nil, err
	}
	s, list := []int{first.Size()}, first.Ranks()
	if ranks.Set {
		s, list = ranks.V.shape, ranks.V.ranks
	}
	m, err := mesh.New(s, list, names)
	if err != nil {
		return nil, shard.OfMesh(b.Name(), err)
	}
	if err := checkWorld(e, b.Name(), "mesh", m); err != nil {
		return nil, err
	}
	d := DeviceMeshOf(e, m)
	return d, d.checkGroups(b.Name(), groups)
}

// checkGroups checks that along each dim the caller's ranks are those of the group
// that fn was given for it.
func (d *DeviceMesh) checkGroups(fn string, groups arg.List) error {
	if len(groups) != d.M.NDim() {
		return &op.ArgError{Func: fn, Param: "group", Got: units.Count(len(groups), "group"), Want: fmt.Sprint(d.M.NDim()), Rule: "one for each dim of the mesh"}
	}
	for dim, v := range groups {
		given, err := collective.GroupOf(d.env, fn, v)
		if err != nil {
			return err
		}
		line, err := d.env.Runtime.LineGroup(d.M, dim)
		if err != nil {
			return err
		}
		if !slices.Equal(line.Ranks(), given.Ranks()) {
			return &op.ArgError{Func: fn, Param: "group", Got: fmt.Sprintf("%s for dim %d", arg.Show(v), dim), Want: fmt.Sprintf("the ranks %v", line.Ranks()), Rule: "along that dim of the mesh"}
		}
	}
	return nil
}
