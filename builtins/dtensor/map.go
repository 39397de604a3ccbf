package dtensor

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	builtins.Register(&builtins.Row{Name: "local_map", Fn: localMap,
		Doc: "local_map(fn, in_placements, out_placements, mesh=None) returns a function of distributed tensors that runs fn on their blocks.\n" +
			"in_placements is a tuple with one list of placements for each argument, None for one that is no tensor;\n" +
			"arguments that lie otherwise are redistributed. out_placements is one list, or a tuple of lists for several results,\n" +
			"and says how what fn returns lies. mesh None is that of the first distributed argument.\n" +
			"Inside fn tensors are plain and communication is allowed. Gradients go through: where a block is replicated,\n" +
			"the ranks' gradients of it are added. JAX calls this shard_map.\n" +
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
	out    []placements
	single bool // out was one list
	mesh   *mesh.Mesh
}

func localMap(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		fn      arg.Callable
		in, out starlark.Value
		m       optMesh
		l       = &mapped{e: e}
		err     error
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "fn", &fn, "in_placements", &in, "out_placements", &out, "mesh|device_mesh?", &m); err != nil {
		return nil, err
	}
	l.fn = fn.Fn
	if m.Set {
		l.mesh = m.V.Mesh()
	}
	if l.in, _, err = placementLists(b.Name(), "in_placements", in); err != nil {
		return nil, err
	}
	results, single, err := placementLists(b.Name(), "out_placements", out)
	if err != nil {
		return nil, err
	}
	l.single = single
	for i, p := range results {
		if !p.Set {
			return nil, &op.ArgError{Func: b.Name(), Param: "out_placements", Got: fmt.Sprintf("None at index %d", i), Want: "a list of placements"}
		}
		l.out = append(l.out, p.V)
	}
	return starlark.NewBuiltin(fn.Fn.Name(), l.call), nil
}

// placementLists returns v, a tuple or list of lists of placements or None, or
// one list of placements.
func placementLists(fn, param string, v starlark.Value) (lists []optPlacements, single bool, err error) {
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
	if len(args) != len(l.in) {
		return nil, &op.ArgError{Func: name, Got: builtins.CountWord(len(args), "argument"), Want: builtins.CountWord(len(l.in), "argument"), Rule: "local_map was given placements of so many"}
	}
	m := l.mesh
	for _, v := range args {
		if x, ok := v.(*builtins.Tensor); ok && m == nil && x.Placed() {
			m = x.T.Layout().Mesh()
		}
	}
	if m == nil {
		return nil, &op.ArgError{Func: name, Got: "no distributed tensor", Want: "one among the arguments, or mesh= of local_map"}
	}
	blocks, even := make(starlark.Tuple, len(args)), true
	for i, v := range args {
		block, fair, err := l.block(name, m, i, v)
		if err != nil {
			return nil, err
		}
		blocks[i], even = block, even && fair
	}
	v, err := starlark.Call(l.e.Thread, l.fn, blocks, kwargs)
	if err != nil {
		return nil, err
	}
	return l.join(name, m, v, even)
}

// block returns the rank's block of argument i, and whether all ranks' blocks of
// it are of one size.
func (l *mapped) block(name string, m *mesh.Mesh, i int, v starlark.Value) (block starlark.Value, even bool, err error) {
	if !l.in[i].Set {
		return v, true, nil
	}
	x, ok := v.(*builtins.Tensor)
	if !ok {
		return nil, false, &op.ArgError{Func: name, Got: fmt.Sprintf("%s as argument %d", arg.Show(v), i), Want: "a tensor", Rule: "None in in_placements stands for what is no tensor"}
	}
	t, err := x.Tensor()
	if err != nil {
		return nil, false, err
	}
	lay, err := layoutArgs(l.e, name, m, t.Shape(), l.in[i])
	if err != nil {
		return nil, false, err
	}
	y, err := l.e.Runtime.Shard.Blocks(name, t, lay)
	if err != nil {
		return nil, false, err
	}
	return l.e.Wrap(y), evenly(lay), nil
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
// tensors. If the arguments' blocks were of one size, so are the results'.
func (l *mapped) join(name string, m *mesh.Mesh, v starlark.Value, even bool) (starlark.Value, error) {
	list, _, err := builtins.ResultsOf(name, v)
	if err != nil {
		return nil, err
	}
	if len(list) != len(l.out) {
		return nil, &op.ArgError{Func: name, Got: builtins.CountWord(len(list), "result"), Want: builtins.CountWord(len(l.out), "result"), Rule: "out_placements of local_map are so many"}
	}
	out := make(starlark.Tuple, len(list))
	for i, t := range list {
		if err := builtins.PlainOnly(name, "", t); err != nil {
			return nil, err
		}
		p := optPlacements{V: l.out[i], Set: true}
		s, err := sizeOfParts(name, m, t.Shape(), p)
		if err == nil && !even {
			s, err = l.joined(name, m, t.Shape(), l.out[i])
		}
		if err != nil {
			return nil, err
		}
		lay, err := layoutArgs(l.e, name, m, s, p)
		if err != nil {
			return nil, err
		}
		y, err := l.e.Runtime.Shard.FromAlike(t, lay)
		if err != nil {
			return nil, op.Rename(name, err)
		}
		out[i] = l.e.Wrap(y)
	}
	if l.single && len(out) == 1 {
		return out[0], nil
	}
	return out, nil
}

// joined is sizeOfParts of blocks that differ.
func (l *mapped) joined(name string, m *mesh.Mesh, s shape.Shape, p placements) (shape.Shape, error) {
	list, err := mesh.Normalize(p, s)
	if err != nil {
		return nil, OfMesh(name, err)
	}
	if !l.e.Runtime.Member(m) {
		return s, nil
	}
	return l.e.Runtime.Shard.Joined(name, m, s, list)
}

// A customOp is an operator that register_op made.
type customOp struct {
	e     *builtins.Env
	def   *op.Def
	plain starlark.Callable // on plain tensors
	ins   []string          // the letters of each input
	out   string            // and of the result
}

func registerOp(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		name     arg.String
		fn       arg.Callable
		sharding arg.String
		back     arg.OptCallable
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "name", &name, "fn", &fn, "sharding", &sharding, "vjp?", &back); err != nil {
		return nil, err
	}
	c := &customOp{e: e, plain: fn.Fn}
	if err := c.parse(b.Name(), string(sharding)); err != nil {
		return nil, err
	}
	if back.Set {
		c.plain = (&customOpVJP{e, fn.Fn, back.V.Fn}).function(string(name))
	}
	c.def = c.define(string(name))
	return starlark.NewBuiltin(string(name), c.call), nil
}

