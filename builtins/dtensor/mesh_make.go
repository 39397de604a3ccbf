package dtensor

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/shard"
)

func init() {
	builtins.Register(&builtins.Row{
		Name: "DeviceMesh",
		Doc: "DeviceMesh(device_type, mesh, mesh_dim_names=None, mesh_alpha=None, mesh_beta=None) returns an n-dimensional array of ranks.\n" +
			"device_type is \"cpu\". mesh is ranks in nested lists or in a tensor of integers: each at most\n" +
			"once, and not more than there are. mesh_dim_names gives each dim a name. mesh_alpha and\n" +
			"mesh_beta give each dim a latency and a time per byte, for costs and for what is moved how;\n" +
			"without them the costs take 1 for both. Every rank makes the same mesh, those outside it\n" +
			"too; it does not communicate.\n" +
			"mesh[\"tp\"] is the mesh of one dim that holds the caller, mesh[\"dp\", \"tp\"] that of two; a number\n" +
			"stands for a dim, too. A mesh of one dim is a group of ranks for collectives. Meshes are\n" +
			"equal if they hold the same ranks in the same shape.\n" +
			">>> mesh = DeviceMesh(\"cpu\", [[0]], mesh_dim_names=(\"dp\", \"tp\"))\n" +
			">>> mesh[\"tp\"]\nDeviceMesh(\"cpu\", [0], mesh_dim_names=(\"tp\",))\n" +
			">>> all_reduce(tensor([2.0]), group=mesh[\"tp\"]).tolist()\n[2.0]",
		Fn: newDeviceMesh,
	}, &builtins.Row{
		Name: "init_device_mesh",
		Doc: "init_device_mesh(device_type, mesh_shape, mesh_dim_names=None) returns the DeviceMesh of the ranks from 0 on in a shape, the last dim fastest.\n" +
			">>> init_device_mesh(\"cpu\", (1, 1), mesh_dim_names=(\"dp\", \"tp\"))\n" +
			"DeviceMesh(\"cpu\", [[0]], mesh_dim_names=(\"dp\", \"tp\"))",
		Fn: initDeviceMesh,
	})
}

// deviceArg is an argument that is a type of device: "cpu".
type deviceArg struct{}

// Unpack implements starlark.Unpacker.
func (*deviceArg) Unpack(v starlark.Value) error {
	s, ok := starlark.AsString(v)
	switch _, isTensor := v.(*builtins.Tensor); {
	case s == "cpu":
		return nil
	case ok:
		return arg.Bad(v, `"cpu"`, "there is no other device")
	case isTensor || builtins.IsList(v):
		return arg.Bad(v, `"cpu"`, `ColossalAI's DeviceMesh(ids, shape) is DeviceMesh("cpu", ids.reshape(shape)) here`)
	}
	return arg.Bad(v, `"cpu"`, "")
}

// floatList is an argument that is a list or tuple of numbers.
type floatList []float64

// Unpack implements starlark.Unpacker.
func (p *floatList) Unpack(v starlark.Value) error {
	var list arg.List
	if list.Unpack(v) != nil {
		return arg.Bad(v, "a list of numbers", "")
	}
	*p = make(floatList, len(list))
	for i, item := range list {
		var x arg.Float
		if x.Unpack(item) != nil {
			return arg.BadItem(item, i, "a number")
		}
		(*p)[i] = float64(x)
	}
	return nil
}

// rankArray is an argument that is ranks in nested lists or in a tensor of
// integers.
type rankArray struct {
	shape shape.Shape
	ranks []int
}

// Unpack implements starlark.Unpacker.
func (p *rankArray) Unpack(v starlark.Value) error {
	s, elems, err := builtins.NestedElements(v)
	if err != nil {
		return err
	}
	if len(s) == 0 {
		return arg.Bad(v, "a list of ranks", "")
	}
	p.shape, p.ranks = s, make([]int, len(elems))
	for i, item := range elems {
		r, err := arg.ToInt(item)
		if _, unknown := item.(*builtins.Unknown); unknown {
			return arg.Bad(v, "ranks in lists", `the tensors of a plan have no elements: init_device_mesh("cpu", shape) is all ranks, and list(range(n)) a list`)
		}
		if err != nil {
			return arg.Bad(item, "ranks, which are ints", "")
		}
		p.ranks[i] = r
	}
	return nil
}

func newDeviceMesh(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		device      deviceArg
		ranks       rankArray
		names       arg.Strings
		alpha, beta floatList
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "device_type", &device, "mesh", &ranks,
		"mesh_dim_names??", &names, "mesh_alpha??", &alpha, "mesh_beta??", &beta); err != nil {
		return nil, err
	}
	m, err := mesh.New(ranks.shape, ranks.ranks, names)
	if err == nil {
		m, err = m.WithCosts(alpha, beta)
	}
	if err != nil {
		return nil, shard.OfMesh(b.Name(), err)
	}
	if err := checkWorld(e, b.Name(), "mesh", m); err != nil {
		return nil, err
	}
	return made(e, m), nil
}

// checkWorld checks that the ranks of m, the argument called param of fn, are
// ranks of the job.
func checkWorld(e *builtins.Env, fn, param string, m *mesh.Mesh) error {
	for _, r := range m.Ranks() {
		if n := e.Runtime.Size(); r >= n {
			return &op.ArgError{Func: fn, Param: param, Got: fmt.Sprintf("rank %d in a mesh of %s", r, mesh.Tuple(m.Shape())),
				Want: fmt.Sprintf("ranks in 0..%d", n-1), Rule: builtins.ThereAre(n, "rank")}
		}
	}
	return nil
}

func initDeviceMesh(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		device deviceArg
		sizes  arg.Shape
		names  arg.Strings
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "device_type", &device, "mesh_shape", &sizes, "mesh_dim_names??", &names); err != nil {
		return nil, err
	}
	m, err := mesh.New(sizes, nil, names)
	if err != nil {
		err = shard.OfMesh(b.Name(), err)
		if bad, ok := err.(*op.ArgError); ok && bad.Param == "mesh" {
			bad.Param = "mesh_shape"
		}
		return nil, err
	}
	if err := checkWorld(e, b.Name(), "mesh_shape", m); err != nil {
		return nil, err
	}
	return made(e, m), nil
}

// latest is the last mesh that the rank's script has made.
type latest struct{ mesh *DeviceMesh }

// made returns a mesh that the script has made.
func made(e *builtins.Env, m *mesh.Mesh) *DeviceMesh {
	d := DeviceMeshOf(e, m)
	builtins.StateOf[latest](e).mesh = d
	return d
}

// scopes are the meshes of the calls that the rank is in of functions that see blocks.
type scopes struct{ meshes []*DeviceMesh }

// Enter begins a call of a function that sees blocks of d, whose dims axes are then, until leave is called.
func Enter(e *builtins.Env, d *DeviceMesh) (leave func()) {
	s := builtins.StateOf[scopes](e)
	s.meshes = append(s.meshes, d)
	return func() { s.meshes = s.meshes[:len(s.meshes)-1] }
}

// Scoped reports whether the rank is in a call of a function that sees blocks.
func Scoped(e *builtins.Env) bool { return len(builtins.StateOf[scopes](e).meshes) > 0 }

// CurrentMesh returns the mesh by whose dims axes are called: that of the innermost function that sees
// blocks, else the last that the script has made; nil if there is none.
func CurrentMesh(e *builtins.Env) *DeviceMesh {
	if s := builtins.StateOf[scopes](e); len(s.meshes) > 0 {
		return s.meshes[len(s.meshes)-1]
	}
	return builtins.StateOf[latest](e).mesh
}
