package colossal

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/dtensor"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shard"
)

// A ShardingSpec says which dims of a mesh cut which dims of a tensor, as
// ColossalAI has it. It is a layout under another name.
type ShardingSpec struct {
	env   *builtins.Env
	mesh  *dtensor.DeviceMesh
	shape []int
	axes  [][]int // by dim of the tensor, the mesh dims that cut it, outermost first
}

var (
	_ starlark.HasAttrs   = (*ShardingSpec)(nil)
	_ starlark.Comparable = (*ShardingSpec)(nil)
	_ arg.Described       = (*ShardingSpec)(nil)
)

// sequence returns for each dim what cuts it: R, or S and the mesh dims.
func (s *ShardingSpec) sequence() []string {
	list := make([]string, len(s.axes))
	for i, axes := range s.axes {
		list[i] = "R"
		if len(axes) > 0 {
			list[i] = "S"
		}
		for _, a := range axes {
			list[i] += fmt.Sprint(a)
		}
	}
	return list
}

// String returns the sequence: [S01, R, R].
func (s *ShardingSpec) String() string { return "[" + strings.Join(s.sequence(), ", ") + "]" }

// Describe returns shape, sequence and mesh: a ShardingSpec of (4, 4) as [S0, R] on (2, 2).
func (s *ShardingSpec) Describe() string {
	return fmt.Sprintf("a ShardingSpec of %s as %v on %s", mesh.Tuple(s.shape), s, s.mesh.Mesh().Short())
}

func (s *ShardingSpec) Type() string         { return "ShardingSpec" }
func (s *ShardingSpec) Freeze()              {} // it cannot be changed
func (s *ShardingSpec) Truth() starlark.Bool { return true }
func (s *ShardingSpec) AttrNames() []string  { return builtins.AttrNames("ShardingSpec") }
func (s *ShardingSpec) Attr(name string) (starlark.Value, error) {
	return s.env.Attr("ShardingSpec", s, name)
}

// Hash implements starlark.Value: equal specs have one hash.
func (s *ShardingSpec) Hash() (uint32, error) {
	return starlark.String(mesh.Tuple(s.shape) + s.String()).Hash()
}

// CompareSameType implements starlark.Comparable.
func (s *ShardingSpec) CompareSameType(cmp syntax.Token, v starlark.Value, _ int) (bool, error) {
	return builtins.Equality("ShardingSpec", cmp, s.equals(v.(*ShardingSpec)))
}

// equals reports whether mesh, shape and what cuts each dim are equal.
func (s *ShardingSpec) equals(o *ShardingSpec) bool {
	return s.mesh.Equals(o.mesh) && slices.Equal(s.shape, o.shape) && slices.EqualFunc(s.axes, o.axes, slices.Equal)
}

// with returns the spec of the same tensor with other axes.
func (s *ShardingSpec) with(axes [][]int) *ShardingSpec {
	return &ShardingSpec{s.env, s.mesh, s.shape, axes}
}

// order returns the dims of the mesh in an order in which those that cut one dim
// of the tensor come as s lists them. There is one: each is in one list, once.
func (s *ShardingSpec) order() []int {
	order, _ := axisOrder(s.mesh.Mesh().NDim(), s.axes)
	return order
}

// layout returns the layout that s stands for, on the mesh with its dims in an
// order in which those that cut one dim of the tensor come as s lists them.
func (s *ShardingSpec) layout(order []int) (*mesh.Placed, error) {
	m := s.mesh.M
	if !slices.IsSorted(order) {
		m = s.env.Runtime.SameRanks(m, m.Permute(order...))
	}
	placements := make([]mesh.Placement, len(order))
	for d, axes := range s.axes {
		for _, a := range axes {
			placements[slices.Index(order, a)] = mesh.Shard(d)
		}
	}
	return s.env.Runtime.Layouts().Place(m, s.shape, placements)
}

