package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
)

// An Enum is a member of an enumeration: ComputePattern.TP1D. Members compare
// with ==.
type Enum struct{ Typ, Name string }

var _ arg.Described = Enum{}

func (m Enum) String() string        { return m.Typ + "." + m.Name }
func (m Enum) Describe() string      { return m.String() }
func (m Enum) Type() string          { return m.Typ }
func (m Enum) Freeze()               {} // it cannot be changed
func (m Enum) Truth() starlark.Bool  { return true }
func (m Enum) Hash() (uint32, error) { return starlark.String(m.String()).Hash() }

// An EnumMember is a member of an enumeration with what is said of it.
type EnumMember struct{ Name, Doc string }

// RegisterEnum adds an enumeration. doc is what is said of it.
func RegisterEnum(typ, doc string, members []EnumMember) {
	Register(&Row{Name: typ, Namespace: true, Doc: doc})
	for _, m := range members {
		Register(&Row{
			Name:  typ + "." + m.Name,
			Doc:   m.Name + " is " + m.Doc + "\n>>> " + typ + "." + m.Name + "\n" + typ + "." + m.Name,
			Value: func() starlark.Value { return Enum{typ, m.Name} },
		})
	}
}

// ToEnum returns v, a member of the enumeration typ.
func ToEnum(typ string, v starlark.Value) (Enum, error) {
	m, ok := v.(Enum)
	if !ok || m.Typ != typ {
		return Enum{}, arg.Bad(v, "a member of "+typ, "")
	}
	return m, nil
}
