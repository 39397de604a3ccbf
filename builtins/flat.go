package builtins

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
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
	param  bool // a ShardedFlatParameter
	spec   *FlatShardingSpec
	pg     starlark.Value // the group, as a script gave it; nil for the world
	group  *runtime.Group // nil until spec is known
	local  *tensor.Tensor // this rank's data, [n]; nil for a parameter without
	whole  *tensor.Tensor // nil while sharded
	frozen bool

	of *shardPart // what fully_shard made it a part of; else nil
}

// name returns the type of tensors seen through v.
func (v *flatView) name() string {
	if v.param {
		return "ShardedFlatParameter"
	}
	return "ShardedFlatTensor"
}

// flatKnown returns an error of fn unless the spec of x is known.
func (x *Tensor) flatKnown(fn string) error {
	if x.flat.spec != nil {
		return nil
	}
	return &op.ArgError{Func: fn, Got: "a " + x.flat.name() + " without a sharding spec", Want: "one with", Rule: x.flat.name() + ".shard(...) and mark_as_sharded(spec) give it"}
}

// flatMayChange returns an error of fn if x is frozen.
func (x *Tensor) flatMayChange(fn string) error {
	if !x.flat.frozen {
		return nil
	}
	return &op.ArgError{Func: fn, Got: "a frozen " + x.flat.name(), Want: "one that may be changed", Rule: "it belongs to a loaded file: build it in a function"}
}

// newFlat returns the flat tensor seen through v whose data on this rank is t, a
// leaf of its own on the storage of t.
func (e *Env) newFlat(fn string, v *flatView, t *tensor.Tensor, requires bool) (*Tensor, error) {
	x := &Tensor{env: e, flat: v, parameter: v.param}
	if t != nil {
		v.local = t.Detach()
	}
	if err := x.flatShow(); err != nil {
		return nil, err
	}
	if requires {
		return x, require(fn, x.t)
	}
	return x, nil
}

// flatShow makes the whole what x stands for, or else this rank's data.
func (x *Tensor) flatShow() error {
	switch v := x.flat; {
	case v.whole != nil:
		x.t = v.whole
	case v.local != nil:
		x.t = v.local
	default:
		none, err := tensor.New(x.env.rank.Ops().Alloc, x.env.rank.Ops().Float, shape.Shape{0})
		x.t = none
		return err
	}
	return nil
}

// flatAttach makes t the whole of x, on its storage. Whole and data are one leaf.
func (x *Tensor) flatAttach(t *tensor.Tensor) {
	from := x.flat.local
	if from.Auto == nil || !grad.IsLeaf(from) {
		from.Auto = &tensor.Auto{Requires: from.RequiresGrad()}
	}
	x.flat.whole = t.Detach()
	x.flat.whole.Auto = from.Auto
	x.t = x.flat.whole
}

// flatReplace makes t this rank's data of x.
func (x *Tensor) flatReplace(t *tensor.Tensor) {
	leaf := x.t.Auto
	if !grad.IsLeaf(x.t) {
		leaf = &tensor.Auto{Requires: true}
	}
	x.flat.local = t.Detach()
	x.flat.local.Auto = leaf
	if x.flat.whole == nil {
		x.t = x.flat.local
	}
}

// flatMark says how x lies in the group that pg stands for, nil for the world.
// param is the name under which fn was given the spec.
func (x *Tensor) flatMark(fn, param string, spec *FlatShardingSpec, pg starlark.Value) error {
	g, err := x.env.flatGroup(fn, pg)
	if err != nil {
		return err
	}
	if err := spec.fits(fn, param, g); err != nil {
		return err
	}
	n := 0
	if x.flat.local != nil {
		n = x.flat.local.Numel()
	}
	if want := spec.f.Numel(g.Rank()); n != want {
		return &op.ArgError{Func: fn, Param: param, Got: fmt.Sprintf("a spec with %s for this rank", countWord(want, "element")), Want: fmt.Sprint(n), Rule: "as many as it has"}
	}
	if x.flat.local == nil {
		x.flat.local = x.t
	}
	x.flat.spec, x.flat.pg, x.flat.group = spec, pg, g
	return nil
}

// flatGroup returns the group that pg, the argument process_group of fn, stands
// for: the world if pg is nil or None.
func (e *Env) flatGroup(fn string, pg starlark.Value) (*runtime.Group, error) {
	if pg == starlark.None {
		pg = nil
	}
	g, err := e.group(fn, pg)
	if bad, ok := err.(*op.ArgError); ok && bad.Param == "group" {
		bad.Param = "process_group"
	}
	return g, err
}

