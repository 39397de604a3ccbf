package dtensor

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/mesh"
	"tpsh/runtime/shape"
	"tpsh/runtime/shard"
)

// A FlatShardingSpec says which elements of a tensor in row-major order each
// member of a group stores, as OLMo-core has it. It is a layout under another
// name: one whose ranks are those in the group.
type FlatShardingSpec struct {
	env *builtins.Env
	f   *mesh.Flat
}

var (
	_ starlark.HasAttrs   = (*FlatShardingSpec)(nil)
	_ starlark.Comparable = (*FlatShardingSpec)(nil)
	_ arg.Described       = (*FlatShardingSpec)(nil)
)

// flatSpec returns the spec in which member k of a group stores ranges[k] of a
// tensor of a shape.
func flatSpec(e *builtins.Env, fn string, s shape.Shape, ranges [][]mesh.Range) (*FlatShardingSpec, error) {
	members := make([]int, len(ranges))
	for i := range members {
		members[i] = i
	}
	f, err := mesh.NewFlat(s, members, ranges)
	if err != nil {
		return nil, shard.OfMesh(fn, err)
	}
	return &FlatShardingSpec{e, f}, nil
}

// String returns the spec as a script makes it.
func (s *FlatShardingSpec) String() string {
	return fmt.Sprintf("ShardingSpec(unsharded_shape=%v, unsharded_flattened_offsets=%v)", builtins.ShapeTuple(s.f.Shape()), s.offsets())
}

// Describe implements arg.Described.
func (s *FlatShardingSpec) Describe() string { return "flat." + s.String() }

func (s *FlatShardingSpec) Type() string         { return "FlatShardingSpec" }
func (s *FlatShardingSpec) Freeze()              {} // it cannot be changed
func (s *FlatShardingSpec) Truth() starlark.Bool { return true }
func (s *FlatShardingSpec) AttrNames() []string  { return builtins.AttrNames("FlatShardingSpec") }
func (s *FlatShardingSpec) Attr(name string) (starlark.Value, error) {
	return s.env.Attr("FlatShardingSpec", s, name)
}

// Hash implements starlark.Value: equal specs have one hash.
func (s *FlatShardingSpec) Hash() (uint32, error) { return starlark.String(s.String()).Hash() }

// CompareSameType implements starlark.Comparable.
func (s *FlatShardingSpec) CompareSameType(cmp syntax.Token, v starlark.Value, _ int) (bool, error) {
	o := v.(*FlatShardingSpec)
	same := slices.Equal(s.f.Shape(), o.f.Shape()) && len(s.f.Ranks()) == len(o.f.Ranks())
	for _, rank := range s.f.Ranks() {
		same = same && slices.Equal(s.f.Ranges(rank), o.f.Ranges(rank))
	}
	return builtins.Equality("FlatShardingSpec", cmp, same)
}

// numel returns the number of elements of the whole.
func (s *FlatShardingSpec) numel() int { return shape.Shape(s.f.Shape()).Numel() }

// offsets returns the ranges of every member as a script has them.
func (s *FlatShardingSpec) offsets() starlark.Tuple {
	all := make(starlark.Tuple, len(s.f.Ranks()))
	for i, rank := range s.f.Ranks() {
		all[i] = rangeTuple(s.f.Ranges(rank))
	}
	return all
}

// rangeTuple returns ranges as a script has them: ((0, 2), (6, 8)).
func rangeTuple(ranges []mesh.Range) starlark.Tuple {
	list := make(starlark.Tuple, len(ranges))
	for i, r := range ranges {
		list[i] = starlark.Tuple{starlark.MakeInt(r.Lo), starlark.MakeInt(r.Hi)}
	}
	return list
}

// flatOffsets is an argument that has, for each member of a group, a list of
// ranges (start, end).
type flatOffsets [][]mesh.Range

// Unpack implements starlark.Unpacker.
func (p *flatOffsets) Unpack(v starlark.Value) error {
	const want = "for each rank of the group a tuple of ranges (start, end)"
	var members arg.List
	if members.Unpack(v) != nil {
		return arg.Bad(v, want, "")
	}
	*p = make(flatOffsets, len(members))
	for i, member := range members {
		var ranges arg.List
		if ranges.Unpack(member) != nil {
			return arg.BadItem(member, i, want)
		}
		for _, r := range ranges {
			ends, err := arg.ToInts(r)
			if err != nil || len(ends) != 2 {
				return arg.BadItem(member, i, want)
			}
			(*p)[i] = append((*p)[i], mesh.Range{Lo: ends[0], Hi: ends[1]})
		}
	}
	return nil
}

