package dtensor

import (
	"errors"
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/units"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/shard"
	"tpsh/runtime/spmdtype"
	"tpsh/runtime/tensor"
	"tpsh/runtime/typing"
)

func init() {
	builtins.Register(&builtins.Row{Name: "local_map", Fn: localMap,
		Doc: "local_map(fn, in_placements=None, out_placements=None, mesh=None, in_grad_placements=None, redistribute_inputs=True) returns a function of distributed tensors that runs fn on their blocks.\n" +
			"in_placements is a tuple with one list of placements for each argument, None for one that is no tensor;\n" +
			"arguments that lie otherwise are redistributed, or an error if redistribute_inputs is False. in_placements None is for all as they lie.\n" +
			"out_placements, which must be given, is one list, or a tuple of lists for several results, and says how what fn returns lies; None,\n" +
			"and None in the tuple, are for what is returned as it is. mesh None is that of the first distributed argument.\n" +
			"Inside fn tensors are plain and communication is allowed. Gradients go through: where a block is replicated,\n" +
			"the ranks' gradients of it are added, so that in_grad_placements, which PyTorch asks for, may be given and changes nothing. JAX calls this shard_map.\n" +
			">>> mesh = DeviceMesh(\"cpu\", [0])\n>>> double = local_map(lambda x: x * 2, ([Shard(0)],), [Shard(0)], mesh)\n" +
			">>> double(distribute_tensor(ones(4), mesh, [Shard(0)])).sum().item()\n8.0"})
	builtins.Register(&builtins.Row{Name: "register_op", Fn: registerOp,
		Doc: "register_op(name, fn, sharding=\"mk,kn->mn\", vjp=None) returns an operator: a function of plain or distributed tensors that computes fn.\n" +
			"sharding gives each dim of the inputs and of the results a letter. A dim may be cut wherever its letter occurs; where\n" +
			"a letter is in no result, the results are summands. fn sees blocks, and must give the block of the result. Inputs\n" +
			"that do not fit are redistributed at the least cost. fn is differentiated; with vjp(inputs, output, grad), which\n" +
			"returns one gradient for each input, that is its gradient.\n" +
			">>> scale_rows = register_op(\"scale_rows\", lambda x, s: x * s.unsqueeze(1), sharding=\"mn,m->mn\")\n" +
			">>> scale_rows(ones(2, 2), tensor([1.0, 3.0])).tolist()\n[[1.0, 1.0], [3.0, 3.0]]"})
}

// A mapped is a function that local_map made.
type mapped struct {
	e      *builtins.Env
	fn     starlark.Callable
	in     []optPlacements // by argument
	laid   bool            // in place of in: arguments are taken as they lie
	out    []optPlacements // by result
	single bool            // out was one list
	bare   bool            // in place of out: what fn returns is returned as it is
	fixed  bool            // an argument that lies otherwise is an error
	mesh   *mesh.Mesh
	loose  bool // what ranks have alike, or as other blocks, may be blocks of a result
}

// A Mapping is one call of a function on blocks: between Blocks and Join it is called.
type Mapping struct {
	mapped
	name string
	even bool // all ranks' blocks of each argument are of one size
}

// Blocks returns this rank's blocks of args, of which in has the placements on m, nil for one that is no tensor, and the
// Mapping that joins what a function makes of them. Errors name it so.
func Blocks(e *builtins.Env, name string, m *mesh.Mesh, args starlark.Tuple, in [][]mesh.Placement) (starlark.Tuple, *Mapping, error) {
	l := &Mapping{mapped: mapped{e: e, mesh: m, loose: true}, name: name}
	for _, p := range in {
		l.in = append(l.in, optPlacements{V: only(p...), Set: p != nil})
	}
	blocks, even, err := l.blocks(name, m, args)
	l.even = even
	return blocks, l, err
}

// Join returns results, which the function has made of the blocks, as distributed tensors that lie as out says. As in JAX,
// all but summands may be the blocks of a result.
func (l *Mapping) Join(results []*tensor.Tensor, out [][]mesh.Placement) (starlark.Tuple, error) {
	for _, p := range out {
		l.out = append(l.out, optPlacements{V: only(p...), Set: true})
	}
	return l.join(l.name, l.mesh, results, l.even)
}

