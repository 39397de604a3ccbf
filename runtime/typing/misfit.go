package typing

import (
	"fmt"
	"strings"

	"tpsh/runtime/op"
	"tpsh/runtime/spmdtype"
	"tpsh/runtime/tensor"
)

// misfit returns the error of operands of d whose types along axis do not fit together.
func (s *Scope) misfit(axis string, d *op.Def, in []*tensor.Tensor, types []spmdtype.Type, bad *spmdtype.Misfit) error {
	e := &op.ArgError{Func: d.Name}
	at, with := bad.At, bad.With
	e.Got = s.said(axis, d, in, types, at)
	if with >= 0 {
		e.Got += " and " + s.said(axis, d, in, types, with)
	}
	x := operand(d, at)
	switch bad.Why {
	case spmdtype.Mixed:
		e.Want = "I with I alone"
		e.Rule = fmt.Sprintf("the gradient of what is I is the same on all ranks, that of what is %v is not: %s sums it over %s", types[with], spmdtype.Call(x, axis, spmdtype.I, spmdtype.R), axis)
	case spmdtype.Summand:
		e.Want = "P with what all ranks have alike, or with P"
		e.Rule = "a product of a summand and of what differs is no summand: " + reduceIt(x, axis)
	case spmdtype.Added:
		e.Want = "P with P alone"
		e.Rule = fmt.Sprintf("each rank of %s would add %s, which all have: %s first%s", axis, operand(d, with), reduceIt(x, axis), partOf(operand(d, with), axis, types[with]))
	case spmdtype.Curved:
		e.Want = "what is whole"
		e.Rule = fmt.Sprintf("%s is not linear, and of summands it gives no summands: %s", d.Name, reduceIt(x, axis))
	}
	if m := in[at].Typed(); types[at] == spmdtype.P && m.Leaf != nil {
		e.Rule = fmt.Sprintf("the gradient of what is R is P, a summand on each rank: %s, or have the tensor be I and use %s of it", reduceIt(x, axis), spmdtype.Call(x, axis, spmdtype.I, spmdtype.R))
	}
	return e
}

// reduceIt suggests how to reduce x, which is P.
func reduceIt(x, axis string) string {
	return "all_reduce it over " + axis + " (" + strings.Join([]string{spmdtype.Call(x, axis, spmdtype.P, spmdtype.R), "dst=spmd.I"}, ", or ") + ")"
}

// partOf suggests how to make x, which all ranks have alike, a summand; "" if x has no type.
func partOf(x, axis string, t spmdtype.Type) string {
	if t.IsNone() {
		return ""
	}
	return fmt.Sprintf(", or make it one summand: spmd.convert(%s, %q, src=spmd.%v, dst=spmd.P)", x, axis, t)
}

// said describes an operand: "x: P over tp since a.star:3:5".
func (s *Scope) said(axis string, d *op.Def, in []*tensor.Tensor, types []spmdtype.Type, i int) string {
	name, t := operand(d, i), types[i]
	if t.IsNone() {
		if in[i].Weak() {
			return fmt.Sprintf("%s: a number", name)
		}
		return fmt.Sprintf("%s: a constant, with no type over %s", name, axis)
	}
	m := in[i].Typed()
	text := fmt.Sprintf("%s: %v over %s%s", name, t, axis, m.Since())
	if m.Leaf != nil {
		text += fmt.Sprintf(", the gradient of what is %v%s", m.Leaf.On(axis), m.Leaf.Since())
	}
	return text
}

// untyped is the error of an operand that requires grad and has no type along an axis along which another
// operand has one.
func (s *Scope) untyped(axis string, d *op.Def, in []*tensor.Tensor, i int) error {
	return &op.ArgError{Func: d.Name, Param: operand(d, i), Got: op.Describe(in[i]) + ", which requires grad, with no type over " + axis,
		Want: "one with a type", Rule: fmt.Sprintf("spmd.assert_type(%s, {%q: spmd.R}) says that its gradient is to be summed over %s, spmd.I that it is the same on all ranks, spmd.V or spmd.S(dim) that it differs", operand(d, i), axis, axis)}
}

// Seed returns an error unless dy, the gradient from which backward of y starts, has the type of y's
// gradient. A nil dy stands for ones, which are the same on all ranks.
func (s *Scope) Seed(y, dy *tensor.Tensor) error {
	if y.Placed() || y.Typed() == nil {
		return nil
	}
	for _, axis := range y.Typed().Axes() {
		t := y.Typed().On(axis)
		want := t.Gradient()
		if dy == nil || dy.Typed().Record().On(axis).IsNone() {
			if t != spmdtype.R {
				continue
			}
			return &op.ArgError{Func: "backward", Got: fmt.Sprintf("%v over %s%s, whose gradient is P: the same 1 on each rank is summed", t, axis, y.Typed().Since()), Want: "a loss that is I, V or P over " + axis,
				Rule: fmt.Sprintf("with dst=spmd.I of its all_reduce the gradient is taken once, and %s has it of what is R", spmdtype.Call("x", axis, spmdtype.R, spmdtype.I))}
		}
		if got := dy.Typed().On(axis); got.Kind() != want.Kind() {
			return &op.ArgError{Func: "backward", Param: "grad", Got: fmt.Sprintf("%v over %s%s", got, axis, dy.Typed().Since()), Want: want.String(),
				Rule: fmt.Sprintf("the gradient of what is %v%s is %v", t, y.Typed().Since(), want)}
		}
	}
	return nil
}