// parse reads "mk,kn->mn".
func (c *customOp) parse(fn, s string) error {
	bad := func(rule string) error {
		return &op.ArgError{Func: fn, Param: "sharding", Got: fmt.Sprintf("%q", s), Want: `letters for each input and the result, as "mk,kn->mn"`, Rule: rule}
	}
	left, right, ok := strings.Cut(strings.ReplaceAll(s, " ", ""), "->")
	if !ok {
		return bad("there is no ->")
	}
	c.ins, c.out = strings.Split(left, ","), right
	for _, term := range append(slices.Clone(c.ins), c.out) {
		for i, r := range term {
			switch {
			case r < 'A' || r > 'z' || r > 'Z' && r < 'a':
				return bad(fmt.Sprintf("%q is no letter", r))
			case strings.ContainsRune(term[:i], r):
				return bad(fmt.Sprintf("%q is twice in %s", r, term))
			case !strings.ContainsRune(left, r):
				return bad(fmt.Sprintf("%q is in no input", r))
			}
		}
	}
	return nil
}

// define returns the operator as the engine of placed tensors sees it: shapes
// and a rule, no kernel.
func (c *customOp) define(name string) *op.Def {
	d := &op.Def{Name: name, Infer: c.infer, Shard: c.rule}
	for i := range c.ins {
		d.Params = append(d.Params, op.Param{Name: fmt.Sprintf("inputs[%d]", i), Kind: op.Tensor})
	}
	return d
}

// infer gives the result its shape: each letter stands for one size.
func (c *customOp) infer(call *op.Call) error {
	sizes := map[rune]int{}
	for i, x := range call.In {
		if x.Ndim() != len(c.ins[i]) {
			return call.Bad(call.InName(i), op.Describe(x), builtins.CountWord(len(c.ins[i]), "dim"), "its letters are "+c.ins[i])
		}
		for d, r := range c.ins[i] {
			n := x.Shape()[d]
			if before, ok := sizes[r]; ok && before != n {
				return call.Bad(call.InName(i), op.Describe(x), fmt.Sprintf("size %d in dim %d", before, d), fmt.Sprintf("another dim is called %q, too", r))
			}
			sizes[r] = n
		}
	}
	s := shape.Shape{}
	for _, r := range c.out {
		s = append(s, sizes[r])
	}
	return call.Result(call.In[0].DType(), s)
}

// rule lets each letter be cut wherever it occurs.
func (c *customOp) rule(*op.Call) []op.Row {
	var rows []op.Row
	var seen string
	for _, r := range strings.Join(c.ins, "") {
		if strings.ContainsRune(seen, r) {
			continue
		}
		seen += string(r)
		row := op.Row{Out: []mesh.Placement{mesh.Partial(mesh.Sum)}}
		for _, term := range c.ins {
			p := mesh.Replicate()
			if d := strings.IndexRune(term, r); d >= 0 {
				p = mesh.Shard(d)
			}
			row.In = append(row.In, p)
		}
		if d := strings.IndexRune(c.out, r); d >= 0 {
			row.Out[0] = mesh.Shard(d)
		}
		rows = append(rows, row)
	}
	return rows
}

