package jax

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/dtensor"
	"tpsh/builtins/spmd"
	"tpsh/internal/units"
	"tpsh/runtime"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/spmdtype"
	"tpsh/runtime/tensor"
)

// A laxCall is a call of a function of lax on a tensor.
type laxCall struct {
	e    *builtins.Env
	fn   string
	x    *tensor.Tensor
	axes []spmd.Axis
}

// begin reads the arguments x and axis_name, and those that more has.
func begin(e *builtins.Env, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple, more ...any) (*laxCall, error) {
	var x, name starlark.Value
	if err := arg.Unpack(b.Name(), args, kwargs, append([]any{"x", &x, "axis_name", &name}, more...)...); err != nil {
		return nil, err
	}
	return newLaxCall(e, b.Name(), x, name)
}

// newLaxCall returns the call of fn with the arguments x and axis_name.
func newLaxCall(e *builtins.Env, fn string, x, name starlark.Value) (*laxCall, error) {
	t, err := builtins.ToTensor(x)
	if err != nil {
		return nil, arg.In(fn, "x", err)
	}
	if err := builtins.PlainOnly(fn, "x", t); err != nil {
		return nil, err
	}
	axes, err := boundAxes(e, fn, name)
	return &laxCall{e, fn, t, axes}, err
}

// one returns the one axis of the call.
func (c *laxCall) one() (spmd.Axis, error) {
	if len(c.axes) != 1 {
		return spmd.Axis{}, &op.ArgError{Func: c.fn, Param: "axis_name", Got: units.Count(len(c.axes), "axis"), Want: "one"}
	}
	return c.axes[0], nil
}

// along returns the type of x along an axis, and what stands for it where there is none.
func along(x *tensor.Tensor, ax spmd.Axis, none spmdtype.Type) spmdtype.Type {
	if t := x.Typed().Record().On(ax.Name()); !t.IsNone() {
		return t
	}
	return none
}

// summand makes a P of x along an axis: what all ranks have alike is then summed as often as there are.
func (c *laxCall) summand(x *tensor.Tensor, ax spmd.Axis) (*tensor.Tensor, error) {
	t := along(x, ax, spmdtype.V)
	if t == spmdtype.P {
		return x, nil
	}
	if t.Kind() == spmdtype.Varying {
		t = spmdtype.V
	}
	return spmd.Transit(c.e, "spmd.reinterpret", ax, x, t, spmdtype.P)
}

// psum is the sum over the axes.
func (c *laxCall) psum() (y *tensor.Tensor, err error) {
	y = c.x
	for _, ax := range c.axes {
		if y, err = c.summand(y, ax); err != nil {
			return nil, err
		}
		if y, err = spmd.Transit(c.e, "spmd.all_reduce", ax, y, spmdtype.P, spmdtype.R); err != nil {
			return nil, arg.Rename(c.fn, err)
		}
	}
	return y, nil
}

// sizeOf returns how many ranks the axes have.
func sizeOf(axes []spmd.Axis) int {
	n := 1
	for _, ax := range axes {
		n *= ax.Group().Size()
	}
	return n
}

func psum(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x, name starlark.Value
	if err := arg.Unpack(b.Name(), args, kwargs, "x", &x, "axis_name", &name); err != nil {
		return nil, err
	}
	if isNumber(x) { // psum(1, "dp") is the size of the axis
		axes, err := boundAxes(e, b.Name(), name)
		if err != nil {
			return nil, err
		}
		return starlark.Binary(syntax.STAR, x, starlark.MakeInt(sizeOf(axes)))
	}
	c, err := newLaxCall(e, b.Name(), x, name)
	if err != nil {
		return nil, err
	}
	y, err := c.psum()
	return c.done(y, err)
}

// isNumber reports whether v is a number of Starlark.
func isNumber(v starlark.Value) bool {
	switch v.(type) {
	case starlark.Int, starlark.Float:
		return true
	}
	return false
}

