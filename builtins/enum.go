package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
)

// An enum is a member of an enumeration: ComputePattern.TP1D. Members compare
// with ==.
type enum struct{ typ, name string }

var _ arg.Described = enum{}

func (m enum) String() string        { return m.typ + "." + m.name }
func (m enum) Describe() string      { return m.String() }
func (m enum) Type() string          { return m.typ }
func (m enum) Freeze()               {} // it cannot be changed
func (m enum) Truth() starlark.Bool  { return true }
func (m enum) Hash() (uint32, error) { return starlark.String(m.String()).Hash() }

// An enumMember is a member of an enumeration with what is said of it.
type enumMember struct{ name, doc string }

// registerEnum adds an enumeration. doc is what is said of it.
func registerEnum(typ, doc string, members []enumMember) {
	register(&Row{Name: typ, Namespace: true, Doc: doc})
	for _, m := range members {
		register(&Row{
			Name:  typ + "." + m.name,
			Doc:   m.name + " is " + m.doc + "\n>>> " + typ + "." + m.name + "\n" + typ + "." + m.name,
			Value: func() starlark.Value { return enum{typ, m.name} },
		})
	}
}

// toEnum returns v, a member of the enumeration typ.
func toEnum(typ string, v starlark.Value) (enum, error) {
	m, ok := v.(enum)
	if !ok || m.typ != typ {
		return enum{}, arg.Bad(v, "a member of "+typ, "")
	}
	return m, nil
}