func localMap(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		fn             arg.Callable
		in, out, grads starlark.Value
		m              optMesh
		moves          = arg.Bool(true)
		l              = &mapped{e: e}
		err            error
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "fn|func", &fn, "in_placements?", &in, "out_placements?", &out, "mesh|device_mesh?", &m,
		"in_grad_placements?", &grads, "redistribute_inputs?", &moves); err != nil {
		return nil, err
	}
	if out == nil {
		return nil, arg.Missing(b.Name(), "out_placements")
	}
	l.fn, l.fixed = fn.Fn, !bool(moves)
	if m.Set {
		l.mesh = m.V.Mesh()
	}
	if l.laid = in == nil || in == starlark.None; !l.laid {
		if l.in, _, err = placementLists(b.Name(), "in_placements", in); err != nil {
			return nil, err
		}
	}
	if l.bare = out == starlark.None; !l.bare {
		if l.out, l.single, err = placementLists(b.Name(), "out_placements", out); err != nil {
			return nil, err
		}
	}
	if grads != nil && grads != starlark.None {
		if _, _, err := placementLists(b.Name(), "in_grad_placements", grads); err != nil {
			return nil, err
		}
	}
	return starlark.NewBuiltin(fn.Fn.Name(), l.call), nil
}

// placementLists returns v, a tuple or list of lists of placements or None, or
// one list of placements.
func placementLists(fn, param string, v starlark.Value) (lists []optPlacements, single bool, err error) {
	if s, ok := v.(Spec); ok {
		return []optPlacements{{V: placements{spec: s}, Set: true}}, true, nil
	}
	var one placements
	if seq, ok := v.(starlark.Sequence); ok && seq.Len() > 0 && one.Unpack(v) == nil {
		return []optPlacements{{V: one, Set: true}}, true, nil
	}
	var list arg.List
	if list.Unpack(v) != nil {
		return nil, false, &op.ArgError{Func: fn, Param: param, Got: arg.Show(v), Want: "a tuple of lists of placements"}
	}
	for i, item := range list {
		var p optPlacements
		if err := p.Unpack(item); err != nil {
			return nil, false, &op.ArgError{Func: fn, Param: param, Got: fmt.Sprintf("%s at index %d", arg.Show(item), i), Want: "a list of placements, or None"}
		}
		lists = append(lists, p)
	}
	return lists, false, nil
}

// call carries out a call of the function.
func (l *mapped) call(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	name := b.Name()
	if !l.laid && len(args) != len(l.in) {
		return nil, &op.ArgError{Func: name, Got: units.Count(len(args), "argument"), Want: units.Count(len(l.in), "argument"), Rule: "local_map was given placements of so many"}
	}
	m := l.mesh
	for _, v := range args {
		if x, ok := v.(*builtins.Tensor); ok && m == nil && x.Placed() {
			t, err := x.Tensor() // which may be under way
			if err != nil {
				return nil, err
			}
			m = t.Layout().Mesh()
		}
	}
	if m == nil {
		return nil, &op.ArgError{Func: name, Got: "no distributed tensor", Want: "one among the arguments, or mesh= of local_map"}
	}
	blocks, even, err := l.blocks(name, m, args)
	if err != nil {
		return nil, err
	}
	v, err := l.within(m, blocks, kwargs)
	if err != nil {
		return nil, err
	}
	if l.bare {
		return v, nil
	}
	list, others, err := l.results(name, v)
	if err != nil {
		return nil, err
	}
	out, err := l.join(name, m, list, even)
	if err != nil {
		return nil, err
	}
	for i, t := range list {
		if t == nil {
			out[i] = others[i]
		}
	}
	if l.single && len(out) == 1 {
		return out[0], nil
	}
	return out, nil
}