// cut returns the dims of the tensor that are cut, and the mesh dims that cut
// them, in the order of the dims.
func (s *ShardingSpec) cut() (dims, axes []int) {
	for d, list := range s.axes {
		if len(list) > 0 {
			dims = append(dims, d)
			axes = append(axes, list...)
		}
	}
	return dims, axes
}

// deviceShape returns the shape of what a device holds: of the first one, which
// has the most where the dims do not divide evenly.
func (s *ShardingSpec) deviceShape() []int {
	l, err := s.layout(s.order())
	if err != nil {
		panic(err) // newShardingSpec has laid it out
	}
	return l.LocalShape(l.Ranks()[0])
}

// axisOrder returns the numbers below n in an order that has those in each list
// in their order; the least that can come next comes next. It is not ok if
// there is none.
func axisOrder(n int, lists ...[][]int) (order []int, ok bool) {
	after := make([]map[int]bool, n) // what must come before
	for i := range after {
		after[i] = map[int]bool{}
	}
	for _, list := range lists {
		for _, axes := range list {
			for i := 1; i < len(axes); i++ {
				after[axes[i]][axes[i-1]] = true
			}
		}
	}
	for len(order) < n {
		next := slices.IndexFunc(after, func(before map[int]bool) bool { return before != nil && len(before) == 0 })
		if next < 0 {
			return nil, false
		}
		order = append(order, next)
		after[next] = nil
		for _, before := range after {
			delete(before, next)
		}
	}
	return order, true
}

// shardingSpecArg is an argument that is a ShardingSpec.
type shardingSpecArg struct{ *ShardingSpec }

// Unpack implements starlark.Unpacker.
func (p *shardingSpecArg) Unpack(v starlark.Value) error {
	s, ok := v.(*ShardingSpec)
	if !ok {
		return arg.Bad(v, "a ShardingSpec", "")
	}
	p.ShardingSpec = s
	return nil
}

func makeShardingSpec(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		m     dtensor.MeshArg
		shape arg.Shape
		dict  starlark.Value
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "device_mesh|mesh", &m, "entire_shape", &shape, "dim_partition_dict", &dict); err != nil {
		return nil, err
	}
	parts, err := dtensor.ToPartition(b.Name(), dict)
	if err != nil {
		return nil, err
	}
	axes, err := partition(m.DeviceMesh, b.Name(), shape, parts)
	if err != nil {
		return nil, err
	}
	return newShardingSpec(e, b.Name(), m.DeviceMesh, shape, axes)
}

// newShardingSpec returns the spec of a tensor whose dims are cut by the given
// dims of a mesh, for the function fn.
func newShardingSpec(e *builtins.Env, fn string, m *dtensor.DeviceMesh, shape []int, axes [][]int) (*ShardingSpec, error) {
	s := &ShardingSpec{e, m, shape, axes}
	if _, err := s.layout(s.order()); err != nil {
		return nil, shard.OfMesh(fn, err)
	}
	return s, nil
}

// partition returns the dims of the mesh that cut each dim of a tensor of a
// shape as parts says, for the function fn.
func partition(d *dtensor.DeviceMesh, fn string, shape []int, parts []dtensor.Partition) ([][]int, error) {
	bad := func(got, want, rule string) error {
		return &op.ArgError{Func: fn, Param: "dim_partition_dict", Got: got, Want: want, Rule: rule}
	}
	axes := make([][]int, len(shape))
	taken := map[int]bool{}
	for _, p := range parts {
		dim, err := dtensor.FromFront(fn, p.Dim, len(shape))
		if err != nil {
			return nil, err
		}
		for _, a := range p.Axes {
			if a < -d.Mesh().NDim() || a >= d.Mesh().NDim() {
				return nil, bad(fmt.Sprintf("mesh dim %d", a), fmt.Sprintf("%d..%d", -d.Mesh().NDim(), d.Mesh().NDim()-1), "the mesh is "+d.Mesh().Short())
			}
			a = (a + d.Mesh().NDim()) % d.Mesh().NDim()
			if taken[a] {
				return nil, bad(fmt.Sprintf("mesh dim %d twice", a), "each mesh dim at most once", "it can cut one dim of the tensor")
			}
			taken[a] = true
			axes[dim] = append(axes[dim], a)
		}
	}
	return axes, nil
}

