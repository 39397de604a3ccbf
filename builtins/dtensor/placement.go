package dtensor

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/collective"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shard"
)

// A Placement is a placement as scripts have it: Replicate(), Shard(0) or
// Partial("sum"). Those of one rank compare with ==.
type Placement struct {
	env *builtins.Env
	p   mesh.Placement
}

var (
	_ starlark.HasAttrs = Placement{}
	_ arg.Described     = Placement{}
)

// Placement returns the placement that p stands for.
func (p Placement) Placement() mesh.Placement { return p.p }

func (p Placement) String() string        { return p.p.Script() }
func (p Placement) Describe() string      { return p.p.Script() }
func (p Placement) Freeze()               {} // it cannot be changed
func (p Placement) Truth() starlark.Bool  { return true }
func (p Placement) Hash() (uint32, error) { return starlark.String(p.p.Script()).Hash() }
func (p Placement) AttrNames() []string   { return builtins.AttrNames(p.Type()) }
func (p Placement) Attr(name string) (starlark.Value, error) {
	return p.env.Attr(p.Type(), p, name)
}

// Type returns the name of the function that makes such placements.
func (p Placement) Type() string { return p.p.Kind() }

// placement returns p as scripts have it.
func placement(e *builtins.Env, p mesh.Placement) Placement { return Placement{e, p} }

// placementTuple returns placements as scripts have them.
func placementTuple(e *builtins.Env, list []mesh.Placement) starlark.Tuple {
	tuple := make(starlark.Tuple, len(list))
	for i, p := range list {
		tuple[i] = placement(e, p)
	}
	return tuple
}

// onePlacement is an argument that is a placement.
type onePlacement struct{ p mesh.Placement }

// Unpack implements starlark.Unpacker.
func (p *onePlacement) Unpack(v starlark.Value) error {
	x, ok := v.(Placement)
	if !ok {
		return arg.Bad(v, "a placement", "Replicate(), Shard(dim) or Partial(op)")
	}
	p.p = x.p
	return nil
}

// placements is an argument that is a placement, a list or tuple of placements, or a Spec.
type placements struct {
	list []mesh.Placement
	spec Spec // instead of list
}

// only returns placements that are a list.
func only(list ...mesh.Placement) placements { return placements{list: list} }

// on returns the placements on m of a tensor of ndim dims.
func (p placements) on(m *mesh.Mesh, ndim int) ([]mesh.Placement, error) {
	if p.spec != nil {
		return p.spec.On(m, ndim)
	}
	return p.list, nil
}

// Unpack implements starlark.Unpacker.
func (p *placements) Unpack(v starlark.Value) error {
	if one, ok := v.(Placement); ok {
		*p = only(one.p)
		return nil
	}
	if s, ok := v.(Spec); ok {
		*p = placements{spec: s}
		return nil
	}
	var list arg.List
	if err := list.Unpack(v); err != nil {
		return arg.Bad(v, "a list of placements", "Replicate(), Shard(dim), Partial(op)")
	}
	p.list, p.spec = make([]mesh.Placement, len(list)), nil
	for i, item := range list {
		one, ok := item.(Placement)
		if !ok {
			return arg.BadItem(item, i, "a placement: Replicate(), Shard(dim) or Partial(op)")
		}
		p.list[i] = one.p
	}
	return nil
}

// A Spec is a value that stands for a list of placements, as JAX's P("dp", None) does.
type Spec interface {
	starlark.Value
	// On returns the placements on m of a tensor of ndim dims, or AnyDims.
	On(m *mesh.Mesh, ndim int) ([]mesh.Placement, error)
	// Mesh returns the mesh that is meant where no other is given, nil if there is none, and
	// whether the Spec is for it alone.
	Mesh() (m *mesh.Mesh, alone bool)
}

// AnyDims is the number of dims of a tensor of which nothing is known.
const AnyDims = -1

// optPlacements is an argument that is placements or None; Set tells which.
type optPlacements = arg.Opt[placements, *placements]

// ofParam is shard.OfMesh of an error about placements, which are the argument called
// param.
func ofParam(fn, param string, err error) error {
	err = shard.OfMesh(fn, err)
	var bad *op.ArgError
	if errors.As(err, &bad) && bad.Param == "placements" {
		bad.Param = param
	}
	return err
}

