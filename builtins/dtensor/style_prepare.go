package dtensor

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shard"
	"tpsh/runtime/tensor"
)

// A preparing function is one of PyTorch 2.0's make_input_* and make_output_*.
type preparing struct {
	name  string
	takes string // "input" or "output"
	dim   bool   // it takes dim
	does  string
	shows string // the lines of its example
	// do returns what t becomes on the mesh m.
	do func(e *builtins.Env, fn string, t *tensor.Tensor, m *mesh.Mesh, dim int) (*tensor.Tensor, error)
}

var preparings = []*preparing{
	{"make_input_shard_1d", "input", true, "returns input as a distributed tensor cut along dim: a plain tensor is taken for this rank's block, a distributed one is redistributed.",
		">>> make_input_shard_1d(ones(2, 3), DeviceMesh(\"cpu\", [0])).placements\n(Shard(0),)",
		func(e *builtins.Env, fn string, t *tensor.Tensor, m *mesh.Mesh, dim int) (*tensor.Tensor, error) {
			return takeAs(e, fn, t, m, mesh.Shard(dim), mesh.Shard(dim))
		}},
	{"make_input_shard_1d_last_dim", "input", false, "is make_input_shard_1d along the last dim.",
		">>> make_input_shard_1d_last_dim(ones(2, 3), DeviceMesh(\"cpu\", [0])).placements\n(Shard(1),)",
		func(e *builtins.Env, fn string, t *tensor.Tensor, m *mesh.Mesh, _ int) (*tensor.Tensor, error) {
			return takeAs(e, fn, t, m, mesh.Shard(-1), mesh.Shard(-1))
		}},
	{"make_input_replicate_1d", "input", false, "returns input as a replicated distributed tensor: a plain tensor is taken to be the same on all ranks, a distributed one is redistributed.",
		">>> make_input_replicate_1d(ones(2, 3), DeviceMesh(\"cpu\", [0])).placements\n(Replicate(),)",
		func(e *builtins.Env, fn string, t *tensor.Tensor, m *mesh.Mesh, _ int) (*tensor.Tensor, error) {
			return takeAs(e, fn, t, m, mesh.Replicate(), mesh.Replicate())
		}},
	{"make_input_reshard_replicate", "input", false, "returns input as a replicated distributed tensor: a plain tensor is taken for this rank's block of dim 0, and gathered.",
		">>> make_input_reshard_replicate(ones(2, 3), DeviceMesh(\"cpu\", [0])).placements\n(Replicate(),)",
		func(e *builtins.Env, fn string, t *tensor.Tensor, m *mesh.Mesh, _ int) (*tensor.Tensor, error) {
			return takeAs(e, fn, t, m, mesh.Shard(0), mesh.Replicate())
		}},
	{"make_output_shard_1d", "output", true, "returns the distributed tensor output cut along dim.",
		">>> make_output_shard_1d(DTensor.ones((2, 3), DeviceMesh(\"cpu\", [0])), dim=1).placements\n(Shard(1),)",
		func(e *builtins.Env, fn string, t *tensor.Tensor, m *mesh.Mesh, dim int) (*tensor.Tensor, error) {
			return bringTo(e, fn, t, m, mesh.Shard(dim))
		}},
	{"make_output_replicate_1d", "output", false, "returns the distributed tensor output replicated.",
		">>> make_output_replicate_1d(DTensor.ones((2, 3), DeviceMesh(\"cpu\", [0]))).placements\n(Replicate(),)",
		func(e *builtins.Env, fn string, t *tensor.Tensor, m *mesh.Mesh, _ int) (*tensor.Tensor, error) {
			return bringTo(e, fn, t, m, mesh.Replicate())
		}},
	{"make_output_tensor", "output", false, "returns the whole of the distributed tensor output as a plain tensor.",
		">>> make_output_tensor(DTensor.ones((2, 3), DeviceMesh(\"cpu\", [0]))).shape\n(2, 3)",
		func(e *builtins.Env, fn string, t *tensor.Tensor, m *mesh.Mesh, _ int) (*tensor.Tensor, error) {
			y, err := bringTo(e, fn, t, m, mesh.Replicate())
			return localOf(e, y, err)
		}},
	{"make_sharded_output_tensor", "output", false, "returns this rank's block of the distributed tensor output, as it lies. A Partial one is not reduced.",
		">>> make_sharded_output_tensor(DTensor.ones((2, 3), DeviceMesh(\"cpu\", [0]))).shape\n(2, 3)",
		func(e *builtins.Env, _ string, t *tensor.Tensor, _ *mesh.Mesh, _ int) (*tensor.Tensor, error) {
			return localOf(e, t, nil)
		}},
	{"make_output_reshard_tensor", "output", false, "returns this rank's block of the distributed tensor output cut along dim 0, as a plain tensor.",
		">>> make_output_reshard_tensor(DTensor.ones((2, 3), DeviceMesh(\"cpu\", [0]))).shape\n(2, 3)",
		func(e *builtins.Env, fn string, t *tensor.Tensor, m *mesh.Mesh, _ int) (*tensor.Tensor, error) {
			y, err := bringTo(e, fn, t, m, mesh.Shard(0))
			return localOf(e, y, err)
		}},
}