func pmean(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	c, err := begin(e, b, args, kwargs)
	if err != nil {
		return nil, err
	}
	y, err := c.psum()
	if err == nil {
		y, err = e.Runtime.Do("div", []*tensor.Tensor{y, tensor.Number(float64(sizeOf(c.axes)))})
	}
	return c.done(y, err)
}

// done returns y as a script has it.
func (c *laxCall) done(y *tensor.Tensor, err error) (starlark.Value, error) {
	if err != nil {
		return nil, arg.Rename(c.fn, err)
	}
	return c.e.Wrap(y), nil
}

// run carries out a collective that is no transition on x, whose result is a t along the axis.
func (c *laxCall) run(ax spmd.Axis, k runtime.Collective, x *tensor.Tensor, t spmdtype.Type) (*tensor.Tensor, error) {
	if had := along(x, ax, spmdtype.V); had == spmdtype.P {
		return nil, &op.ArgError{Func: c.fn, Param: "x", Got: fmt.Sprintf("what is unreduced (P) over %s%s", ax.Name(), x.Typed().Since()), Want: "what is whole", Rule: "lax.psum reduces it"}
	}
	restore := c.e.Runtime.Tape.Untyped()
	y, err := c.e.Runtime.Run(ax.Group(), k, x)
	restore()
	if err == nil && x.Typed() != nil {
		y.SetTyped(&spmdtype.Mark{Types: x.Typed().Types.With(ax.Name(), t), At: c.e.Runtime.Spot()})
	}
	return y, err
}

// extreme returns the function of a maximum or minimum.
func extreme(reduce string) builtins.Function {
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		c, err := begin(e, b, args, kwargs)
		if err != nil {
			return nil, err
		}
		y := c.x
		for _, ax := range c.axes {
			if y, err = c.run(ax, runtime.Collective{Op: "all_reduce", Reduce: reduce}, y, spmdtype.R); err != nil {
				break
			}
		}
		return c.done(y, err)
	}
}

func allGather(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		dim   arg.Int
		tiled arg.Bool
	)
	c, err := begin(e, b, args, kwargs, "axis?", &dim, "tiled?", &tiled)
	if err != nil {
		return nil, err
	}
	ax, err := c.one()
	if err != nil {
		return nil, err
	}
	x := c.x
	if !bool(tiled) {
		if x, err = e.Runtime.Do("unsqueeze", []*tensor.Tensor{x}, op.Int1(int(dim))); err != nil {
			return nil, arg.Rename(c.fn, err)
		}
	}
	d, err := arg.Dim(c.fn, "axis", int(dim), x.Shape())
	if err != nil {
		return nil, err
	}
	if x, err = c.varying(x, ax); err == nil {
		x, err = spmd.Transit(e, "spmd.all_gather", ax, forget(x, ax), spmdtype.S(d), spmdtype.R)
	}
	return c.done(x, err)
}

// varying makes a V of x along an axis.
func (c *laxCall) varying(x *tensor.Tensor, ax spmd.Axis) (*tensor.Tensor, error) {
	if t := along(x, ax, spmdtype.V); t.Same() {
		return spmd.Transit(c.e, "spmd.reinterpret", ax, x, t, spmdtype.V)
	}
	return x, nil
}

// forget returns x, of which it is not known any more which blocks the ranks of an axis have.
func forget(x *tensor.Tensor, ax spmd.Axis) *tensor.Tensor {
	if _, cut := along(x, ax, spmdtype.V).Block(); cut {
		m := x.Typed()
		x = x.Forget()
		x.SetTyped(&spmdtype.Mark{Types: m.Types.With(ax.Name(), spmdtype.V), At: m.At})
	}
	return x
}