func init() {
	builtins.Register(&builtins.Row{
		Name: "Replicate",
		Doc: "Replicate() returns the placement of ranks that hold the same data along a mesh dim.\n" +
			">>> Replicate() == Replicate()\nTrue",
		Fn: func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return placement(e, mesh.Replicate()), arg.Unpack(b.Name(), args, kwargs)
		},
	}, &builtins.Row{
		Name: "Shard",
		Doc: "Shard(dim) returns the placement of ranks that hold blocks of a tensor's dim along a mesh dim.\n" +
			"The blocks are of ceil(n/parts) elements, the last ones shorter or empty. A negative dim counts from the back.\n" +
			"Several mesh dims may cut one dim of a tensor: each cuts what those before it have left.\n" +
			">>> Shard(0)\nShard(0)",
		Fn: newShard,
	}, &builtins.Row{
		Name: "_StridedShard",
		Doc: "_StridedShard(dim, split_factor=1) returns the placement of ranks that hold blocks of a tensor's dim along a mesh dim, where later mesh dims cut it first.\n" +
			"split_factor is into how many parts those do: the product of their sizes; sf is another name of it. With 1 it is Shard(dim).\n" +
			"On a mesh (dp=2, tp=4) the placements [_StridedShard(0, split_factor=4), Shard(0)] have tp cut dim 0, and dp what tp has left: tensor parallelism, and in it fully_shard.\n" +
			"An operator keeps the order in which an operand is cut, if the others are cut in it, too, or not twice; else it moves one.\n" +
			">>> _StridedShard(0, split_factor=2)\n_StridedShard(0, split_factor=2)\n>>> _StridedShard(0, split_factor=1)\nShard(0)",
		Fn: newStridedShard,
	}, &builtins.Row{
		Name: "_StridedShard.dim",
		Doc:  "dim is the dim of a tensor that is cut.\n>>> _StridedShard(-1, split_factor=2).dim\n-1",
		Get:  dimOf,
	}, &builtins.Row{
		Name: "_StridedShard.split_factor",
		Doc:  "split_factor is into how many parts later mesh dims cut the dim first.\n>>> _StridedShard(0, split_factor=2).split_factor\n2",
		Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
			factor, _ := x.(Placement).p.SplitFactor()
			return starlark.MakeInt(factor), nil
		},
	}, &builtins.Row{
		Name: "RaggedShard",
		Doc: "RaggedShard(dims, local_units) returns the placement of ranks that hold blocks of unlike sizes of a tensor's dim along a mesh dim, in proportion to local_units, of which there is one for each of them.\n" +
			"dims is an int, a tuple of one, or (0, 1, ...): leading dims are cut as one, in row-major order. Blocks are of whole rows: the dim must be a multiple of the sum of the units, divided by what they have in common.\n" +
			"An operator keeps it where it works on blocks as on the whole, of which all are cut alike; else it moves what is cut so to equal blocks.\n" +
			">>> RaggedShard((0,), (1, 3))\nRaggedShard(dims=(0,), local_units=(1, 3))\n>>> RaggedShard((0,), (1, 3)).local_units\n(1, 3)",
		Fn: newRaggedShard,
	}, &builtins.Row{
		Name: "RaggedShard.dims",
		Doc:  "dims is the dim of a tensor that is cut, or the leading ones that are cut as one.\n>>> RaggedShard(0, (1, 3)).dims\n(0,)",
		Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
			dims, _, _ := x.(Placement).p.Units()
			return builtins.ShapeTuple(dims), nil
		},
	}, &builtins.Row{
		Name: "RaggedShard.local_units",
		Doc:  "local_units is how many units each rank along the mesh dim holds.\n>>> RaggedShard(0, (1, 3)).local_units\n(1, 3)",
		Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
			_, units, _ := x.(Placement).p.Units()
			return builtins.ShapeTuple(units), nil
		},
	}, &builtins.Row{
		Name: "Partial",
		Doc: "Partial(op=\"sum\") returns the placement of ranks that hold summands along a mesh dim: op over them gives the value.\n" +
			"op is \"sum\", \"mean\", \"prod\", \"max\" or \"min\", or one of ReduceOp. _Partial is another name of the function.\n" +
			">>> Partial()\nPartial(\"sum\")",
		Fn: newPartial,
	}, &builtins.Row{
		Name: "_Partial",
		Doc: "_Partial(op=\"sum\") returns Partial(op), in PyTorch's older spelling.\n" +
			">>> _Partial() == Partial()\nTrue",
		Fn: newPartial,
	}, &builtins.Row{
		Name: "Shard.dim",
		Doc:  "dim is the dim of a tensor that is cut.\n>>> Shard(-1).dim\n-1",
		Get:  dimOf,
	}, &builtins.Row{
		Name: "Partial.reduce_op",
		Doc:  "reduce_op is the operation that makes the value of the summands, as text.\n>>> Partial(\"max\").reduce_op\n\"max\"",
		Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
			op, _ := x.(Placement).p.Partial()
			return starlark.String(op.String()), nil
		},
	})
	for _, p := range mesh.PlacementKinds() {
		registerKinds(p.Kind(), p.Script())
	}
}