// shardingSpecExample begins the examples of what a ShardingSpec has.
const shardingSpecExample = ">>> mesh = DeviceMesh(\"cpu\", [[0]])\n" +
	">>> spec = ShardingSpec(mesh, (8, 4), {0: [0, 1]})\n"

// shardingSpecRow returns the row of an attribute of ShardingSpecs.
func shardingSpecRow(name, doc string, get func(s *ShardingSpec) (starlark.Value, error)) *builtins.Row {
	return &builtins.Row{Name: "ShardingSpec." + name, Doc: doc, Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
		return get(x.(*ShardingSpec))
	}}
}

func init() {
	builtins.Register(&builtins.Row{
		Name: "ShardingSpec",
		Doc: "ShardingSpec(device_mesh, entire_shape, dim_partition_dict) returns which dims of a mesh cut which dims of a tensor of a shape.\n" +
			"The dict has for dims of the tensor lists of mesh dims: {0: [0, 1]} cuts dim 0 along mesh\n" +
			"dim 0 and each block along mesh dim 1, and prints as [S01, R]. A mesh dim is used at most\n" +
			"once. Dims need not divide evenly: blocks are of ceil(n/parts), the last ones shorter or\n" +
			"empty. Specs are equal if their attributes are.\n" +
			shardingSpecExample + ">>> spec\n[S01, R]",
		Fn: makeShardingSpec,
	}, shardingSpecRow("device_mesh", "device_mesh is the DeviceMesh.\n"+shardingSpecExample+">>> spec.device_mesh == mesh\nTrue",
		func(s *ShardingSpec) (starlark.Value, error) { return s.mesh, nil },
	), shardingSpecRow("entire_shape", "entire_shape is the shape of the whole tensor, as a tuple.\n"+shardingSpecExample+">>> spec.entire_shape\n(8, 4)",
		func(s *ShardingSpec) (starlark.Value, error) { return builtins.ShapeTuple(s.shape), nil },
	), shardingSpecRow("dim_partition_dict", "dim_partition_dict is a dict of the lists of mesh dims that cut dims of the tensor.\n"+shardingSpecExample+">>> spec.dim_partition_dict\n{0: [0, 1]}",
		func(s *ShardingSpec) (starlark.Value, error) {
			var parts []dtensor.Partition
			for d, axes := range s.axes {
				if len(axes) > 0 {
					parts = append(parts, dtensor.Partition{Dim: d, Axes: axes})
				}
			}
			return dtensor.PartitionDict(parts)
		},
	), shardingSpecRow("sharding_sequence", "sharding_sequence is a list of what cuts each dim of the tensor: \"R\", or \"S\" and mesh dims.\n"+shardingSpecExample+">>> spec.sharding_sequence\n[\"S01\", \"R\"]",
		func(s *ShardingSpec) (starlark.Value, error) {
			var list []starlark.Value
			for _, text := range s.sequence() {
				list = append(list, starlark.String(text))
			}
			return starlark.NewList(list), nil
		},
	), &builtins.Row{
		Name: "ShardingSpec.get_sharded_shape_per_device",
		Doc: "get_sharded_shape_per_device() returns the shape of what a device holds, as a tuple: where dims do not divide evenly, the most that any does.\n" +
			shardingSpecExample + ">>> spec.get_sharded_shape_per_device()\n(8, 4)",
		Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return builtins.ShapeTuple(b.Receiver().(*ShardingSpec).deviceShape()), arg.Unpack(b.Name(), args, kwargs)
		},
	})
}
