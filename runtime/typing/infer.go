package typing

import (
	"fmt"
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/spmdtype"
	"tpsh/runtime/tensor"
)

// A Scope infers types while they are on.
type Scope struct {
	Ctx *op.Ctx
	// Size returns the number of ranks of an axis, or 0 if that is not known.
	Size func(axis string) int
	// Spot returns the line of the script that is running.
	Spot func() fmt.Stringer
}

// Infer returns the marks of the results of d applied to in: nil if they have no types, and a single mark
// if all results have the same. Operands whose types do not fit together are an error.
func (s *Scope) Infer(d *op.Def, in []*tensor.Tensor, args []op.Arg) ([]*spmdtype.Mark, error) {
	axes, placed := axesOf(in)
	if len(axes) == 0 {
		return nil, nil
	}
	if placed != nil {
		return nil, besidePlaced(d, in, placed)
	}
	results := make([]*spmdtype.Types, 1)
	for _, axis := range axes {
		out, err := s.along(axis, d, in, args)
		if err != nil {
			return nil, err
		}
		for len(results) < len(out) { // axes before had all results alike
			results = append(results, results[0])
		}
		for i := range results {
			results[i] = results[i].With(axis, out[min(i, len(out)-1)])
		}
	}
	if d.InPlace {
		return nil, s.stored(d, in, results[0])
	}
	return s.marks(in, results), nil
}

// axesOf returns the axes along which any of in has a type, and the first distributed tensor of in, or
// nil.
func axesOf(in []*tensor.Tensor) (axes []string, placed *tensor.Tensor) {
	for _, x := range in {
		if x == nil {
			continue
		}
		if x.Placed() {
			if placed == nil {
				placed = x
			}
			continue
		}
		for _, a := range x.Typed().Record().Axes() {
			if !slices.Contains(axes, a) {
				axes = append(axes, a)
			}
		}
	}
	return axes, placed
}

// along returns the types of the results along axis: a single one if all have the same.
func (s *Scope) along(axis string, d *op.Def, in []*tensor.Tensor, args []op.Arg) ([]spmdtype.Type, error) {
	var room [4]spmdtype.Type
	types := room[:0]
	for i, x := range in {
		t := spmdtype.Type{}
		if x != nil {
			if t = x.Typed().Record().On(axis); t.IsNone() && x.RequiresGrad() {
				return nil, s.untyped(axis, d, in, i)
			}
		}
		types = append(types, t)
	}
	out, bad := spmdtype.Meet(types, func() []spmdtype.Row { return s.rows(axis, d, in, args, types) })
	if bad != nil {
		return nil, s.misfit(axis, d, in, types, bad)
	}
	return out, nil
}

// rows returns the row by which d works on operands of the given types along axis. If there is none and
// an operand is P, it returns the row for operands that are all P, which an error explains itself with.
func (s *Scope) rows(axis string, d *op.Def, in []*tensor.Tensor, args []op.Arg, types []spmdtype.Type) []spmdtype.Row {
	if d.InPlace {
		if d = op.Lookup(d.Base); d == nil {
			return nil
		}
	}
	parts := 1
	if s.Size != nil {
		parts = max(s.Size(axis), 1)
	}
	held := make([]mesh.Placement, len(in))
	var list []spmdtype.Row
	try := func(in2 []spmdtype.Type) {
		if out := op.PlainRow(s.Ctx, d, in, args, held, parts); out != nil {
			if ts := typesOf(out); ts != nil {
				list = append(list, spmdtype.Row{In: in2, Out: ts})
			}
		}
	}
	partial := false
	for i, t := range types {
		held[i] = placementOf(t)
		partial = partial || t == spmdtype.P
	}
	known := make([]spmdtype.Type, len(types))
	for i, t := range types {
		if known[i] = t; t.IsNone() && in[i] != nil {
			known[i] = spmdtype.R
		}
	}
	try(known)
	if list == nil && partial {
		all := make([]spmdtype.Type, len(in))
		for i, x := range in {
			if x != nil {
				all[i], held[i] = spmdtype.P, mesh.Partial(mesh.Sum)
			}
		}
		try(all)
	}
	return list
}

