package spmd

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/dtensor"
	"tpsh/runtime/op"
	"tpsh/runtime/spmdtype"
	"tpsh/runtime/typing"
)

// A Type is a type along an axis as scripts have it: spmd.R, spmd.S(0). Types compare with ==.
type Type struct{ t spmdtype.Type }

var _ arg.Described = Type{}

func (t Type) String() string        { return "spmd." + t.t.String() }
func (t Type) Describe() string      { return t.String() }
func (t Type) Type() string          { return "SpmdType" }
func (t Type) Freeze()               {} // it cannot be changed
func (t Type) Truth() starlark.Bool  { return true }
func (t Type) Hash() (uint32, error) { return starlark.String(t.t.String()).Hash() }

// wantType is what an argument that is a type is told to be.
const wantType = "spmd.R, spmd.I, spmd.V, spmd.P or spmd.S(dim)"

// toType returns the type that v stands for: a placement stands for one, too.
func toType(v starlark.Value) (spmdtype.Type, error) {
	switch v := v.(type) {
	case Type:
		return v.t, nil
	case dtensor.Placement:
		if t := typing.Of(v.Placement()); !t.IsNone() {
			return t, nil
		}
	}
	return spmdtype.Type{}, arg.Bad(v, wantType, "")
}

// A typeArg is an argument that is a type, or not given.
type typeArg struct{ t spmdtype.Type }

// Unpack implements starlark.Unpacker.
func (p *typeArg) Unpack(v starlark.Value) (err error) {
	if v != starlark.None {
		p.t, err = toType(v)
	}
	return err
}

// toTypes returns the types that v, the argument called param of fn, gives for axes: a dict, or one type, for
// all axes of mesh.
func toTypes(fn, param string, v starlark.Value, mesh *dtensor.DeviceMesh) (*spmdtype.Types, error) {
	var ts *spmdtype.Types
	dict, ok := v.(*starlark.Dict)
	if !ok {
		t, err := toType(v)
		if err != nil || mesh == nil {
			return nil, &op.ArgError{Func: fn, Param: param, Got: arg.Show(v), Want: `a dict of types by axis, such as {"tp": spmd.R}`}
		}
		for _, axis := range mesh.M.Names() {
			ts = ts.With(axis, t)
		}
		return ts, nil
	}
	for _, item := range dict.Items() {
		axis, err := nameOf(fn, param, item[0], mesh)
		if err != nil {
			return nil, err
		}
		t, err := toType(item[1])
		if err != nil {
			return nil, &op.ArgError{Func: fn, Param: param, Got: fmt.Sprintf("%s for axis %q", arg.Show(item[1]), axis), Want: wantType}
		}
		ts = ts.With(axis, t)
	}
	return ts, nil
}

// dictOf returns types as scripts have them.
func dictOf(ts *spmdtype.Types) *starlark.Dict {
	d := starlark.NewDict(len(ts.Axes()))
	for _, axis := range ts.Axes() {
		d.SetKey(starlark.String(axis), Type{ts.On(axis)})
	}
	return d
}

func init() {
	builtins.Register(&builtins.Row{Name: "spmd", Namespace: true,
		Doc: "spmd holds the types of local tensors along the axes of a mesh, and what changes them.\n" +
			"A tensor is R (the same on all ranks; its gradient is a summand on each), I (the same, and so is its gradient), V (each rank its own),\n" +
			"P (a summand on each; its gradient is the same on all) or S(dim) (V, and block i of a whole). spmd.typed(f, mesh, ...) calls\n" +
			"f with types on, and tpsh run --types a script. docs/types.md has the transitions and the mistakes that are found.\n" +
			">>> spmd.R\nspmd.R"})
	for _, c := range []struct {
		name, doc string
		t         spmdtype.Type
	}{
		{"R", "what all ranks of an axis have alike, each with a summand of its gradient.", spmdtype.R},
		{"I", "what all ranks of an axis have alike, and its gradient, too.", spmdtype.I},
		{"V", "what varies between the ranks of an axis; each has the gradient of its own.", spmdtype.V},
		{"P", "what is the sum of what the ranks of an axis have; all have its gradient.", spmdtype.P},
	} {
		builtins.Register(&builtins.Row{Name: "spmd." + c.name, Doc: c.name + " is the type of " + c.doc + "\n>>> spmd." + c.name + "\nspmd." + c.name,
			Value: func() starlark.Value { return Type{c.t} }})
	}
	builtins.Register(&builtins.Row{Name: "spmd.S",
		Doc: "S(dim) returns the type of what varies and is block i of a whole, cut along dim as x.chunk(n, dim) cuts it.\n>>> spmd.S(0)\nspmd.S(0)",
		Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			var dim arg.Int
			err := arg.Unpack(b.Name(), args, kwargs, "dim", &dim)
			return Type{spmdtype.S(int(dim))}, err
		}})
}
