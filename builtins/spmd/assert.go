package spmd

import (
	"bytes"
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/dtensor"
	"tpsh/runtime/op"
	"tpsh/runtime/spmdtype"
	"tpsh/runtime/tensor"
	"tpsh/runtime/typing"
)

func init() {
	const mesh = ">>> mesh = init_device_mesh(\"cpu\", (1,), mesh_dim_names=(\"tp\",))\n"
	builtins.Register(&builtins.Row{Name: "spmd.assert_type", Fn: assertType, Communicates: true,
		Doc: "assert_type(x, types) returns x, which has these types by axis: it is an error if it is known to have others.\n" +
			"A tensor that has no type along an axis gets it. With --verify, ranks compare the elements of what is R or I.\n" +
			mesh + ">>> x = spmd.assert_type(ones(2), {\"tp\": spmd.R})\n>>> spmd.type_of(x)\n{\"tp\": spmd.R}",
	}, &builtins.Row{Name: "spmd.type_of", Fn: typeOf,
		Doc: "type_of(x) returns the types of x by axis, a dict: an axis that it has no type along is not in it. A distributed tensor has those of its placements.\n" +
			">>> spmd.type_of(ones(2))\n{}",
	}, &builtins.Row{Name: "spmd.mutate_type", Fn: mutateType, Communicates: true,
		Doc: "mutate_type(x, axis, src, dst) returns x, which is from now on a dst along an axis and was a src: for what only the author of a program knows.\n" +
			"Nothing moves, and the gradient is not changed. With --verify, ranks compare the elements of what becomes R or I.\n" +
			mesh + ">>> x = spmd.assert_type(ones(2), {\"tp\": spmd.V})\n>>> spmd.type_of(spmd.mutate_type(x, \"tp\", src=spmd.V, dst=spmd.R))\n{\"tp\": spmd.R}",
	})
}

// typeAlong returns the type of t along an axis, and where it got it, as errors say it.
func typeAlong(t *tensor.Tensor, axis string) (spmdtype.Type, string) {
	if !t.Placed() {
		return t.Typed().Record().On(axis), t.Typed().Since()
	}
	l := t.Layout()
	if dim, ok := l.Mesh().Dim(axis); ok {
		return typing.Of(l.Placements()[dim]), ", as it is placed,"
	}
	return spmdtype.Type{}, ""
}

// state gives t, which what names, the types ts where it has none, and returns an error where it has others.
func state(e *builtins.Env, fn, what string, t *tensor.Tensor, ts *spmdtype.Types) error {
	had := t.Typed().Record()
	for _, axis := range ts.Axes() {
		want, ok := ts.On(axis).Of(t.Ndim())
		if is, _ := typeAlong(t, axis); is.IsNone() && !t.Placed() {
			if !ok {
				return &op.ArgError{Func: fn, Got: fmt.Sprintf("%v over %s for %s, which is %s", ts.On(axis), axis, what, op.Describe(t)), Want: "a dim that it has"}
			}
			had = had.With(axis, want)
			continue
		}
		if err := differs(fn, what, axis, t, ts.On(axis), "say "); err != nil {
			return err
		}
	}
	if had != t.Typed().Record() {
		t.SetTyped(&spmdtype.Mark{Types: had, At: e.Runtime.Spot()})
	}
	return nil
}

func assertType(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x, v starlark.Value
	if err := arg.Unpack(b.Name(), args, kwargs, "x|tensor", &x, "types|type", &v); err != nil {
		return nil, err
	}
	t, err := e.TensorArg(b.Name(), "x", x)
	if err != nil {
		return nil, err
	}
	ts, err := toTypes(b.Name(), "types", v, dtensor.CurrentMesh(e))
	if err != nil {
		return nil, err
	}
	if err := state(e, b.Name(), "x", t, ts); err != nil {
		return nil, err
	}
	return x, verify(e, b.Name(), t, ts)
}

func typeOf(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x builtins.OneTensor
	if err := arg.Unpack(b.Name(), args, kwargs, "x|tensor", &x); err != nil {
		return nil, err
	}
	ts := x.T.Typed().Record()
	if x.T.Placed() {
		ts = nil
		for _, axis := range x.T.Layout().Mesh().Names() {
			if t, _ := typeAlong(x.T, axis); !t.IsNone() {
				ts = ts.With(axis, t)
			}
		}
	}
	return dictOf(ts), nil
}

func mutateType(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		x, along starlark.Value
		src, dst typeArg
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "x|tensor", &x, "axis", &along, "src", &src, "dst", &dst); err != nil {
		return nil, err
	}
	t, err := e.TensorArg(b.Name(), "x", x)
	if err != nil {
		return nil, err
	}
	if err := builtins.PlainOnly(b.Name(), "x", t); err != nil {
		return nil, err
	}
	ax, err := axisOf(e, b.Name(), "axis", along)
	if err != nil {
		return nil, err
	}
	want, ok := dst.t.Of(t.Ndim())
	from, ok2 := src.t.Of(t.Ndim())
	if !ok || !ok2 || ax.name == "" {
		return nil, &op.ArgError{Func: b.Name(), Got: fmt.Sprintf("src=%v, dst=%v for %s", src.t, dst.t, op.Describe(t)), Want: "types that it can have along an axis of the mesh"}
	}
	if had := t.Typed().Record().On(ax.name); !had.IsNone() && !had.Is(from) {
		return nil, &op.ArgError{Func: b.Name(), Param: "src", Got: fmt.Sprintf("%v for a tensor that is %v over %s%s", from, had, ax.name, t.Typed().Since()), Want: had.String()}
	}
	t.SetTyped(&spmdtype.Mark{Types: t.Typed().Record().With(ax.name, want), At: e.Runtime.Spot()})
	return x, verify(e, b.Name(), t, (*spmdtype.Types)(nil).With(ax.name, want))
}

// verify compares, with --verify, the elements of t between the ranks of axes along which ts says that all have them
// alike. What is V may be anything, and of P and S(i) the whole is not known.
func verify(e *builtins.Env, fn string, t *tensor.Tensor, ts *spmdtype.Types) error {
	if !e.Options.Verify || e.Planning() || t.Placed() {
		return nil
	}
	for _, name := range ts.Axes() {
		if !ts.On(name).Same() {
			continue
		}
		ax, err := axisOf(e, fn, "axis", starlark.String(name))
		if err != nil {
			return err
		}
		if err := alike(e, fn, ax, t, ts.On(name)); err != nil {
			return err
		}
	}
	return nil
}

// alike returns an error if the elements of t differ between the ranks of an axis.
func alike(e *builtins.Env, fn string, ax Axis, t *tensor.Tensor, ty spmdtype.Type) error {
	gather := spmdtype.Transition{Name: fn, Do: spmdtype.AllGather, Back: spmdtype.ReduceScatter}
	all, err := e.Runtime.Transit(ax.g, gather, spmdtype.V, spmdtype.R, t.Detach())
	if err != nil {
		return arg.Rename(fn, err)
	}
	data, n := all.Bytes(), t.Numel()*t.DType().Size()
	for i := 1; i < ax.g.Size(); i++ {
		if !bytes.Equal(data[:n], data[i*n:(i+1)*n]) {
			return &op.ArgError{Func: fn, Got: fmt.Sprintf("elements that differ between ranks %d and %d of %s", ax.g.Ranks()[0], ax.g.Ranks()[i], ax.name), Want: "the same on all", Rule: fmt.Sprintf("x is said to be %v over %s", ty, ax.name)}
		}
	}
	return nil
}