// results returns the tensors that the function has returned as v, nil for what is returned as it is, which others has.
func (l *mapped) results(name string, v starlark.Value) (list []*tensor.Tensor, others starlark.Tuple, err error) {
	if placed := !slices.ContainsFunc(l.out, func(p optPlacements) bool { return !p.Set }); placed {
		list, _, err = builtins.ResultsOf(name, v)
	} else {
		switch v := v.(type) {
		case starlark.Tuple:
			others = v
		case *starlark.List:
			others = slices.Collect(v.Elements())
		default:
			others = starlark.Tuple{v}
		}
		list = make([]*tensor.Tensor, len(others))
		for i, p := range l.out {
			if p.Set && i < len(others) && err == nil {
				list[i], err = resultOf(name, i, others[i])
			}
		}
	}
	if err == nil && len(list) != len(l.out) {
		err = &op.ArgError{Func: name, Got: units.Count(len(list), "result"), Want: units.Count(len(l.out), "result"), Rule: "local_map has that many out_placements"}
	}
	return list, others, err
}

// resultOf returns the tensor that is result i of a function.
func resultOf(name string, i int, v starlark.Value) (*tensor.Tensor, error) {
	x, ok := v.(*builtins.Tensor)
	if !ok {
		return nil, &op.ArgError{Func: name, Got: fmt.Sprintf("%s as result %d", arg.Show(v), i), Want: "a tensor", Rule: "None in out_placements stands for what is no tensor"}
	}
	return x.Tensor()
}

// within calls the function with axes those of m.
func (l *mapped) within(m *mesh.Mesh, blocks starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	defer Enter(l.e, DeviceMeshOf(l.e, m))()
	return starlark.Call(l.e.Thread, l.fn, blocks, kwargs)
}

// blocks returns the rank's blocks of the arguments, and whether those of all ranks are of one size.
func (l *mapped) blocks(name string, m *mesh.Mesh, args starlark.Tuple) (blocks starlark.Tuple, even bool, err error) {
	blocks, even = make(starlark.Tuple, len(args)), true
	for i, v := range args {
		block, fair, err := l.block(name, m, i, v)
		if err != nil {
			return nil, false, err
		}
		blocks[i], even = block, even && fair
	}
	return blocks, even, nil
}

// block returns the rank's block of argument i, and whether all ranks' blocks of
// it are of one size.
func (l *mapped) block(name string, m *mesh.Mesh, i int, v starlark.Value) (block starlark.Value, even bool, err error) {
	x, ok := v.(*builtins.Tensor)
	if l.laid && (!ok || !x.Placed()) || !l.laid && !l.in[i].Set {
		return v, true, nil
	}
	if !ok {
		return nil, false, &op.ArgError{Func: name, Got: fmt.Sprintf("%s as argument %d", arg.Show(v), i), Want: "a tensor", Rule: "None in in_placements stands for what is no tensor"}
	}
	t, err := x.Tensor()
	if err != nil {
		return nil, false, err
	}
	lay, err := l.wanted(name, m, i, t)
	if err != nil {
		return nil, false, err
	}
	y, err := l.e.Runtime.Shard.Blocks(name, t, lay)
	if err != nil {
		return nil, false, err
	}
	if l.e.Runtime.Typing() {
		y.SetTyped(blockMark(l.e, lay, l.loose))
	}
	return l.e.Wrap(y), evenly(lay), nil
}

// wanted returns how t, which is argument i, is to lie: on m, or on its own mesh if it lies on another
// and its placements are as many as that has dims.
func (l *mapped) wanted(name string, m *mesh.Mesh, i int, t *tensor.Tensor) (*mesh.Placed, error) {
	if l.laid {
		return t.Layout(), nil
	}
	if list := l.in[i].V.list; t.Placed() && list != nil && len(list) != m.NDim() && len(list) == t.Layout().Mesh().NDim() {
		m = t.Layout().Mesh()
	}
	lay, err := layoutArgs(l.e, name, m, t.Shape(), l.in[i])
	if err == nil && l.fixed && t.Placed() && t.Layout() != lay {
		err = &op.ArgError{Func: name, Got: fmt.Sprintf("%s as argument %d", shard.Describe(t), i), Want: mesh.List(lay.Placements()), Rule: "redistribute_inputs=False of local_map has none moved"}
	}
	return lay, err
}

