package spmdtype

import (
	"fmt"
	"strconv"
	"strings"
)

// A Kind is what ranks along an axis hold of a tensor.
type Kind uint8

const (
	None       Kind = iota // nothing is known: a constant, or a tensor that no type was given
	Replicated             // R
	Invariant              // I
	Varying                // V and S(i)
	Partial                // P
)

// A Type is what a local tensor is along one axis of a mesh. Types compare with ==; the
// zero value is none.
type Type struct {
	kind Kind
	dim  int  // of S(dim)
	cut  bool // it is S(dim)
}

// The types but S(i).
var (
	R = Type{kind: Replicated}
	I = Type{kind: Invariant}
	V = Type{kind: Varying}
	P = Type{kind: Partial}
)

// S returns the type of what varies and is block i of a whole: each rank has its chunk of
// dim dim. A negative dim counts from the back until Of has seen it.
func S(dim int) Type { return Type{kind: Varying, dim: dim, cut: true} }

// Kind returns what ranks hold, S(i) being Varying.
func (t Type) Kind() Kind { return t.kind }

// IsNone reports whether nothing is known.
func (t Type) IsNone() bool { return t.kind == None }

// Block returns the dim of S(dim), if t is such.
func (t Type) Block() (dim int, ok bool) { return t.dim, t.cut }

// Same reports whether all ranks have the same.
func (t Type) Same() bool { return t.kind == Replicated || t.kind == Invariant }

// Of returns t for a tensor of so many dims, a negative dim counted from the front; not ok
// if there is no such dim.
func (t Type) Of(ndim int) (Type, bool) {
	if !t.cut {
		return t, true
	}
	if t.dim < 0 {
		t.dim += ndim
	}
	return t, t.dim >= 0 && t.dim < ndim
}

// Gradient returns the type of the gradient of what is a t: P of R, R of P, and itself of
// what is I, V or S(i).
func (t Type) Gradient() Type {
	switch t.kind {
	case Replicated:
		return P
	case Partial:
		return R
	}
	return t
}

// Is reports whether what is a t is a want, too: S(i) is V.
func (t Type) Is(want Type) bool { return t == want || want == V && t.kind == Varying }

// String returns t as scripts write it behind "spmd.": R, S(0).
func (t Type) String() string {
	if t.cut {
		return "S(" + strconv.Itoa(t.dim) + ")"
	}
	return [...]string{None: "no type", Replicated: "R", Invariant: "I", Varying: "V", Partial: "P"}[t.kind]
}

// Types is the type of a local tensor along each axis that it has one for, in the order in
// which they were given. It is immutable.
type Types struct {
	axes  []string
	types []Type
}

// On returns the type along an axis; none if there is none.
func (ts *Types) On(axis string) Type {
	if ts != nil {
		for i, a := range ts.axes {
			if a == axis {
				return ts.types[i]
			}
		}
	}
	return Type{}
}

// Axes returns the axes that have a type; the caller must not modify it.
func (ts *Types) Axes() []string {
	if ts == nil {
		return nil
	}
	return ts.axes
}

// With returns ts with the type t along axis, ts itself if it has it; a t that is none takes it away.
func (ts *Types) With(axis string, t Type) *Types {
	if ts.On(axis) == t {
		return ts
	}
	out := &Types{}
	found := false
	for i, a := range ts.Axes() {
		u := ts.types[i]
		if a == axis {
			u, found = t, true
		}
		if !u.IsNone() {
			out.axes, out.types = append(out.axes, a), append(out.types, u)
		}
	}
	if !found {
		out.axes, out.types = append(out.axes, axis), append(out.types, t)
	}
	return out
}

// Equal reports whether both have the same type along every axis.
func (ts *Types) Equal(us *Types) bool {
	if ts == us {
		return true
	}
	if len(ts.Axes()) != len(us.Axes()) {
		return false
	}
	for i, a := range ts.Axes() {
		if us.On(a) != ts.types[i] {
			return false
		}
	}
	return true
}

// Each returns f of every type of ts.
func (ts *Types) Each(f func(axis string, t Type) Type) *Types {
	out := ts
	for i, a := range ts.Axes() {
		out = out.With(a, f(a, ts.types[i]))
	}
	return out
}

// Gradient returns the types of the gradient of what has ts.
func (ts *Types) Gradient() *Types {
	return ts.Each(func(_ string, t Type) Type { return t.Gradient() })
}

// String returns ts as people write it: {dp: S(0), tp: R}.
func (ts *Types) String() string {
	texts := make([]string, len(ts.Axes()))
	for i, a := range ts.Axes() {
		texts[i] = a + ": " + ts.types[i].String()
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

// A Mark is what a tensor keeps: its types, and where it got them.
type Mark struct {
	*Types
	At fmt.Stringer // the line; nil if it is not known
	// Leaf is the mark of the tensor whose gradient this is; nil for no gradient.
	Leaf *Mark
}

// Since says where the tensor got its types, as errors do: ", since a.star:3:5", "" if it is
// not known.
func (m *Mark) Since() string {
	if m == nil || m.At == nil || m.At.String() == "" {
		return ""
	}
	return " since " + m.At.String()
}

// OfGradient returns the mark of the gradient of a tensor that has m.
func (m *Mark) OfGradient() *Mark {
	if m == nil {
		return nil
	}
	return &Mark{Types: m.Types.Gradient(), At: m.At, Leaf: m}
}

// Record returns the types of m, nil if m is nil.
func (m *Mark) Record() *Types {
	if m == nil {
		return nil
	}
	return m.Types
}
