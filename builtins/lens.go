package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/runtime/op"
	"tpsh/runtime/shard"
	"tpsh/runtime/tensor"
)

// A Lens is how a vocabulary sees tensors of a kind of its own: it says what the
// type of such a tensor is, how it is shown, and what it has besides the members of
// every tensor. For example, a script's d = distribute_tensor(...) is a tensor of
// package runtime that lies on several ranks; the lens of distributed tensors has
// type(d) say "DTensor" and str(d) name its placements.
//
// The lens of a Tensor is its own (Tensor.lens), else that which its tensor carries
// (tensor.Tensor.Lens), which operators on it see, too; else that of distributed
// tensors, if it is one. A lens embeds PlainLens for what it leaves as it is.
type Lens interface {
	// Type returns what type(x) says.
	Type() string

	// Owners returns the types whose members x has. Those of an earlier one come first.
	Owners(x *Tensor) []string

	// Format returns what str(x) is; t is the tensor of x.
	Format(x *Tensor, t *tensor.Tensor) string

	// Describe returns t as errors show it.
	Describe(e *Env, t *tensor.Tensor) string

	// Attr returns what x has under a name that no member of its types has, or nil.
	Attr(x *Tensor, name string) starlark.Value

	// SetField assigns v to an attribute of x; ok is false if none of that name can
	// be assigned but those of every tensor.
	SetField(x *Tensor, name string, v starlark.Value) (ok bool, err error)

	// Freeze makes x read-only.
	Freeze(x *Tensor) error
}

// An OperatorLens is a Lens that tensors carry, and that says what operators on
// them do.
type OperatorLens interface {
	Lens

	// Apply applies d to in, of which a tensor carries the lens.
	Apply(e *Env, d *op.Def, in []*tensor.Tensor, args []op.Arg) ([]*tensor.Tensor, error)

	// StandIn returns what a script has put in the place of d, or nil.
	StandIn(e *Env, d *op.Def) StandIn

	// Meet carries out d, an operator that a script has defined: run gets in on one
	// mesh, and its result is seen through the lens.
	Meet(e *Env, d *op.Def, in []*tensor.Tensor, run func(in []*tensor.Tensor) (*tensor.Tensor, error)) (*tensor.Tensor, error)

	// Grad returns g, the gradient of a tensor that carries the lens, as scripts see it.
	Grad(e *Env, g *tensor.Tensor) (*tensor.Tensor, error)

	// Detached returns the lens of what .detach() of a tensor with this one gives.
	Detached() Lens

	// Parameter returns the lens of a parameter made of a tensor with this one.
	Parameter() Lens
}