// fits returns an error of fn unless s, its argument called param, has ranges
// for each member of g.
func (s *FlatShardingSpec) fits(fn, param string, g *runtime.Group) error {
	if n := len(s.f.Ranks()); n != g.Size() {
		return &op.ArgError{Func: fn, Param: param, Got: "a spec of ranges for " + countWord(n, "rank"), Want: fmt.Sprint(g.Size()), Rule: "those of the group"}
	}
	return nil
}

// flatLabel returns t as a flat tensor with the spec, the group and the state of
// x: this rank's data while x is sharded, and else the whole.
func (x *Tensor) flatLabel(fn string, t *tensor.Tensor, requires bool) (*Tensor, error) {
	v := &flatView{spec: x.flat.spec, pg: x.flat.pg, group: x.flat.group}
	if x.flat.whole == nil {
		return x.env.newFlat(fn, v, t, requires)
	}
	part, err := x.env.flatPart(v, t.Detach(), true)
	if err != nil {
		return nil, err
	}
	y, err := x.env.newFlat(fn, v, part, requires)
	if err == nil {
		y.flatAttach(t)
	}
	return y, err
}

// flatPart returns what this rank stores of t, the whole, seen through v. With
// own it shares no storage with t.
func (e *Env) flatPart(v *flatView, t *tensor.Tensor, own bool) (*tensor.Tensor, error) {
	part, err := e.rank.Shard.FlatPart(v.spec.f, v.group.Rank(), t)
	if err != nil || !own || part.Buffer() != t.Buffer() || part.Buffer() == nil {
		return part, err
	}
	return e.rank.Do("clone", []*tensor.Tensor{part})
}

// flatCast returns t, which is data or the whole of x, in dtype dt, for fn.
func (x *Tensor) flatCast(fn string, t *tensor.Tensor, dt arg.OptDType) (*tensor.Tensor, error) {
	to := t.DType()
	if dt.Set {
		to = dt.V.D
	}
	if x.t.RequiresGrad() && !to.IsFloat() {
		return nil, &op.ArgError{Func: fn, Param: "dtype", Got: to.String() + " for a tensor that requires grad", Want: "a float dtype", Rule: "only floats have gradients"}
	}
	return x.env.to(t, to)
}

// to returns t in dtype dt.
func (e *Env) to(t *tensor.Tensor, dt dtype.DType) (*tensor.Tensor, error) {
	if t.DType() == dt {
		return t, nil
	}
	return e.rank.Do("to", []*tensor.Tensor{t}, op.Int1(int(dt)))
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

// flatLike returns y, which the operator called name has made of its first
// argument, as a flat tensor if that is one.
func flatLike(name string, y starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x *Tensor
	if len(args) > 0 {
		x, _ = args[0].(*Tensor)
	} else if len(kwargs) > 0 {
		x, _ = kwargs[0][1].(*Tensor)
	}
	if x == nil || x.flat == nil || x.flat.spec == nil {
		return y, nil
	}
	t := y.(*Tensor).t
	return x.flatLabel(name, t, t.RequiresGrad())
}

// flatLayout returns how x lies on the ranks of the job, and what this one
// stores; ok is false if x is no flat tensor with a spec.
func (x *Tensor) flatLayout() (l *mesh.Flat, local *tensor.Tensor, ok bool) {
	v := x.flat
	if v == nil || v.spec == nil {
		return nil, nil, false
	}
	var ranges [][]mesh.Range
	for _, member := range v.spec.f.Ranks() {
		ranges = append(ranges, v.spec.f.Ranges(member))
	}
	l, err := mesh.NewFlat(v.spec.f.Shape(), v.group.Ranks(), ranges)
	if err != nil {
		panic(fmt.Sprintf("builtins: a spec that was checked: %v", err))
	}
	return l, v.local, true
}

// formatFlat returns what a script sees of x: its state, and its elements.
func (x *Tensor) formatFlat() string {
	v := x.flat
	text := v.name() + "(local_tensor=None"
	if v.local != nil {
		text = v.name() + "(local_tensor=" + tensor.Format(v.local)
	}
	if v.whole != nil {
		text += ", global_tensor=" + tensor.Format(v.whole)
	}
	if v.param {
		text += ", requires_grad=" + starlark.Bool(x.t.RequiresGrad()).String()
	}
	return text + ")"
}

// flatFreeze makes x read-only.
func (x *Tensor) flatFreeze() {
	x.flat.frozen = true
	for _, t := range []*tensor.Tensor{x.flat.local, x.flat.whole} {
		if t != nil && t.Buffer() != nil {
			t.Buffer().Freeze()
		}
	}
}