func psumScatter(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		dim   arg.Int
		tiled arg.Bool
	)
	c, err := begin(e, b, args, kwargs, "scatter_dimension?", &dim, "tiled?", &tiled)
	if err != nil {
		return nil, err
	}
	ax, err := c.one()
	if err != nil {
		return nil, err
	}
	d, err := arg.Dim(c.fn, "scatter_dimension", int(dim), c.x.Shape())
	if err != nil {
		return nil, err
	}
	if n := ax.Group().Size(); !bool(tiled) && c.x.Shape()[d] != n {
		return nil, &op.ArgError{Func: c.fn, Param: "x", Got: op.Describe(c.x), Want: fmt.Sprintf("size %d in dim %d", n, d), Rule: "tiled=True cuts a dim into blocks"}
	}
	y, err := c.summand(c.x, ax)
	if err == nil {
		y, err = spmd.Transit(e, "spmd.reduce_scatter", ax, y, spmdtype.P, spmdtype.S(d))
	}
	if err == nil && !bool(tiled) {
		y, err = e.Runtime.Do("select", []*tensor.Tensor{y}, op.Int1(d), op.Int1(0))
	}
	return c.done(y, err)
}

func ppermute(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var perm arg.List
	c, err := begin(e, b, args, kwargs, "perm", &perm)
	if err != nil {
		return nil, err
	}
	ax, err := c.one()
	if err != nil {
		return nil, err
	}
	pairs := make([][2]int, len(perm))
	seen := [2]map[int]bool{{}, {}}
	for i, item := range perm {
		ends, err := arg.ToInts(item)
		if err != nil || len(ends) != 2 {
			return nil, &op.ArgError{Func: c.fn, Param: "perm", Got: fmt.Sprintf("%s at index %d", arg.Show(item), i), Want: "a pair (source, destination)"}
		}
		for end, r := range ends {
			if r < 0 || r >= ax.Group().Size() || seen[end][r] {
				return nil, &op.ArgError{Func: c.fn, Param: "perm", Got: fmt.Sprintf("%s at index %d", arg.Show(item), i), Want: fmt.Sprintf("places in 0..%d, each once", ax.Group().Size()-1)}
			}
			seen[end][r] = true
		}
		pairs[i] = [2]int{ends[0], ends[1]}
	}
	x, err := c.varying(c.x, ax)
	if err == nil {
		x, err = c.run(ax, runtime.Collective{Op: "collective_permute", Pairs: pairs}, x, spmdtype.V)
	}
	return c.done(x, err)
}

func allToAll(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		split, concat arg.Int
		tiled         arg.Bool
	)
	c, err := begin(e, b, args, kwargs, "split_axis", &split, "concat_axis", &concat, "tiled?", &tiled)
	if err != nil {
		return nil, err
	}
	ax, err := c.one()
	if err != nil {
		return nil, err
	}
	from, err := arg.Dim(c.fn, "split_axis", int(split), c.x.Shape())
	if err != nil {
		return nil, err
	}
	to, err := arg.Dim(c.fn, "concat_axis", int(concat), c.x.Shape())
	if err != nil {
		return nil, err
	}
	if n := ax.Group().Size(); !bool(tiled) && c.x.Shape()[from] != n {
		return nil, &op.ArgError{Func: c.fn, Param: "x", Got: op.Describe(c.x), Want: fmt.Sprintf("size %d in dim %d", n, from), Rule: "tiled=True cuts a dim into blocks"}
	}
	x, err := c.varying(c.x, ax)
	if err != nil {
		return nil, err
	}
	if bool(tiled) {
		x, err = c.run(ax, runtime.Collective{Op: "all_to_all", Dim: from, Concat: to}, x, spmdtype.V)
		return c.done(x, err)
	}
	x, err = c.run(ax, runtime.Collective{Op: "all_to_all", Dim: from, Concat: from}, x, spmdtype.V)
	if err == nil && from != to {
		x, err = e.Runtime.Do("movedim", []*tensor.Tensor{x}, op.IntsN(from), op.IntsN(to))
	}
	return c.done(x, err)
}