// newFlatSpec carries out flat.ShardingSpec.
func newFlatSpec(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		s       arg.Shape
		offsets flatOffsets
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "unsharded_shape", &s, "unsharded_flattened_offsets", &offsets); err != nil {
		return nil, err
	}
	spec, err := flatSpec(e, b.Name(), shape.Shape(s), offsets)
	if err != nil {
		return nil, err
	}
	return spec, nil
}

// flatSpecArg is an argument that is a flat.ShardingSpec.
type flatSpecArg struct{ *FlatShardingSpec }

// Unpack implements starlark.Unpacker.
func (p *flatSpecArg) Unpack(v starlark.Value) error {
	s, ok := v.(*FlatShardingSpec)
	if !ok {
		return arg.Bad(v, "a flat.ShardingSpec", "")
	}
	p.FlatShardingSpec = s
	return nil
}

// flatSpecRow returns a row for an attribute of flat specs.
func flatSpecRow(name, doc string, get func(s *FlatShardingSpec) starlark.Value) *builtins.Row {
	return &builtins.Row{Name: "FlatShardingSpec." + name, Doc: doc, Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
		return get(x.(*FlatShardingSpec)), nil
	}}
}

// exampleFlatSpec begins the examples of flat specs.
const exampleFlatSpec = ">>> spec = flat.ShardingSpec((2, 3), (((0, 2), (4, 6)), ((2, 4),)))\n"

func init() {
	builtins.Register(&builtins.Row{
		Name: "flat.ShardingSpec",
		Doc: "ShardingSpec(unsharded_shape, unsharded_flattened_offsets) returns which elements of a tensor each rank of a group stores.\n" +
			"unsharded_shape is the shape of the whole. unsharded_flattened_offsets has for each rank of the group the ranges\n" +
			"(start, end) of the elements in row-major order that it stores, in that order: several, one, or none. Together\n" +
			"they hold each element once. Specs of equal shapes and ranges are equal.\n" +
			exampleFlatSpec + ">>> spec.sharded_numels\n(4, 2)",
		Fn: newFlatSpec,
	},
		&builtins.Row{Name: "FlatShardingSpec", Doc: "FlatShardingSpec is the type of what flat.ShardingSpec returns."},
		flatSpecRow("unsharded_shape", "unsharded_shape is the shape of the whole.\n"+exampleFlatSpec+">>> spec.unsharded_shape\n(2, 3)",
			func(s *FlatShardingSpec) starlark.Value { return builtins.ShapeTuple(s.f.Shape()) }),
		flatSpecRow("unsharded_flattened_offsets", "unsharded_flattened_offsets is what each rank of the group stores: a tuple of ranges (start, end) for each.\n"+
			exampleFlatSpec+">>> spec.unsharded_flattened_offsets\n(((0, 2), (4, 6)), ((2, 4),))",
			func(s *FlatShardingSpec) starlark.Value { return s.offsets() }),
		flatSpecRow("unsharded_numel", "unsharded_numel is the number of elements of the whole.\n"+exampleFlatSpec+">>> spec.unsharded_numel\n6",
			func(s *FlatShardingSpec) starlark.Value { return starlark.MakeInt(s.numel()) }),
		flatSpecRow("sharded_numels", "sharded_numels is the tuple of the numbers of elements that the ranks of the group store.\n"+exampleFlatSpec+">>> spec.sharded_numels\n(4, 2)",
			func(s *FlatShardingSpec) starlark.Value {
				var sizes shape.Shape
				for _, rank := range s.f.Ranks() {
					sizes = append(sizes, s.f.Numel(rank))
				}
				return builtins.ShapeTuple(sizes)
			}),
		flatSpecRow("unsharded_flattened_shape", "unsharded_flattened_shape is the shape of the whole in one dim.\n"+exampleFlatSpec+">>> spec.unsharded_flattened_shape\n(6,)",
			func(s *FlatShardingSpec) starlark.Value { return builtins.ShapeTuple(shape.Shape{s.numel()}) }),
	)
}