// A StandIn stands for an operator: self is the receiver of a method, or nil.
type StandIn func(self *Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

// A ResultLens is the Lens of a Tensor that sees the results of operators on it.
type ResultLens interface {
	Lens

	// Result returns y, the result of the operator d on x, its first argument, for
	// the function fn: y itself, or y seen through a lens.
	Result(fn string, d *op.Def, x *Tensor, y starlark.Value) (starlark.Value, error)
}

// An ExplainingLens is the Lens of a Tensor that knows more of what refuses it.
type ExplainingLens interface {
	Lens

	// Explain adds to err, of the operator d on the Tensor, what is known of it.
	Explain(d *op.Def, err *op.ArgError)
}

// A PartLens is the Lens of a Tensor that may store this rank's part of a whole. What fills it with random
// numbers draws the whole, of which each rank takes its part: an element is the same however it is stored.
type PartLens interface {
	Lens

	// Blank returns a tensor that lies as the whole of x does, whose elements do not count; nil if x is no part.
	Blank(x *Tensor) (*tensor.Tensor, error)

	// PartOf returns what this rank stores of y, a tensor that lies as the whole of x does.
	PartOf(x *Tensor, y *tensor.Tensor) (*tensor.Tensor, error)
}

// BlankOf returns what stands for the whole of which x is a part, and the lens that takes parts of it; nil if x is no part.
func BlankOf(x *Tensor) (*tensor.Tensor, PartLens, error) {
	l, ok := x.Lens.(PartLens)
	if !ok {
		return nil, nil, nil
	}
	blank, err := l.Blank(x)
	return blank, l, err
}

// PlainLens is the lens of tensors that no vocabulary has made its own.
type PlainLens struct{}

var plainOwners = []string{"Tensor"}

func (PlainLens) Type() string                                           { return "tensor" }
func (PlainLens) Owners(*Tensor) []string                                { return plainOwners }
func (PlainLens) Format(x *Tensor, t *tensor.Tensor) string              { return FormatTensor(x.Env, t) }
func (PlainLens) Describe(_ *Env, t *tensor.Tensor) string               { return shard.Describe(t) }
func (PlainLens) Attr(*Tensor, string) starlark.Value                    { return nil }
func (PlainLens) SetField(*Tensor, string, starlark.Value) (bool, error) { return false, nil }

// Freeze makes the storage of x read-only.
func (PlainLens) Freeze(x *Tensor) error {
	t, err := x.Tensor()
	if err != nil {
		return err
	}
	if b := t.Buffer(); b != nil {
		b.Freeze()
	}
	return nil
}

// seenThrough returns the lens of x.
func (x *Tensor) seenThrough() Lens {
	if x.Lens != nil {
		return x.Lens
	}
	if x.T != nil {
		return lensOf(x.T)
	}
	if x.Distributed {
		return placedLens
	}
	return PlainLens{}
}

// OwnOperators reports whether x carries a lens of its own, which says what
// operators do.
func (x *Tensor) OwnOperators() bool {
	if x.T == nil {
		return false
	}
	_, ok := x.T.Lens.(OperatorLens)
	return ok
}

// lensOf returns the lens through which t is seen.
func lensOf(t *tensor.Tensor) Lens {
	if l, ok := t.Lens.(Lens); ok {
		return l
	}
	if t.Placed() {
		return placedLens
	}
	return PlainLens{}
}

// OperatorLensOf returns the lens that t carries if it decides what operators on t do,
// or nil.
func OperatorLensOf(t *tensor.Tensor) OperatorLens {
	if t == nil || t.Lens == nil {
		return nil
	}
	l, _ := t.Lens.(OperatorLens)
	return l
}

// LensAmong returns the OperatorLensOf the first tensor of in that has one, or nil.
func LensAmong(in []*tensor.Tensor) OperatorLens {
	for _, t := range in {
		if l := OperatorLensOf(t); l != nil {
			return l
		}
	}
	return nil
}

// invoke applies an operator for a script.
func (e *Env) invoke(d *op.Def, in []*tensor.Tensor, args []op.Arg) (_ []*tensor.Tensor, err error) {
	defer guard(&err)
	if l := LensAmong(in); l != nil {
		return l.Apply(e, d, in, args)
	}
	return e.Runtime.Apply(d, in, args)
}

// invokeOne is Env.invoke of an operator of one result.
func invokeOne(e *Env, d *op.Def, in []*tensor.Tensor, args ...op.Arg) (*tensor.Tensor, error) {
	out, err := e.invoke(d, in, args)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// operate is invoke of an operator of one result with one or two operands, none for y, that carry
// no lens.
func operate(e *Env, d *op.Def, x, y *tensor.Tensor) (_ *Tensor, err error) {
	defer guard(&err)
	r := newResult(e, x.Placed() || y != nil && y.Placed())
	z, err := e.Runtime.Tape.Operate(d, x, y, r.plain, r.placed)
	if err != nil {
		return nil, err
	}
	return r.wrap(z), nil
}

// applyOne is Env.invoke of an operator of one result, of which no operand carries a lens.
func applyOne(e *Env, d *op.Def, in []*tensor.Tensor, args []op.Arg) (_ *Tensor, err error) {
	defer guard(&err)
	r := newResult(e, tensor.SomePlaced(in))
	y, err := e.Runtime.Tape.ApplyInto(d, in, args, r.plain, r.placed)
	if err != nil {
		return nil, err
	}
	return r.wrap(y), nil
}

// standIn returns what stands for d, applied to in; nil for nothing.
func (e *Env) standIn(d *op.Def, in []*tensor.Tensor) StandIn {
	if l := LensAmong(in); l != nil {
		return l.StandIn(e, d)
	}
	return nil
}

// DescribeTensor returns a tensor as errors show it.
func DescribeTensor(e *Env, t *tensor.Tensor) string { return lensOf(t).Describe(e, t) }

// resultOf returns y, the result of the operator d with these arguments, as the lens
// of its first argument has it.
func resultOf(fn string, d *op.Def, y starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x *Tensor
	if len(args) > 0 {
		x, _ = args[0].(*Tensor)
	} else if len(kwargs) > 0 {
		x, _ = kwargs[0][1].(*Tensor)
	}
	if x == nil || x.Lens == nil {
		return y, nil
	}
	l, ok := x.Lens.(ResultLens)
	if !ok {
		return y, nil
	}
	return l.Result(fn, d, x, y)
}
