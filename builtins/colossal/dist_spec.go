package colossal

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/dtensor"
	"tpsh/mesh"
	"tpsh/runtime/op"
)

// A DistSpec says how the tensor-parallel group of a ColoTensor holds it: each
// rank all of it, or blocks of the given dims. It is what ShardSpec and
// ReplicaSpec make. Along the data-parallel group it is replicated.
type DistSpec struct {
	env   *builtins.Env
	dims  []int // none: each rank holds all
	parts []int // into how many blocks each of dims is cut
	ndim  int   // of the tensor that it was read from; 0 if a script wrote it
}

var (
	_ starlark.HasAttrs   = (*DistSpec)(nil)
	_ starlark.Comparable = (*DistSpec)(nil)
	_ arg.Described       = (*DistSpec)(nil)
)

// isShard reports whether s is a ShardSpec.
func (s *DistSpec) isShard() bool { return len(s.dims) > 0 }

// String returns s as a script writes it: ShardSpec([0], [2]) or ReplicaSpec().
func (s *DistSpec) String() string {
	if !s.isShard() {
		return "ReplicaSpec()"
	}
	return fmt.Sprintf("ShardSpec(%v, %v)", builtins.IntList(s.dims), builtins.IntList(s.parts))
}

// Type returns the name of the function that makes such specs.
func (s *DistSpec) Type() string {
	if s.isShard() {
		return "ShardSpec"
	}
	return "ReplicaSpec"
}

func (s *DistSpec) Describe() string     { return s.String() }
func (s *DistSpec) Freeze()              {} // it cannot be changed
func (s *DistSpec) Truth() starlark.Bool { return true }
func (s *DistSpec) AttrNames() []string  { return builtins.AttrNames(s.Type()) }
func (s *DistSpec) Attr(name string) (starlark.Value, error) {
	return s.env.Attr(s.Type(), s, name)
}

// Hash implements starlark.Value: equal specs have one hash, however they write
// their dims.
func (s *DistSpec) Hash() (uint32, error) { return starlark.String(fmt.Sprint(s.parts)).Hash() }

// CompareSameType implements starlark.Comparable. Next to the spec of a tensor,
// whose dims are known, a dim may be counted from the back.
func (s *DistSpec) CompareSameType(cmp syntax.Token, v starlark.Value, _ int) (bool, error) {
	o := v.(*DistSpec)
	ndim := max(s.ndim, o.ndim)
	return builtins.Equality(s.Type(), cmp, slices.Equal(s.fromFront(ndim), o.fromFront(ndim)) && slices.Equal(s.parts, o.parts))
}

// fromFront returns the dims of s, those counted from the back of ndim dims
// counted from the front.
func (s *DistSpec) fromFront(ndim int) []int {
	dims := slices.Clone(s.dims)
	for i, d := range dims {
		if d < 0 && d+ndim >= 0 {
			dims[i] = d + ndim
		}
	}
	return dims
}

// replicaSpec returns ReplicaSpec().
func replicaSpec(e *builtins.Env) *DistSpec { return &DistSpec{env: e} }

// shardSpec returns ShardSpec(dims, parts).
func shardSpec(e *builtins.Env, dims, parts []int) *DistSpec {
	return &DistSpec{env: e, dims: dims, parts: parts}
}

// distSpecArg is an argument that is what ShardSpec or ReplicaSpec makes.
type distSpecArg struct{ *DistSpec }

// Unpack implements starlark.Unpacker.
func (p *distSpecArg) Unpack(v starlark.Value) error {
	s, ok := v.(*DistSpec)
	if !ok {
		return arg.Bad(v, "a ShardSpec or a ReplicaSpec", "")
	}
	p.DistSpec = s
	return nil
}

// checkSpec checks that s, the argument called param of fn, cuts into as many
// blocks as the tensor-parallel groups of pg have ranks.
func checkSpec(fn, param string, pg *ProcessGroup, s *DistSpec) error {
	if !s.isShard() {
		return nil
	}
	ways, tp := 1, pg.degree(tpDim)
	for _, n := range s.parts {
		if n > tp/ways { // too many already
			ways = 0
			break
		}
		ways *= n
	}
	if ways != tp {
		return &op.ArgError{Func: fn, Param: param, Got: arg.Show(s), Want: fmt.Sprintf("num_partitions with a product of %d", tp),
			Rule: "the tensor-parallel degree of " + arg.Show(pg)}
	}
	return nil
}

// placeSpec returns the layout of a tensor of a shape that the groups of pg
// hold as s says; s is the argument called param of fn. Where s cuts one dim
// or none the layout is on the mesh of pg, (dp, tp); where it cuts several, on
// that mesh with tp seen as a grid of these sizes.
func placeSpec(e *builtins.Env, fn, param string, pg *ProcessGroup, s *DistSpec, shape []int) (*mesh.Placed, error) {
	if err := checkSpec(fn, param, pg, s); err != nil {
		return nil, err
	}
	if !s.isShard() {
		return dtensor.Place(e, fn, param, pg.m, shape, make([]mesh.Placement, pg.m.NDim()))
	}
	seen := map[int]bool{}
	placements := []mesh.Placement{mesh.Replicate()}
	for _, d := range s.dims {
		dim, err := specDim(fn, param, s, d, shape)
		if err != nil {
			return nil, err
		}
		if seen[dim] {
			return nil, &op.ArgError{Func: fn, Param: param, Got: arg.Show(s), Want: "each dim once", Rule: "shape " + mesh.Tuple(shape)}
		}
		seen[dim] = true
		placements = append(placements, mesh.Shard(dim))
	}
	m := pg.m
	if len(s.dims) > 1 {
		m = e.Runtime.Layouts().Mesh(m.Split(tpDim, s.parts))
	}
	return dtensor.Place(e, fn, param, m, shape, placements)
}

