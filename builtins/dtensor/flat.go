package dtensor

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/collective"
	"tpsh/internal/units"
	"tpsh/mesh"
	"tpsh/runtime"
	"tpsh/runtime/dtype"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A flatView makes a Tensor a ShardedFlatTensor or a ShardedFlatParameter. The
// Tensor's own tensor is the whole while there is one, and else this rank's data:
// so arithmetic, shape and dtype follow the state. Both are one leaf, which has
// one gradient: of the whole if that was computed with, and else of the data.
type flatView struct {
	builtins.PlainLens
	param  bool // a ShardedFlatParameter
	spec   *FlatShardingSpec
	pg     starlark.Value // the group, as a script gave it; nil for the world
	group  *runtime.Group // nil until spec is known
	local  *tensor.Tensor // this rank's data, [n]; nil for a parameter without
	whole  *tensor.Tensor // nil while sharded
	frozen bool

	partOf *shardPart // what fully_shard made it a part of; else nil
}

var (
	_ builtins.ResultLens = (*flatView)(nil)
	_ builtins.PartLens   = (*flatView)(nil)
)

// flatOf returns the view of x; nil if x is no flat tensor.
func flatOf(x *builtins.Tensor) *flatView {
	v, _ := x.Lens.(*flatView)
	return v
}

// A flatTensor is a Tensor that is a flat one, with its view.
type flatTensor struct {
	*builtins.Tensor
	*flatView
}

// asFlat returns x, which is a flat tensor, with its view.
func asFlat(x *builtins.Tensor) flatTensor { return flatTensor{x, flatOf(x)} }

// WholeShape returns the shape of the tensor of which ranks have parts, nil if that is
// not known.
func (v *flatView) WholeShape() []int {
	switch {
	case v.partOf != nil && v.partOf.layout != nil: // a block of a tensor that other ranks share
		return v.partOf.layout.Shape()
	case v.spec == nil:
		return nil
	}
	return v.spec.f.Shape()
}

// Blank implements PartLens.
func (v *flatView) Blank(x *builtins.Tensor) (*tensor.Tensor, error) {
	if v.whole != nil || v.spec == nil {
		return nil, nil
	}
	return v.blank(x.Env)
}

// blank returns a tensor that lies as the whole does, whose spec is known.
func (v *flatView) blank(e *builtins.Env) (*tensor.Tensor, error) {
	y, err := e.Runtime.Do("zeros", nil, op.IntsN(v.spec.f.Shape()...), op.Int1(int(v.local.DType())))
	if err == nil && v.partOf != nil && v.partOf.layout != nil {
		y = tensor.NewPlaced(v.partOf.layout, y)
	}
	return y, err
}

// PartOf implements PartLens.
func (v *flatView) PartOf(x *builtins.Tensor, y *tensor.Tensor) (*tensor.Tensor, error) {
	return x.Env.Runtime.Shard.FlatPart(v.spec.f, v.group.Place(), y.Local().Detach())
}

// A dataView is the lens of this rank's data of a flat tensor, which is a plain tensor but for
// what fills it with random numbers: p.data.normal_() is p.normal_().
type dataView struct {
	builtins.PlainLens
	of *flatView
}

var _ builtins.PartLens = (*dataView)(nil)

// Blank implements PartLens.
func (v *dataView) Blank(x *builtins.Tensor) (*tensor.Tensor, error) { return v.of.blank(x.Env) }

// PartOf implements PartLens.
func (v *dataView) PartOf(x *builtins.Tensor, y *tensor.Tensor) (*tensor.Tensor, error) {
	return v.of.PartOf(x, y)
}

// Type returns the type of tensors seen through v.
func (v *flatView) Type() string {
	if v.param {
		return "ShardedFlatParameter"
	}
	return "ShardedFlatTensor"
}

// The types whose members a flat tensor has: gather is the first one's.
var (
	flatOwners       = []string{"ShardedFlatTensor", "Tensor"}
	flatPlacedOwners = []string{"ShardedFlatTensor", "Tensor", "DTensor"}
)

// Owners implements Lens.
func (*flatView) Owners(x *builtins.Tensor) []string {
	if x.Placed() {
		return flatPlacedOwners
	}
	return flatOwners
}

// Attr implements Lens: a flat tensor has shard, as its constructor does.
func (v *flatView) Attr(_ *builtins.Tensor, name string) starlark.Value {
	if name == "shard" {
		return builtins.Lookup(v.Type() + ".shard")
	}
	return nil
}

// SetField implements Lens: sharded_data can be assigned.
func (*flatView) SetField(x *builtins.Tensor, name string, v starlark.Value) (bool, error) {
	if name != "sharded_data" {
		return false, nil
	}
	return true, asFlat(x).setShardedData(name, v)
}

