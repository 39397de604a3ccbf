package spmd

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/collective"
	"tpsh/runtime/op"
	"tpsh/runtime/spmdtype"
	"tpsh/runtime/tensor"
)

func init() {
	collective.RegisterTyping(typedCall)
	builtins.RegisterAxes(sizeOf)
	for _, f := range []struct{ name, text, example string }{
		{"all_reduce", "the sum of x over an axis. src is spmd.P; of a dst that is spmd.R the gradient is summed, too, of spmd.I it goes back as it is.",
			">>> spmd.all_reduce(ones(2), \"tp\", src=spmd.P, dst=spmd.R).tolist()\n[1.0, 1.0]"},
		{"all_gather", "what the ranks of an axis have, joined: of src=spmd.S(dim) along dim, of spmd.V as the entries of a new dim 0. Of a dst that is spmd.R\nthe gradient is summed and scattered, of spmd.I each rank takes its block of it.",
			">>> spmd.all_gather(ones(2), \"tp\", src=spmd.S(0), dst=spmd.R).tolist()\n[1.0, 1.0]"},
		{"reduce_scatter", "this rank's part of the sum of x over an axis: of dst=spmd.S(dim) its block along dim, of spmd.V its entry of dim 0. The gradient is gathered.",
			">>> spmd.reduce_scatter(ones(2), \"tp\", src=spmd.P, dst=spmd.S(0)).tolist()\n[1.0, 1.0]"},
		{"all_to_all", "blocks of dim j made of blocks of dim i, for src=spmd.S(i) and dst=spmd.S(j); of spmd.V the entries of dim 0 that the others have for this rank.",
			">>> spmd.all_to_all(ones(2, 2), \"tp\", src=spmd.S(0), dst=spmd.S(1)).shape\n(2, 2)"},
		{"convert", "x as another type that means the same value, without communication: of R or I as V or S(dim) this rank's block, as P the whole on the first rank\nand zeros on the others. The gradient may communicate: of I as R it is summed.",
			">>> spmd.convert(ones(2), \"tp\", src=spmd.I, dst=spmd.R).tolist()\n[1.0, 1.0]"},
		{"reinterpret", "the elements of x as another type. The value that they mean may change: what is R becomes as P a sum of n times it.",
			">>> spmd.reinterpret(ones(2), \"tp\", src=spmd.V, dst=spmd.P).tolist()\n[1.0, 1.0]"},
	} {
		builtins.Register(&builtins.Row{Name: "spmd." + f.name, Fn: transition, Communicates: true,
			MakeDoc: func() string {
				return f.name + "(x, axis, src=None, dst=None) returns " + f.text + "\n" +
					"axis is the name of a dim of the mesh, a mesh of one dim or a group. It goes " + ways(f.name) + ", and no other way.\n" +
					">>> mesh = init_device_mesh(\"cpu\", (1,), mesh_dim_names=(\"tp\",))\n" + f.example
			}})
	}
}

// ways lists what the function called name has: "from P to R or I".
func ways(name string) string {
	var list []string
	for _, src := range []spmdtype.Type{spmdtype.R, spmdtype.I, spmdtype.V, spmdtype.P} {
		var to []string
		for _, row := range spmdtype.From(name, src) {
			to = append(to, row.Dst.String())
		}
		if to != nil {
			list = append(list, "from "+src.String()+" to "+orList(to))
		}
	}
	return strings.Join(list, ", ")
}

// transition carries out a function of the table.
func transition(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		x        builtins.OneTensor
		along    starlark.Value
		src, dst typeArg
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "x|tensor", &x, "axis|group", &along, "src?", &src, "dst?", &dst); err != nil {
		return nil, err
	}
	ax, err := axisOf(e, b.Name(), "axis", along)
	if err != nil {
		return nil, err
	}
	y, err := Transit(e, b.Name(), ax, x.T, src.t, dst.t)
	if err != nil {
		return nil, err
	}
	return e.Wrap(y), nil
}

// Transit carries out the transition of the function fn, "spmd.all_reduce" or "all_reduce", from src to dst; types that
// are none are those that the tensor, or the table, leaves no choice of.
func Transit(e *builtins.Env, fn string, ax Axis, x *tensor.Tensor, src, dst spmdtype.Type) (*tensor.Tensor, error) {
	name := fn[strings.LastIndexByte(fn, '.')+1:]
	had := x.Typed().Record().On(ax.name)
	tr, src, dst, err := choose(fn, name, ax, x, had, src, dst)
	if err != nil {
		return nil, err
	}
	if !had.IsNone() && (had.Kind() != src.Kind() || had != spmdtype.V && src != spmdtype.V && had != src) {
		return nil, mistaken(fn, ax, x, had, src, dst)
	}
	y, err := e.Runtime.Transit(ax.g, tr, src, dst, x)
	if err != nil {
		return nil, arg.Rename(fn, err)
	}
	if ax.name != "" && (e.Runtime.Typing() || x.Typed() != nil) {
		ts := moved(x.Typed().Record(), tr, src, dst).With(ax.name, dst)
		y.SetTyped(&spmdtype.Mark{Types: ts, At: e.Runtime.Spot()})
	}
	return y, nil
}