// placementOf returns the placement that stands for t in a sharding rule.
func placementOf(t spmdtype.Type) mesh.Placement {
	if d, ok := t.Block(); ok {
		return mesh.Shard(d)
	}
	if t == spmdtype.P {
		return mesh.Partial(mesh.Sum)
	}
	return mesh.Replicate()
}

// Of returns the type of a local tensor that is placed as p. Partial placements other than sums have none.
func Of(p mesh.Placement) spmdtype.Type {
	if d, ok := p.Shard(); ok {
		return spmdtype.S(d)
	}
	if by, ok := p.Partial(); ok {
		if by != mesh.Sum {
			return spmdtype.Type{}
		}
		return spmdtype.P
	}
	return spmdtype.R
}

// typesOf returns the types of results with the placements out; nil if one has no type.
func typesOf(out []mesh.Placement) []spmdtype.Type {
	list := make([]spmdtype.Type, len(out))
	for i, p := range out {
		if list[i] = Of(p); list[i].IsNone() {
			return nil
		}
	}
	return list
}

// marks returns the marks of results with these types, at the line of the operator. A result with the
// types of an operand shares their record.
func (s *Scope) marks(in []*tensor.Tensor, results []*spmdtype.Types) []*spmdtype.Mark {
	list := make([]*spmdtype.Mark, len(results))
	for i, ts := range results {
		var leaf *spmdtype.Mark // of a gradient: what is linear in it is one, too
		for _, x := range in {
			if x != nil && !x.Placed() && x.Typed() != nil && x.Typed().Types.Equal(ts) {
				ts, leaf = x.Typed().Types, x.Typed().Leaf // one record
				break
			}
		}
		if len(ts.Axes()) > 0 {
			list[i] = &spmdtype.Mark{Types: ts, At: s.Spot(), Leaf: leaf}
		}
	}
	return list
}

// stored updates the types of the operands that d writes into: one without types gets those of the
// value, and S(i) becomes V if a V is stored. Any other change of type is an error.
func (s *Scope) stored(d *op.Def, in []*tensor.Tensor, value *spmdtype.Types) error {
	for i, x := range in {
		if !d.Changes(i) || x == nil {
			break
		}
		had := x.Typed().Record()
		for _, axis := range value.Axes() {
			was, is := had.On(axis), value.On(axis)
			switch {
			case was.IsNone(), is == spmdtype.V && was.Kind() == spmdtype.Varying:
				had = had.With(axis, is)
			case is.Is(was):
			default:
				return &op.ArgError{Func: d.Name, Param: d.Params[0].Name,
					Got:  fmt.Sprintf("%s over %s%s to store what is %s", was, axis, x.Typed().Since(), is),
					Want: "what is " + was.String() + ", too", Rule: "a tensor that is written into keeps its type" + orElse(spmdtype.Call("x", axis, is, was))}
			}
		}
		if had != x.Typed().Record() {
			x.SetTyped(&spmdtype.Mark{Types: had, At: s.Spot()})
		}
	}
	return nil
}

func orElse(call string) string {
	if call == "" {
		return ""
	}
	return ": " + call + " has it"
}

// besidePlaced returns an error if a plain operand beside a distributed one, where it counts as
// replicated, has a type that says otherwise.
func besidePlaced(d *op.Def, in []*tensor.Tensor, placed *tensor.Tensor) error {
	names := placed.Layout().Mesh().Names()
	for i, x := range in {
		if x == nil || x.Placed() || x.Typed() == nil {
			continue
		}
		for _, axis := range x.Typed().Axes() {
			if t := x.Typed().On(axis); !t.Same() && slices.Contains(names, axis) {
				return &op.ArgError{Func: d.Name, Param: operand(d, i), Got: fmt.Sprintf("%s over %s%s beside a distributed tensor", t, axis, x.Typed().Since()),
					Want: "a tensor that all ranks have alike", Rule: "a plain tensor counts as replicated there: DTensor.from_local(x, mesh, placements) says what it is"}
			}
		}
	}
	return nil
}

// operand returns the name of operand i of d.
func operand(d *op.Def, i int) string {
	if p := d.InParam(i); p != nil {
		return p.Name
	}
	return "x"
}

// Placed returns the placement that a script writes for a local tensor of type t; "" if there is none.
func Placed(t spmdtype.Type) string {
	if t == spmdtype.V {
		return ""
	}
	return placementOf(t).Script()
}
