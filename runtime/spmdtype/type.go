package spmdtype

import (
	"fmt"
	"strconv"
	"strings"
)

// A Kind is what ranks along an axis hold of a tensor.
type Kind uint8

const (
	None       Kind = iota // no type: a constant, or a tensor that was given none
	Replicated             // R
	Invariant              // I
	Varying                // V and S(i)
	Partial                // P
)

// A Type is the type of a local tensor along one axis of a mesh. Types compare with ==; the
// zero value is no type.
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

// S returns the type of a tensor sharded along dim: each rank has its chunk of that dim of the
// whole. A negative dim counts from the back, until Of has resolved it.
func S(dim int) Type { return Type{kind: Varying, dim: dim, cut: true} }

// Kind returns the kind of t; that of S(i) is Varying.
func (t Type) Kind() Kind { return t.kind }

// IsNone reports whether t is no type.
func (t Type) IsNone() bool { return t.kind == None }

// Block returns the dim of S(dim), if t is such.
func (t Type) Block() (dim int, ok bool) { return t.dim, t.cut }

// Same reports whether all ranks have the same value: t is R or I.
func (t Type) Same() bool { return t.kind == Replicated || t.kind == Invariant }

// Of returns t for a tensor of ndim dims, with a negative dim made positive; ok is false if the
// tensor has no such dim.
func (t Type) Of(ndim int) (Type, bool) {
	if !t.cut {
		return t, true
	}
	if t.dim < 0 {
		t.dim += ndim
	}
	return t, t.dim >= 0 && t.dim < ndim
}

// Gradient returns the type of the gradient of a tensor of type t: P for R, R for P, and t
// itself for I, V and S(i).
func (t Type) Gradient() Type {
	switch t.kind {
	case Replicated:
		return P
	case Partial:
		return R
	}
	return t
}

// Is reports whether a tensor of type t fits where type want is asked for. S(i) fits V.
func (t Type) Is(want Type) bool { return t == want || want == V && t.kind == Varying }

// String returns t as scripts write it behind "spmd.": R, S(0).
func (t Type) String() string {
	if t.cut {
		return "S(" + strconv.Itoa(t.dim) + ")"
	}
	return [...]string{None: "no type", Replicated: "R", Invariant: "I", Varying: "V", Partial: "P"}[t.kind]
}

// Types holds the types of a local tensor by axis, in the order in which the axes were given. It is
// immutable; nil has no axes.
type Types struct {
	axes  []string
	types []Type
}

// On returns the type along axis, or the zero Type if ts has none.
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

// Axes returns the axes that have a type. The caller must not modify the slice.
func (ts *Types) Axes() []string {
	if ts == nil {
		return nil
	}
	return ts.axes
}

// With returns ts with type t along axis. If t is no type, the axis is removed. If nothing changes,
// With returns ts itself.
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

// Each returns ts with f applied to every type.
func (ts *Types) Each(f func(axis string, t Type) Type) *Types {
	out := ts
	for i, a := range ts.Axes() {
		out = out.With(a, f(a, ts.types[i]))
	}
	return out
}

// Gradient returns the types of the gradient of a tensor with types ts.
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

// A Mark is the types of a tensor, and the line where it got them.
type Mark struct {
	*Types
	At fmt.Stringer // the line; nil if it is not known
	// Leaf is the mark of the tensor whose gradient this is; nil if this is no gradient.
	Leaf *Mark
}

// Since returns where the tensor got its types, for an error: " since a.star:3:5", or "" if that
// is not known.
func (m *Mark) Since() string {
	if m == nil || m.At == nil || m.At.String() == "" {
		return ""
	}
	return " since " + m.At.String()
}

// OfGradient returns the mark of the gradient of a tensor with mark m.
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