func init() {
	for _, p := range preparings {
		params := p.takes + ", device_mesh=None"
		if p.dim {
			params += ", dim=0"
		}
		builtins.Register(&builtins.Row{Name: p.name, Fn: p.call,
			MakeDoc: func() string {
				return fmt.Sprintf("%s(%s) %s\ndevice_mesh has one dim; None is that of a distributed %s. It is one of the functions that styles prepare with.\n%s", p.name, params, p.does, p.takes, p.shows)
			}})
	}
}

// call carries out a call of a script.
func (p *preparing) call(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		fn  = b.Name()
		v   starlark.Value
		m   optMesh
		dim arg.Int
	)
	params := []any{p.takes, &v, "device_mesh|mesh|_device_mesh?", &m}
	if p.dim {
		params = append(params, "dim?", &dim)
	}
	if err := arg.Unpack(fn, args, kwargs, params...); err != nil {
		return nil, err
	}
	x, ok := v.(*builtins.Tensor)
	if !ok {
		return nil, &op.ArgError{Func: fn, Param: p.takes, Got: arg.Show(v), Want: "a tensor"}
	}
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	if p.takes == "output" && !t.Placed() {
		return nil, &op.ArgError{Func: fn, Param: p.takes, Got: "a plain tensor " + op.Describe(t), Want: "a DTensor"}
	}
	dm, err := p.mesh(fn, t, m)
	if err != nil {
		return nil, err
	}
	if n := t.Ndim(); p.dim && (int(dim) < -n || int(dim) >= n) {
		return nil, &op.ArgError{Func: fn, Param: "dim", Got: fmt.Sprint(int(dim)), Want: fmt.Sprintf("a dim of shape %v, from %d to %d", t.Shape(), -n, n-1)}
	}
	y, err := p.do(e, fn, t, dm, int(dim))
	if err != nil {
		return nil, err
	}
	return e.Wrap(y), nil
}

// mesh returns the mesh that was given, or that of t.
func (p *preparing) mesh(fn string, t *tensor.Tensor, m optMesh) (*mesh.Mesh, error) {
	var dm *mesh.Mesh
	switch {
	case m.Set:
		dm = m.V.Mesh()
	case t.Placed():
		dm = t.Layout().Mesh()
	default:
		return nil, &op.ArgError{Func: fn, Param: "device_mesh", Got: "None", Want: "a mesh of one dim", Rule: p.takes + " is a plain tensor, which has none"}
	}
	if dm.NDim() != 1 {
		return nil, &op.ArgError{Func: fn, Param: "device_mesh", Got: dm.String(), Want: "a mesh of one dim"}
	}
	return dm, nil
}

// takeAs returns t as a distributed tensor on m that lies as to; a plain one is
// this rank's block of one that lies as from.
func takeAs(e *builtins.Env, fn string, t *tensor.Tensor, m *mesh.Mesh, from, to mesh.Placement) (*tensor.Tensor, error) {
	if !t.Placed() {
		p := optPlacements{V: only(from), Set: true}
		s, err := sizeOfParts(e, fn, m, t.Shape(), p)
		if err != nil {
			return nil, err
		}
		l, err := layoutArgs(e, fn, m, s, p)
		if err != nil {
			return nil, err
		}
		if t, err = e.Runtime.Shard.Join(t, l); err != nil {
			return nil, op.Rename(fn, err)
		}
	}
	return bringTo(e, fn, t, m, to)
}

// bringTo returns the distributed tensor t placed as p on m.
func bringTo(e *builtins.Env, fn string, t *tensor.Tensor, m *mesh.Mesh, p mesh.Placement) (*tensor.Tensor, error) {
	l, err := layoutArgs(e, fn, m, t.Shape(), optPlacements{V: only(p), Set: true})
	if err != nil {
		return nil, err
	}
	if l == t.Layout() {
		return t, nil
	}
	return e.Runtime.Shard.Move(t, l)
}

// localOf returns this rank's block of t, unless there is an error.
func localOf(e *builtins.Env, t *tensor.Tensor, err error) (*tensor.Tensor, error) {
	if err != nil {
		return nil, err
	}
	return e.Runtime.Shard.ToLocal(t, nil)
}

// layout applies placements to a value that goes into or comes out of a module:
// a plain tensor is taken for a block of one that lies as from, and brought to
// to. What is no tensor, and None for placements, it leaves alone.
func layout(e *builtins.Env, fn string, v starlark.Value, m *mesh.Mesh, from, to optPlacements, local bool) (starlark.Value, error) {
	x, ok := v.(*builtins.Tensor)
	if !ok || !from.Set || !to.Set {
		return v, nil
	}
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	takes, err := from.V.on(m, t.Ndim())
	if err != nil {
		return nil, arg.In(fn, "placements", err)
	}
	gives, err := to.V.on(m, t.Ndim())
	if err != nil {
		return nil, arg.In(fn, "placements", err)
	}
	if len(takes) != 1 || len(gives) != 1 {
		return nil, &op.ArgError{Func: fn, Param: "placements", Got: mesh.List(takes) + " to " + mesh.List(gives), Want: "one placement", Rule: "the mesh has one dim: " + shard.Describe(t)}
	}
	if t, err = takeAs(e, fn, t, m, takes[0], gives[0]); err != nil {
		return nil, err
	}
	if local {
		if t, err = localOf(e, t, nil); err != nil {
			return nil, err
		}
	}
	return e.Wrap(t), nil
}