// mustBeKnown returns an error of fn unless the spec is known.
func (v *flatView) mustBeKnown(fn string) error {
	if v.spec != nil {
		return nil
	}
	return &op.ArgError{Func: fn, Got: "a " + v.Type() + " without a sharding spec", Want: "one with", Rule: v.Type() + ".shard(...) and mark_as_sharded(spec) give it"}
}

// mayChange returns an error of fn if the tensor is frozen.
func (v *flatView) mayChange(fn string) error {
	if !v.frozen {
		return nil
	}
	return &op.ArgError{Func: fn, Got: "a frozen " + v.Type(), Want: "one that may be changed", Rule: "it belongs to a loaded file: build it in a function"}
}

// numel returns the number of elements of this rank's data.
func (v *flatView) numel() int {
	if v.local == nil {
		return 0
	}
	return v.local.Numel()
}

// newFlat returns the flat tensor seen through v whose data on this rank is t, a
// leaf of its own on the storage of t.
func newFlat(e *builtins.Env, fn string, v *flatView, t *tensor.Tensor, requires bool) (*builtins.Tensor, error) {
	x := &builtins.Tensor{Env: e, Lens: v, Parameter: v.param}
	if t != nil {
		v.local = t.Detach()
		x.T = v.local
	} else {
		none, err := tensor.New(e.Runtime.Ops().Alloc, e.Runtime.Ops().Float, shape.Shape{0})
		if err != nil {
			return nil, err
		}
		x.T = none
	}
	if requires {
		return x, builtins.RequireGrad(fn, x.T)
	}
	return x, nil
}

// attach makes t the whole of x, on its storage. Whole and data are one leaf.
func (x flatTensor) attach(t *tensor.Tensor) {
	from := x.local
	if from.Auto == nil || !grad.IsLeaf(from) {
		from.Auto = &tensor.Auto{Requires: from.RequiresGrad()}
	}
	x.whole = t.Detach()
	x.whole.Auto = from.Auto
	x.T = x.whole
}

// forgetWhole makes x stand for this rank's data.
func (x flatTensor) forgetWhole() { x.whole, x.T = nil, x.local }

// replace makes t this rank's data of x.
func (x flatTensor) replace(t *tensor.Tensor) {
	leaf := x.T.Auto
	if !grad.IsLeaf(x.T) {
		leaf = &tensor.Auto{Requires: true}
	}
	x.local = t.Detach()
	x.local.Auto = leaf
	if x.whole == nil {
		x.T = x.local
	}
}

// mark says how x lies in the group that pg stands for, nil for the world.
// param is the name under which fn was given the spec.
func (x flatTensor) mark(fn, param string, spec *FlatShardingSpec, pg starlark.Value) error {
	g, err := flatGroup(x.Env, fn, pg)
	if err != nil {
		return err
	}
	if err := spec.fits(fn, param, g); err != nil {
		return err
	}
	if n, want := x.numel(), spec.f.Numel(g.Rank()); n != want {
		return &op.ArgError{Func: fn, Param: param, Got: fmt.Sprintf("a spec with %s for this rank", units.Count(want, "element")), Want: fmt.Sprint(n), Rule: "as many as it has"}
	}
	if x.local == nil {
		x.local = x.T
	}
	x.spec, x.pg, x.group = spec, pg, g
	return nil
}

// flatGroup returns the group that pg, the argument process_group of fn, stands
// for: the world if pg is nil or None.
func flatGroup(e *builtins.Env, fn string, pg starlark.Value) (*runtime.Group, error) {
	if pg == starlark.None {
		pg = nil
	}
	g, err := collective.GroupOf(e, fn, pg)
	if bad, ok := err.(*op.ArgError); ok && bad.Param == "group" {
		bad.Param = "process_group"
	}
	return g, err
}

// fits returns an error of fn unless s, its argument called param, has ranges
// for each member of g.
func (s *FlatShardingSpec) fits(fn, param string, g *runtime.Group) error {
	if n := len(s.f.Ranks()); n != g.Size() {
		return &op.ArgError{Func: fn, Param: param, Got: "a spec of ranges for " + units.Count(n, "rank"), Want: fmt.Sprint(g.Size()), Rule: "those of the group"}
	}
	return nil
}

// label returns t as a flat tensor with the spec, the group and the state of
// x: this rank's data while x is sharded, and else the whole.
func (x flatTensor) label(fn string, t *tensor.Tensor, requires bool) (*builtins.Tensor, error) {
	v := &flatView{spec: x.spec, pg: x.pg, group: x.group}
	if x.whole == nil {
		return newFlat(x.Env, fn, v, t, requires)
	}
	part, err := v.part(x.Env, t.Detach(), true)
	if err != nil {
		return nil, err
	}
	y, err := newFlat(x.Env, fn, v, part, requires)
	if err == nil {
		asFlat(y).attach(t)
	}
	return y, err
}

