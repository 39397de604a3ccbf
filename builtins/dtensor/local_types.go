package dtensor

import (
	"fmt"

	"tpsh/builtins"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/spmdtype"
	"tpsh/runtime/tensor"
	"tpsh/runtime/typing"
)

// localMark returns the types of the rank's block of x, by its placements. back says how the gradient of
// the block lies, nil for like x: a block that ranks have alike is I if they have its gradient alike, too, and R if that
// is a summand on each, or if there is none.
func localMark(e *builtins.Env, x *tensor.Tensor, back *mesh.Placed) *spmdtype.Mark {
	l := x.Layout()
	var ts *spmdtype.Types
	for i, name := range l.Mesh().Names() {
		t := typing.Of(l.Placements()[i])
		if t == spmdtype.R && x.RequiresGrad() && (back == nil || back.Placements()[i].IsReplicate()) {
			t = spmdtype.I
		}
		if !t.IsNone() {
			ts = ts.With(name, t)
		}
	}
	return markOf(e, ts)
}

// blockMark returns the types of a block of a tensor placed as l that a function of blocks is given: the ranks'
// gradients of what they have alike are added. Loose types know as little as JAX's: not which dim is cut, so
// that a product of blocks is no summand.
func blockMark(e *builtins.Env, l *mesh.Placed, loose bool) *spmdtype.Mark {
	var ts *spmdtype.Types
	for i, name := range l.Mesh().Names() {
		t := typing.Of(l.Placements()[i])
		if loose && t.Kind() == spmdtype.Varying {
			t = spmdtype.V
		}
		if !t.IsNone() {
			ts = ts.With(name, t)
		}
	}
	return markOf(e, ts)
}

// markOf returns the mark of types that a tensor gets here; nil for none.
func markOf(e *builtins.Env, ts *spmdtype.Types) *spmdtype.Mark {
	if len(ts.Axes()) == 0 {
		return nil
	}
	return &spmdtype.Mark{Types: ts, At: e.Runtime.Spot()}
}

// checkLocal returns an error if x, of which DTensor.from_local makes a tensor placed as l, is known to be
// something else. back says how the gradient of the result lies, nil for like it.
func checkLocal(fn string, x *tensor.Tensor, l, back *mesh.Placed) error {
	for i, name := range l.Mesh().Names() {
		had, want := x.Typed().Record().On(name), typing.Of(l.Placements()[i])
		if had.IsNone() || want.IsNone() {
			continue
		}
		if want == spmdtype.R && x.RequiresGrad() && (back == nil || back.Placements()[i].IsReplicate()) {
			want = spmdtype.I // whose gradient all ranks have
		}
		if err := misplaced(fn, name, x, had, want, l.Placements()[i]); err != nil {
			return err
		}
	}
	return nil
}

// misplaced returns an error unless x, which is had over an axis, may be placed as p there: as a want.
func misplaced(fn, axis string, x *tensor.Tensor, had, want spmdtype.Type, p mesh.Placement) error {
	if had == want || had == spmdtype.V && want.Kind() == spmdtype.Varying || had.Same() && want.Same() && !x.RequiresGrad() {
		return nil
	}
	e := &op.ArgError{Func: fn, Got: fmt.Sprintf("%v over %s%s for %s", had, axis, x.Typed().Since(), p.Script()), Want: want.String()}
	e.Rule = spmdtype.Call("x", axis, had, want)
	if e.Rule == "" && typing.Placed(had) != "" {
		e.Rule = "what is " + had.String() + " is " + typing.Placed(had)
	}
	return e
}