// choose returns the row for src and dst, which it completes.
func choose(fn, name string, ax Axis, x *tensor.Tensor, had, src, dst spmdtype.Type) (spmdtype.Transition, spmdtype.Type, spmdtype.Type, error) {
	fail := func(bad *op.ArgError) (spmdtype.Transition, spmdtype.Type, spmdtype.Type, error) {
		bad.Func = fn
		return spmdtype.Transition{}, src, dst, bad
	}
	for _, p := range []struct {
		name string
		t    *spmdtype.Type
	}{{"src", &src}, {"dst", &dst}} {
		ndim := x.Ndim()
		t, ok := p.t.Of(ndim)
		if !ok {
			return fail(&op.ArgError{Param: p.name, Got: p.t.String(), Want: fmt.Sprintf("a dim of %d", ndim), Rule: "x is " + op.Describe(x)})
		}
		*p.t = t
	}
	if src.IsNone() {
		src = had
		if rows := spmdtype.Named(name); src.IsNone() || spmdtype.From(name, src) == nil {
			first := rows[0].Src
			for _, row := range rows {
				if row.Src != first {
					return fail(&op.ArgError{Param: "src", Got: "nothing, and a tensor without a type over " + orGroup(ax), Want: wantType})
				}
			}
			src = first
		}
	}
	if dst.IsNone() {
		rows := spmdtype.From(name, src)
		if len(rows) != 1 {
			return fail(&op.ArgError{Param: "dst", Got: "nothing", Want: wantOf(name, src), Rule: "it says what the gradient is"})
		}
		dst = rows[0].Dst
	}
	tr, ok := spmdtype.Find(name, src, dst)
	if !ok {
		rule := name + " goes " + ways(name)
		if call := spmdtype.Call("x", ax.name, src, dst); call != "" {
			rule = call + " does that"
		}
		return fail(&op.ArgError{Got: fmt.Sprintf("src=%v, dst=%v", src, dst), Want: wantOf(name, src), Rule: rule})
	}
	if _, cut := dst.Block(); tr.Name == "reinterpret" && cut {
		return fail(&op.ArgError{Param: "dst", Got: dst.String(), Want: "V", Rule: "nothing is cut: spmd.convert takes blocks"})
	}
	_, from := src.Block()
	_, to := dst.Block()
	if tr.Do == spmdtype.AllToAll && from != to {
		return fail(&op.ArgError{Got: fmt.Sprintf("src=%v, dst=%v", src, dst), Want: "S(i) and S(j), or V and V"})
	}
	return tr, src, dst, nil
}

// orGroup names an axis in an error.
func orGroup(ax Axis) string {
	if ax.name == "" {
		return ax.g.String()
	}
	return ax.name
}

// wantOf says what the function called name takes.
func wantOf(name string, src spmdtype.Type) string {
	rows := spmdtype.From(name, src)
	if rows == nil {
		rows = spmdtype.Named(name)
		list := map[string]bool{}
		var texts []string
		for _, row := range rows {
			if t := "src=" + row.Src.String(); !list[t] {
				list[t], texts = true, append(texts, t)
			}
		}
		return orList(texts)
	}
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = row.Dst.String()
	}
	return "dst=" + orList(texts)
}

// typeOver returns t, which x is along ax, as errors show it, with the line since which it is.
func typeOver(ax Axis, x *tensor.Tensor, t spmdtype.Type) string {
	return fmt.Sprintf("%v over %s%s", t, ax.name, x.Typed().Since())
}

// mistaken is the error of x, which is had along ax, in a transition from src to dst.
func mistaken(fn string, ax Axis, x *tensor.Tensor, had, src, dst spmdtype.Type) error {
	e := &op.ArgError{Func: fn, Param: "x", Got: typeOver(ax, x, had), Want: src.String()}
	switch {
	case had.Same() && src == spmdtype.P:
		e.Rule = fmt.Sprintf("all ranks of %s have it already, and their sum is %d times it", ax.name, ax.g.Size())
	case had.Kind() == spmdtype.Varying && src == spmdtype.P:
		e.Rule = fmt.Sprintf("%s says that what varies are summands", spmdtype.Call("x", ax.name, spmdtype.V, spmdtype.P))
	case had.Kind() == spmdtype.Varying && src.Kind() == spmdtype.Varying:
		e.Rule = fmt.Sprintf("src=spmd.%v has its blocks joined", had)
	case spmdtype.Call("x", ax.name, had, dst) != "":
		e.Rule = spmdtype.Call("x", ax.name, had, dst)
	case spmdtype.Call("x", ax.name, had, src) != "":
		e.Rule = spmdtype.Call("x", ax.name, had, src) + " first"
	}
	return e
}