// namedAxes returns the axes that axis_name, the one argument of a function, names.
func namedAxes(e *builtins.Env, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) ([]spmd.Axis, error) {
	var name starlark.Value
	if err := arg.Unpack(b.Name(), args, kwargs, "axis_name", &name); err != nil {
		return nil, err
	}
	return boundAxes(e, b.Name(), name)
}

// boundAxes returns the axes that v, the argument axis_name of fn, says. As in JAX, names are those of the mesh
// of a function that sees blocks, and unbound outside of one.
func boundAxes(e *builtins.Env, fn string, v starlark.Value) ([]spmd.Axis, error) {
	if !dtensor.Scoped(e) && hasName(v) {
		return nil, &op.ArgError{Func: fn, Param: "axis_name", Got: arg.Show(v), Want: "a call in a function that shard_map, local_map or spmd.typed runs",
			Rule: `names of axes are bound there; all_reduce(x, group=mesh["dp"]) and its like are for the rest of a script`}
	}
	return spmd.Axes(e, fn, "axis_name", v)
}

// hasName reports whether v, a name or a tuple of names, has one that is a string.
func hasName(v starlark.Value) bool {
	if seq, ok := v.(starlark.Sequence); ok {
		for item := range starlark.Elements(seq) {
			if hasName(item) {
				return true
			}
		}
	}
	_, ok := starlark.AsString(v)
	return ok
}

func axisIndex(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	axes, err := namedAxes(e, b, args, kwargs)
	if err != nil {
		return nil, err
	}
	at := 0
	var ts *spmdtype.Types
	for _, ax := range axes {
		at = at*ax.Group().Size() + ax.Group().Place()
		ts = ts.With(ax.Name(), spmdtype.V)
	}
	restore := e.Runtime.Tape.Untyped()
	defer restore()
	y, err := e.Runtime.Do("full", []*tensor.Tensor{tensor.Number(int64(at))}, op.IntsN(), op.Int1(int(dtype.Int32)))
	if err != nil {
		return nil, err
	}
	y.SetTyped(&spmdtype.Mark{Types: ts, At: e.Runtime.Spot()})
	return e.Wrap(y), nil
}

func axisSize(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	axes, err := namedAxes(e, b, args, kwargs)
	if err != nil {
		return nil, err
	}
	return starlark.MakeInt(sizeOf(axes)), nil
}

// pcast carries out pcast and, with to "varying", pvary.
func pcast(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	to := arg.String("varying")
	more := []any{"to", &to}
	if b.Name() != "lax.pcast" && b.Name() != "jax.lax.pcast" {
		more = nil
	}
	c, err := begin(e, b, args, kwargs, more...)
	if err != nil {
		return nil, err
	}
	kinds := map[string]spmdtype.Type{"varying": spmdtype.V, "unreduced": spmdtype.P, "reduced": spmdtype.R}
	dst, ok := kinds[string(to)]
	if !ok {
		return nil, &op.ArgError{Func: c.fn, Param: "to", Got: fmt.Sprintf("%q", string(to)), Want: `"varying", "unreduced" or "reduced"`}
	}
	y := c.x
	for _, ax := range c.axes {
		src := along(y, ax, spmdtype.R)
		if src.Is(dst) {
			if y.Typed().Record().On(ax.Name()).IsNone() && e.Runtime.Typing() {
				y = y.OfType(&spmdtype.Mark{Types: (*spmdtype.Types)(nil).With(ax.Name(), dst), At: e.Runtime.Spot()})
			}
			continue
		}
		if src.Kind() == spmdtype.Varying {
			src = spmdtype.V
		}
		fn := "spmd.reinterpret"
		if src == spmdtype.I && dst == spmdtype.R {
			fn = "spmd.convert"
		}
		if y, err = spmd.Transit(e, fn, ax, y, src, dst); err != nil {
			return nil, arg.Rename(c.fn, err)
		}
	}
	return c.done(y, nil)
}