// specDim returns the dim d of s, counted from the front of a shape.
func specDim(fn, param string, s *DistSpec, d int, shape []int) (int, error) {
	n := len(shape)
	if d < -n || d >= n {
		want := fmt.Sprintf("dims in %d..%d", -n, n-1)
		if n == 0 {
			want = "ReplicaSpec()"
		}
		return 0, &op.ArgError{Func: fn, Param: param, Got: arg.Show(s), Want: want, Rule: "shape " + mesh.Tuple(shape)}
	}
	return (d + n) % max(n, 1), nil
}

func init() {
	placement := func(owner, example, want string) *builtins.Row {
		return &builtins.Row{
			Name: owner + ".placement",
			Doc:  "placement is " + want + ".\n>>> " + example + ".placement\n" + want,
			Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
				if x.(*DistSpec).isShard() {
					return builtins.Enum{Typ: "DistPlacementPattern", Name: "SHARD"}, nil
				}
				return builtins.Enum{Typ: "DistPlacementPattern", Name: "REPLICATE"}, nil
			},
		}
	}
	builtins.Register(&builtins.Row{
		Name: "ShardSpec",
		Doc: "ShardSpec(dims, num_partitions) returns the spec of a tensor whose dims are cut into so many blocks by the tensor-parallel group.\n" +
			"Both are lists of the same length. Several dims are legal: the group is then seen as a grid\n" +
			"of these sizes, the first one outermost. The product of num_partitions is the tensor-parallel\n" +
			"degree of the ProcessGroup it is used with. Blocks are of ceil(n/parts), the last ones\n" +
			"shorter or empty. Negative dims count from the back.\n" +
			">>> ShardSpec([-1], [1])\nShardSpec([-1], [1])",
		Fn: newShardSpec,
	}, &builtins.Row{
		Name: "ReplicaSpec",
		Doc: "ReplicaSpec() returns the spec of a tensor that every rank of the tensor-parallel group holds whole.\n" +
			">>> ReplicaSpec()\nReplicaSpec()",
		Fn: func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return replicaSpec(e), arg.Unpack(b.Name(), args, kwargs)
		},
	}, &builtins.Row{
		Name: "ShardSpec.dims",
		Doc:  "dims is the tuple of the dims that are cut.\n>>> ShardSpec([0], [1]).dims\n(0,)",
		Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
			return builtins.ShapeTuple(x.(*DistSpec).dims), nil
		},
	}, &builtins.Row{
		Name: "ShardSpec.num_partitions",
		Doc:  "num_partitions is the tuple of the numbers of blocks.\n>>> ShardSpec([0], [1]).num_partitions\n(1,)",
		Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
			return builtins.ShapeTuple(x.(*DistSpec).parts), nil
		},
	}, placement("ShardSpec", "ShardSpec([0], [1])", "DistPlacementPattern.SHARD"),
		placement("ReplicaSpec", "ReplicaSpec()", "DistPlacementPattern.REPLICATE"))
	builtins.RegisterEnum("DistPlacementPattern", "DistPlacementPattern holds the placements of specs: REPLICATE and SHARD.\n"+
		">>> ReplicaSpec().placement == DistPlacementPattern.REPLICATE\nTrue", []builtins.EnumMember{
		{Name: "REPLICATE", Doc: "the placement of ReplicaSpec()."},
		{Name: "SHARD", Doc: "the placement of a ShardSpec."},
	})
}

func newShardSpec(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var dims, parts dtensor.IntsArg
	if err := arg.Unpack(b.Name(), args, kwargs, "dims", &dims, "num_partitions", &parts); err != nil {
		return nil, err
	}
	if len(parts) != len(dims) {
		return nil, &op.ArgError{Func: b.Name(), Param: "num_partitions", Got: fmt.Sprintf("a list of %d", len(parts)),
			Want: fmt.Sprint(len(dims)), Rule: "one for each of dims"}
	}
	if len(dims) == 0 {
		return nil, &op.ArgError{Func: b.Name(), Param: "dims", Got: "[]", Want: "at least one dim", Rule: "ReplicaSpec() cuts none"}
	}
	for i, n := range parts {
		if n < 1 {
			return nil, &op.ArgError{Func: b.Name(), Param: "num_partitions", Got: fmt.Sprintf("%d at index %d", n, i), Want: "a positive int"}
		}
		if slices.Contains(dims[:i], dims[i]) {
			return nil, &op.ArgError{Func: b.Name(), Param: "dims", Got: fmt.Sprintf("%d at index %d", dims[i], i), Want: "each dim once"}
		}
	}
	return shardSpec(e, dims, parts), nil
}
