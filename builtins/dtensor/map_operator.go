package dtensor

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/units"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

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
			return call.Bad(call.InName(i), op.Describe(x), units.Count(len(c.ins[i]), "dim"), "its letters are "+c.ins[i])
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
		return nil, &op.ArgError{Func: name, Got: units.Count(len(args), "argument"), Want: units.Count(len(c.ins), "argument"), Rule: "its sharding names so many"}
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