// call carries out a call of the operator.
func (c *customOp) call(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	name := b.Name()
	if len(kwargs) > 0 {
		return nil, arg.Unexpected(name, string(kwargs[0][0].(starlark.String)), nil)
	}
	if len(args) != len(c.ins) {
		return nil, &op.ArgError{Func: name, Got: builtins.CountWord(len(args), "argument"), Want: builtins.CountWord(len(c.ins), "argument"), Rule: "its sharding names so many"}
	}
	in, placed := make([]*tensor.Tensor, len(args)), false
	for i, v := range args {
		t, err := builtins.ToTensor(v)
		if err != nil {
			return nil, arg.In(name, fmt.Sprintf("inputs[%d]", i), err)
		}
		in[i], placed = t, placed || t.Placed()
	}
	if !placed {
		return starlark.Call(c.e.Thread, c.plain, args, nil)
	}
	run := func(in []*tensor.Tensor) (*tensor.Tensor, error) { return c.onBlocks(name, in) }
	if l := builtins.LensAmong(in); l != nil {
		y, err := l.Meet(c.e, c.def, in, run)
		if err != nil {
			return nil, err
		}
		return c.e.Wrap(y), nil
	}
	y, err := run(in)
	if err != nil {
		return nil, err
	}
	return c.e.Wrap(y), nil
}

// onBlocks runs the operator on the blocks of in.
func (c *customOp) onBlocks(name string, in []*tensor.Tensor) (*tensor.Tensor, error) {
	shards := c.e.Runtime.Shard
	in, out, err := shards.Fit(c.def, in)
	if err != nil {
		return nil, err
	}
	blocks := make(starlark.Tuple, len(in))
	for i, x := range in {
		l := x.Layout()
		back := shards.GradLayout(l)
		if !allReplicated(out[0]) {
			back = c.backLayout(x.Layout(), in, out[0])
		}
		y, err := shards.ToLocal(x, back)
		if err != nil {
			return nil, err
		}
		blocks[i] = c.e.Wrap(y)
	}
	if !c.e.Runtime.Member(out[0].Mesh()) {
		return shards.Outside(out[0], in[0].DType())
	}
	v, err := starlark.Call(c.e.Thread, c.plain, blocks, nil)
	if err != nil {
		return nil, err
	}
	t, err := builtins.ToTensor(v)
	if err != nil {
		return nil, &op.ArgError{Func: name, Got: "a result of fn that is " + arg.Show(v), Want: "a plain tensor"}
	}
	y, err := shards.FromLocal(t, out[0])
	if err != nil {
		return nil, &op.ArgError{Func: name, Got: "a result of fn that is " + op.Describe(t), Want: fmt.Sprintf("shape %v", shape.Shape(out[0].LocalShape(c.e.Runtime.Self()))), Rule: "the block of the result that sharding gives this rank"}
	}
	return y, shards.VerifyBlocks(name, in, y, c.onWhole)
}

// onWhole runs the operator on plain tensors, for comparison with blocks.
func (c *customOp) onWhole(in []*tensor.Tensor) (*tensor.Tensor, error) {
	args := make(starlark.Tuple, len(in))
	for i, x := range in {
		args[i] = c.e.Wrap(x)
	}
	v, err := starlark.Call(c.e.Thread, c.plain, args, nil)
	if err != nil {
		return nil, err
	}
	return builtins.ToTensor(v)
}

func allReplicated(l *mesh.Placed) bool {
	return !slices.ContainsFunc(l.Placements(), func(p mesh.Placement) bool { return !p.IsReplicate() })
}

// backLayout returns how the gradient of an input lies that lies as l: where it is
// replicated and the result is not, each rank has a summand of it.
func (c *customOp) backLayout(l *mesh.Placed, in []*tensor.Tensor, out *mesh.Placed) *mesh.Placed {
	shards := c.e.Runtime.Shard
	placements := slices.Clone(shards.GradLayout(l).Placements())
	for i, p := range l.Placements() {
		split := !out.Placements()[i].IsReplicate()
		for _, x := range in {
			split = split || !x.Layout().Placements()[i].IsReplicate()
		}
		if p.IsReplicate() && split {
			placements[i] = mesh.Partial(mesh.Sum)
		}
	}
	back, err := c.e.Runtime.Layouts().Place(l.Mesh(), l.Shape(), placements)
	if err != nil {
		panic(err) // l is a layout of that shape on that mesh
	}
	return back
}

// A customOpVJP is fn with the gradient that vjp gives.
type customOpVJP struct {
	e        *builtins.Env
	fn, back starlark.Callable
}

// function returns fn with its gradient, as a function.
func (c *customOpVJP) function(name string) *starlark.Builtin {
	forward := starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		out, err := starlark.Call(c.e.Thread, c.fn, args, nil)
		return starlark.Tuple{out, starlark.Tuple{args, out}}, err
	})
	backward := starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		saved := args[0].(starlark.Tuple)
		return starlark.Call(c.e.Thread, c.back, starlark.Tuple{saved[0], saved[1], args[1]}, nil)
	})
	return builtins.NewVJP(c.e, name, forward, backward)
}