// part returns what this rank stores of t, the whole. With own it shares no storage
// with t.
func (v *flatView) part(e *builtins.Env, t *tensor.Tensor, own bool) (*tensor.Tensor, error) {
	part, err := e.Runtime.Shard.FlatPart(v.spec.f, v.group.Rank(), t)
	if err != nil || !own || part.Buffer() != t.Buffer() || part.Buffer() == nil {
		return part, err
	}
	return e.Runtime.Do("clone", []*tensor.Tensor{part})
}

// cast returns t, which is data or the whole of x, in dtype dt, for fn.
func (x flatTensor) cast(fn string, t *tensor.Tensor, dt arg.OptDType) (*tensor.Tensor, error) {
	to := t.DType()
	if dt.Set {
		to = dt.V.D
	}
	if x.T.RequiresGrad() && !to.IsFloat() {
		return nil, &op.ArgError{Func: fn, Param: "dtype", Got: to.String() + " for a tensor that requires grad", Want: "a float dtype", Rule: "only floats have gradients"}
	}
	return toDType(x.Env, t, to)
}

// toDType returns t in dtype dt.
func toDType(e *builtins.Env, t *tensor.Tensor, dt dtype.DType) (*tensor.Tensor, error) {
	if t.DType() == dt {
		return t, nil
	}
	return e.Runtime.Do("to", []*tensor.Tensor{t}, op.Int1(int(dt)))
}

// mustHaveShape returns an error of fn unless t, its argument called param, has
// the shape s.
func mustHaveShape(fn, param string, t *tensor.Tensor, s shape.Shape, rule string) error {
	if t.Shape().Equal(s) {
		return nil
	}
	return &op.ArgError{Func: fn, Param: param, Got: op.Describe(t), Want: "shape " + s.String(), Rule: rule}
}

// flatLikes are the operators that give a flat tensor for a flat tensor.
var flatLikes = map[string]bool{"empty_like": true, "zeros_like": true, "ones_like": true}

// Result returns y, which the operator d has made of x for the function fn, as a
// flat tensor where d is one of these.
func (v *flatView) Result(fn string, d *op.Def, x *builtins.Tensor, y starlark.Value) (starlark.Value, error) {
	if !flatLikes[d.Name] || v.spec == nil {
		return y, nil
	}
	t := y.(*builtins.Tensor).T
	return asFlat(x).label(fn, t, t.RequiresGrad())
}

// FlatStored returns how x lies on the ranks of the job, and what this one stores,
// for the function fn; nil if x is no flat tensor that is sharded.
func FlatStored(x *builtins.Tensor, fn string) (*mesh.Flat, *tensor.Tensor, error) {
	v := flatOf(x)
	if v == nil || v.whole != nil {
		return nil, nil, nil
	}
	if err := v.mustBeKnown(fn); err != nil {
		return nil, nil, err
	}
	if v.partOf != nil && v.partOf.layout != nil {
		return nil, nil, &op.ArgError{Func: fn, Got: "a part of a block of a distributed parameter " + mesh.Tuple(v.partOf.layout.Shape()), Want: "the module's state_dict()", Rule: "fully_shard has cut it"}
	}
	var ranges [][]mesh.Range
	for _, member := range v.spec.f.Ranks() {
		ranges = append(ranges, v.spec.f.Ranges(member))
	}
	l, err := mesh.NewFlat(v.spec.f.Shape(), v.group.Ranks(), ranges)
	if err != nil {
		panic(fmt.Sprintf("builtins: a spec that was checked: %v", err))
	}
	return l, v.local, nil
}

// Format returns what a script sees of x: its state, and its elements.
func (v *flatView) Format(x *builtins.Tensor, _ *tensor.Tensor) string {
	text := v.Type() + "(local_tensor=None"
	if v.local != nil {
		text = v.Type() + "(local_tensor=" + builtins.FormatTensor(x.Env, v.local)
	}
	if v.whole != nil {
		text += ", global_tensor=" + builtins.FormatTensor(x.Env, v.whole)
	}
	if v.param {
		text += ", requires_grad=" + starlark.Bool(x.T.RequiresGrad()).String()
	}
	return text + ")"
}

// Freeze makes x read-only.
func (v *flatView) Freeze(*builtins.Tensor) error {
	v.frozen = true
	for _, t := range []*tensor.Tensor{v.local, v.whole} {
		if t != nil && t.Buffer() != nil {
			t.Buffer().Freeze()
		}
	}
	return nil
}