// moved returns the types along the other axes, whose blocks are of other dims where a dim 0 came or went.
func moved(ts *spmdtype.Types, tr spmdtype.Transition, src, dst spmdtype.Type) *spmdtype.Types {
	_, from := src.Block()
	_, to := dst.Block()
	by := 0
	if !from && !to {
		switch tr.Do {
		case spmdtype.Slice, spmdtype.ReduceScatter:
			by = -1
		case spmdtype.Pad, spmdtype.AllGather:
			by = 1
		}
	}
	if by == 0 {
		return ts
	}
	return ts.Each(func(_ string, t spmdtype.Type) spmdtype.Type {
		d, cut := t.Block()
		switch {
		case !cut:
			return t
		case d+by < 0:
			return spmdtype.V
		}
		return spmdtype.S(d + by)
	})
}

// typedCall carries out a collective of package collective whose types are given or known.
func typedCall(e *builtins.Env, c *collective.TypedCall) (*tensor.Tensor, error) {
	ax, err := axisOf(e, c.Op, "group", c.Group)
	if err != nil {
		return nil, err
	}
	given := c.Src != nil || c.Dst != nil
	if ax.name == "" && !given {
		return nil, &op.ArgError{Func: c.Op, Param: "group", Got: ax.g.String() + " for a tensor with types " + c.X.Typed().String(), Want: "the ranks along one axis of the mesh", Rule: `group=mesh["tp"]; .detach() of an untyped copy has no types`}
	}
	if spmdtype.Named(c.Op) == nil || c.Reduce != "" && c.Reduce != "sum" || c.Exact {
		if given {
			return nil, &op.ArgError{Func: c.Op, Param: "op", Got: fmt.Sprintf("%q with src= or dst=", c.Reduce), Want: `"sum"`, Rule: "P is a sum"}
		}
		return otherCall(e, c, ax)
	}
	src, dst := defaults(c)
	for _, p := range []struct {
		v    starlark.Value
		name string
		t    *spmdtype.Type
	}{{c.Src, "src", &src}, {c.Dst, "dst", &dst}} {
		if p.v == nil || p.v == starlark.None {
			continue
		}
		t, err := toType(p.v)
		if err != nil {
			return nil, arg.In(c.Op, p.name, err)
		}
		if t != spmdtype.V || p.t.Kind() != spmdtype.Varying { // of V the call's dims say what is cut
			*p.t = t
		}
	}
	return Transit(e, c.Op, ax, c.X, src, dst)
}

// defaults returns what the tensor and the result of a plain collective are, by its gradient.
func defaults(c *collective.TypedCall) (src, dst spmdtype.Type) {
	switch c.Op {
	case "all_reduce":
		return spmdtype.P, spmdtype.R
	case "all_gather":
		return spmdtype.S(c.Dim), spmdtype.R
	case "reduce_scatter":
		return spmdtype.P, spmdtype.S(c.Dim)
	}
	return spmdtype.S(c.Concat), spmdtype.S(c.Dim)
}

// otherCall carries out a collective that is no transition: a maximum, a broadcast. What all members get is R,
// and what each gets V.
func otherCall(e *builtins.Env, c *collective.TypedCall, ax Axis) (*tensor.Tensor, error) {
	had := c.X.Typed().Record().On(ax.name)
	mean := c.Reduce == "mean" || c.Exact && c.Reduce == "sum"
	want := ""
	switch {
	case had == spmdtype.P && !mean:
		want = "what is whole"
	case had == spmdtype.I && c.X.RequiresGrad():
		want = "R or V"
	}
	if want != "" {
		return nil, &op.ArgError{Func: c.Op, Param: "x", Got: typeOver(ax, c.X, had), Want: want, Rule: spmdtype.Call("x", ax.name, had, spmdtype.R) + " first"}
	}
	restore := e.Runtime.Tape.Untyped()
	y, err := e.Runtime.Run(ax.g, c.Collective, c.X)
	restore()
	if err != nil || y == nil {
		return y, err
	}
	t := spmdtype.V
	switch c.Op {
	case "all_reduce", "broadcast":
		t = spmdtype.R
	case "reduce_scatter":
		t = spmdtype.S(c.Dim)
	}
	y.SetTyped(&spmdtype.Mark{Types: c.X.Typed().Record().With(ax.name, t), At: e.Runtime.Spot()})
	return y, nil
}
