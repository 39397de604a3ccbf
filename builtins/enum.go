package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
)

// An enum is a member of an enumeration: ComputePattern.TP1D. Members compare
// with ==.
type enum struct{ Typ, name string }

var _ arg.Described = enum{}

func (m enum) String() string        { return m.Typ + "." + m.name }
func (m enum) Describe() string      { return m.String() }
func (m enum) Type() string          { return m.Typ }
func (m enum) Freeze()               {} // it cannot be changed
func (m enum) Truth() starlark.Bool  { return true }
func (m enum) Hash() (uint32, error) { return starlark.String(m.String()).Hash() }

// An enumMember is a member of an enumeration with what is said of it.
type enumMember struct{ Name, Doc string }

// registerEnum adds an enumeration. doc is what is said of it.
func registerEnum(typ, doc string, members []enumMember) {
	Register(&Row{Name: typ, Namespace: true, Doc: doc})
	for _, m := range members {
		Register(&Row{
			Name:  typ + "." + m.Name,
			Doc:   m.Name + " is " + m.Doc + "\n>>> " + typ + "." + m.Name + "\n" + typ + "." + m.Name,
			Value: func() starlark.Value { return enum{typ, m.Name} },
		})
	}
}

// toEnum returns v, a member of the enumeration typ.
func toEnum(typ string, v starlark.Value) (enum, error) {
	m, ok := v.(enum)
	if !ok || m.Typ != typ {
		return enum{}, arg.Bad(v, "a member of "+typ, "")
	}
	return m, nil
}