// evenly reports whether the blocks of l are of one size.
func evenly(l *mesh.Placed) bool {
	first := l.LocalShape(l.Mesh().Ranks()[0])
	for _, r := range l.Mesh().Ranks() {
		if !slices.Equal(l.LocalShape(r), first) {
			return false
		}
	}
	return true
}

// join returns what the function has returned on the ranks as distributed
// tensors, nil for a tensor that is. If the arguments' blocks were of one size, so are the results'.
func (l *mapped) join(name string, m *mesh.Mesh, list []*tensor.Tensor, even bool) (starlark.Tuple, error) {
	out := make(starlark.Tuple, len(list))
	for i, t := range list {
		if t == nil {
			continue
		}
		if err := builtins.PlainOnly(name, "", t); err != nil {
			return nil, err
		}
		p := l.out[i]
		s, err := sizeOfParts(l.e, name, m, t.Shape(), p)
		if err == nil && !even {
			s, err = l.joined(name, m, t.Shape(), p.V)
		}
		if err != nil {
			return nil, err
		}
		lay, err := layoutArgs(l.e, name, m, s, p)
		if err != nil {
			return nil, err
		}
		if t, err = l.alike(name, i, t, lay); err != nil {
			return nil, err
		}
		y, err := l.e.Runtime.Shard.FromAlike(t, lay)
		if err != nil {
			return nil, op.Rename(name, err)
		}
		out[i] = l.e.Wrap(y)
	}
	return out, nil
}

// alike returns result i as FromAlike takes it: R where it is replicated, of which each rank has a
// share of the gradient. It is an error if it is known to be placed otherwise.
func (l *mapped) alike(name string, i int, t *tensor.Tensor, lay *mesh.Placed) (_ *tensor.Tensor, err error) {
	for dim, axis := range lay.Mesh().Names() {
		p := lay.Placements()[dim]
		had, want := t.Typed().Record().On(axis), typing.Of(p)
		if had.IsNone() || want.IsNone() {
			continue
		}
		if had == spmdtype.I && want == spmdtype.R {
			if t, err = l.become(t, lay, dim, "convert", had, want); err != nil {
				return nil, err
			}
			continue
		}
		if l.loose && want.Kind() == spmdtype.Varying && had != spmdtype.P {
			if had.Same() {
				if t, err = l.become(t, lay, dim, "reinterpret", had, spmdtype.V); err != nil {
					return nil, err
				}
			}
			continue
		}
		if err := misplaced(name, axis, t, had, want, p); err != nil {
			var bad *op.ArgError
			if errors.As(err, &bad) {
				bad.Got = fmt.Sprintf("result %d, %s of out_placements", i, bad.Got)
			}
			return nil, err
		}
	}
	return t, nil
}

// become returns t, of type src along dim of the mesh of lay, as dst, by the transition called fn.
func (l *mapped) become(t *tensor.Tensor, lay *mesh.Placed, dim int, fn string, src, dst spmdtype.Type) (*tensor.Tensor, error) {
	g, err := l.e.Runtime.LineGroup(lay.Mesh(), dim)
	if err != nil {
		return nil, err
	}
	tr, _ := spmdtype.Find(fn, src, dst)
	m := t.Typed()
	y, err := l.e.Runtime.Transit(g, tr, src, dst, t)
	if err != nil {
		return nil, err
	}
	y.SetTyped(&spmdtype.Mark{Types: m.Types.With(lay.Mesh().Names()[dim], dst), At: m.At})
	return y, nil
}

// joined is sizeOfParts of blocks that differ.
func (l *mapped) joined(name string, m *mesh.Mesh, s shape.Shape, p placements) (shape.Shape, error) {
	list, err := p.on(m, len(s))
	if err != nil {
		return nil, arg.In(name, "out_placements", err)
	}
	if list, err = mesh.Normalize(list, s); err != nil {
		return nil, shard.OfMesh(name, err)
	}
	if !l.e.Runtime.Member(m) {
		return s, nil
	}
	return l.e.Runtime.Shard.Joined(name, m, s, list)
}
