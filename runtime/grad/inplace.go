package grad

import (
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// inPlace applies an operator that writes into in[0].
//
// Differentiation records the operator whose value is stored (Def.Base): the
// target's history becomes that of the value. If the target is a view, the
// history of its base becomes "base with this region replaced", and other
// views of the base are derived anew when they are next used (refresh).
func (r *Recorder) inPlace(d *op.Def, in []*tensor.Tensor, args []op.Arg, requires bool) ([]*tensor.Tensor, error) {
	x := in[0]
	if err := r.mayChange(d, x); err != nil {
		return nil, err
	}
	if !requires || r.off > 0 || !x.DType().Differentiable() {
		if _, _, err := r.invoke(d, in, args); err != nil {
			return nil, err
		}
		x.Buffer().Changed()
		return in[:1], nil
	}
	if tensor.SomePlaced(in) {
		if err := r.Placed.Check(d, in, args); err != nil {
			return nil, err
		}
	}
	old, err := r.asBefore(x, in)
	if err != nil {
		return nil, err
	}
	value, err := r.Apply(op.Lookup(d.Base), old, args)
	if err != nil {
		return nil, err
	}
	stored, err := r.reducedFor(x, value[0].Detach())
	if err != nil {
		return nil, err
	}
	if _, _, err := r.invoke(op.Lookup("copy_"), []*tensor.Tensor{x, stored}, nil); err != nil {
		return nil, err
	}
	x.Buffer().Changed()
	if x.Base == nil {
		x.Auto = value[0].Auto
		x.Changes++
		return in[:1], nil
	}
	r.rebase(x, value[0])
	return in[:1], nil
}

// reducedFor returns v, which is to be stored in x, without terms if both have
// some and not alike: x keeps its own, and those of v cannot be reduced beside
// them.
func (r *Recorder) reducedFor(x, v *tensor.Tensor) (*tensor.Tensor, error) {
	if !x.Placed() || !v.Placed() || v.Layout() == x.Layout() || !x.Layout().IsPartial() || !v.Layout().IsPartial() {
		return v, nil
	}
	return r.Placed.Move(v, r.Placed.GradLayout(v.Layout()))
}

// asBefore returns in with copies of the tensors that share the storage of x:
// the gradient of a value stored in x may need them as they were.
func (r *Recorder) asBefore(x *tensor.Tensor, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	old := append([]*tensor.Tensor(nil), in...)
	for i, y := range in {
		if y == nil || y.Buffer() != x.Buffer() {
			continue
		}
		c, err := r.Apply(op.Lookup("clone"), in[i:i+1], nil)
		if err != nil {
			return nil, err
		}
		old[i] = c[0]
	}
	return old, nil
}

// mayChange refuses a change of a frozen tensor, of one without elements of
// its own, and of a leaf that requires grad while recording.
func (r *Recorder) mayChange(d *op.Def, x *tensor.Tensor) error {
	bad := func(got, want, rule string) error {
		return &op.ArgError{Func: d.Name, Got: got, Want: want, Rule: rule}
	}
	if x.Buffer() == nil {
		return nil
	}
	if x.Buffer().Frozen() {
		return bad("a frozen tensor "+op.Describe(x), "one that may be changed", "it belongs to a loaded file: build it in a function")
	}
	root := x
	if x.Base != nil {
		root = x.Base
	}
	if r.off == 0 && root.RequiresGrad() && IsLeaf(root) {
		return bad("a leaf that requires grad", "another tensor, or the change inside no_grad", "its gradient would be lost")
	}
	switch {
	case (x.Copied || root.Copied) && x.Placed():
		return bad("a copy of a part of a distributed tensor "+op.Describe(x), "a tensor of its own", "the view had to be cut or moved, so a change would not reach what it shows: .clone() it, or change that")
	case x.Copied || root.Copied:
		return bad("a copy of what another tensor shows, "+op.Describe(x), "a tensor of its own", "its elements could not share storage, so a change would not reach that: .clone() it, or change the other")
	}
	if overlapping(x.Local()) {
		return bad("an expanded tensor "+op.Describe(x), "one whose elements have storage of their own", "clone it first")
	}
	return x.Buffer().Await()
}

// overlapping reports whether several indices of x share an element.
func overlapping(x *tensor.Tensor) bool {
	for i, d := range x.Shape() {
		if d > 1 && x.Strides()[i] == 0 {
			return true
		}
	}
	return false
}

// rebase records that the region x of its base now holds value.
func (r *Recorder) rebase(x, value *tensor.Tensor) {
	base := x.Base
	before := *base
	c := &op.Call{Def: op.Lookup("region_set"), Ctx: r.Ctx,
		In: []*tensor.Tensor{&before, value}, Args: regionArgs(x), Out: []*tensor.Tensor{base}}
	base.Auto = nil
	r.record(c)
	// The call's result is the base itself, whose elements will change again;
	// the gradient needs only shapes.
	c.Out = []*tensor.Tensor{base.ShapeOnly()}
	c.In = []*tensor.Tensor{before.ShapeOnly(), value.ShapeOnly()}
	base.Changes++
	r.refresh(x)
}

// Refresh derives the history of x anew if it is a view whose base has changed
// in place since. Applying an operator to x does so by itself.
func (r *Recorder) Refresh(x *tensor.Tensor) {
	if x != nil && x.Base != nil && x.Changes != x.Base.Changes {
		r.refresh(x)
	}
}

// refresh derives the history of a view anew from its base, which has changed
// in place since.
func (r *Recorder) refresh(x *tensor.Tensor) {
	base := x.Base
	x.Changes = base.Changes
	x.Auto = nil
	if !base.RequiresGrad() {
		return
	}
	c := &op.Call{Def: op.Lookup("region_get"), Ctx: r.Ctx,
		In: []*tensor.Tensor{base}, Args: regionArgs(x), Out: []*tensor.Tensor{x}}
	r.record(c)
	c.In, c.Out = []*tensor.Tensor{base.ShapeOnly()}, []*tensor.Tensor{x.ShapeOnly()}
}

// regionArgs says which part of its base the view x is.
func regionArgs(x *tensor.Tensor) []op.Arg {
	if x.Placed() {
		local := x.Local()
		return []op.Arg{op.IntsN(x.Shape()...), op.IntsN(local.Strides()...), op.Int1(local.Offset() - x.Base.Local().Offset()),
			{Layout: x.Layout()}, {Layout: x.Base.Layout()}}
	}
	return []op.Arg{op.IntsN(x.Shape()...), op.IntsN(x.Strides()...), op.Int1(x.Offset() - x.Base.Offset())}
}