// registerKinds adds the methods of the placements of one kind that ask which
// kind it is; example is one.
func registerKinds(owner, example string) {
	builtins.Register(&builtins.Row{
		Name: owner + ".is_replicate",
		MakeDoc: func() string {
			return fmt.Sprintf("is_replicate() returns whether the placement is Replicate.\n>>> %s.is_replicate()\n%s", example, builtins.PyBool(owner == "Replicate"))
		},
		Fn: kindMethod(func(p mesh.Placement) bool { return p.IsReplicate() }),
	}, &builtins.Row{
		Name: owner + ".is_partial",
		MakeDoc: func() string {
			return fmt.Sprintf("is_partial(reduce_op=None) returns whether the placement is Partial, if reduce_op is given: of that reduction.\n>>> %s.is_partial(), %s.is_partial(\"max\")\n(%s, False)",
				example, example, builtins.PyBool(owner == "Partial"))
		},
		Fn: isPartial,
	}, &builtins.Row{
		Name: owner + ".is_shard",
		MakeDoc: func() string {
			return fmt.Sprintf("is_shard(dim=None) returns whether the placement is Shard, if dim is given: of that dim.\n>>> %s.is_shard(), %s.is_shard(dim=1)\n(%s, False)",
				example, example, builtins.PyBool(owner == "Shard"))
		},
		Fn: isShard,
	})
}

// kindMethod returns a method of placements that takes no arguments.
func kindMethod(is func(p mesh.Placement) bool) builtins.Function {
	return func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return starlark.Bool(is(b.Receiver().(Placement).p)), arg.Unpack(b.Name(), args, kwargs)
	}
}

func isPartial(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var reduce arg.Opt[reduceOpArg, *reduceOpArg]
	if err := arg.Unpack(b.Name(), args, kwargs, "reduce_op?", &reduce); err != nil {
		return nil, err
	}
	op, ok := b.Receiver().(Placement).p.Partial()
	if !ok || !reduce.Set {
		return starlark.Bool(ok), nil
	}
	want, err := mesh.ParseReduceOp(string(reduce.V))
	return starlark.Bool(op == want), shard.OfMesh(b.Name(), err)
}

func isShard(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var dim arg.OptInt
	if err := arg.Unpack(b.Name(), args, kwargs, "dim?", &dim); err != nil {
		return nil, err
	}
	p := b.Receiver().(Placement).p
	d, ok := p.Shard()
	return starlark.Bool(ok && p == mesh.Shard(d) && (!dim.Set || d == int(dim.V))), nil
}

// dimOf returns the dim that a placement cuts.
func dimOf(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
	dim, _ := x.(Placement).p.Shard()
	return starlark.MakeInt(dim), nil
}

func newShard(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var dim arg.Int
	if err := arg.Unpack(b.Name(), args, kwargs, "dim", &dim); err != nil {
		return nil, err
	}
	return placement(e, mesh.Shard(int(dim))), nil
}

func newStridedShard(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var dim arg.Int
	factor := arg.Int(1)
	if err := arg.Unpack(b.Name(), args, kwargs, "dim", &dim, "split_factor|sf?", &factor); err != nil {
		return nil, err
	}
	if factor < 1 {
		return nil, &op.ArgError{Func: b.Name(), Param: "split_factor", Got: fmt.Sprint(int(factor)), Want: "a positive int", Rule: "it is into how many parts later dims of the mesh cut the dim first"}
	}
	return placement(e, mesh.StridedShard(int(dim), int(factor))), nil
}

func newRaggedShard(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		dims  intsOrOne
		units IntsArg
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "dims", &dims, "local_units", &units); err != nil {
		return nil, err
	}
	p, err := mesh.RaggedShard(dims, units)
	if err != nil {
		return nil, shard.OfMesh(b.Name(), err)
	}
	return placement(e, p), nil
}

func newPartial(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	reduce := reduceOpArg("sum")
	if err := arg.Unpack(b.Name(), args, kwargs, "op|reduce_op?", &reduce); err != nil {
		return nil, err
	}
	op, err := mesh.ParseReduceOp(string(reduce))
	if err != nil {
		return nil, shard.OfMesh(b.Name(), err)
	}
	return placement(e, mesh.Partial(op)), nil
}

// intsOrOne is an argument that is an int, or a list or tuple of ints.
type intsOrOne []int

// Unpack implements starlark.Unpacker.
func (p *intsOrOne) Unpack(v starlark.Value) (err error) {
	*p, err = arg.ToInts(v)
	return err
}

// reduceOpArg is an argument that names a reduction.
type reduceOpArg string

// Unpack implements starlark.Unpacker.
func (p *reduceOpArg) Unpack(v starlark.Value) error {
	name, err := collective.ToReduceOp(v)
	if err == nil {
		_, err = mesh.ParseReduceOp(name)
	}
	if err != nil {
		return arg.Bad(v, `one of "sum", "mean", "prod", "max", "min"`, "")
	}
	*p = reduceOpArg(name)
	return nil
}
