package builtins

import (
	"fmt"
	"strings"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// A namespace is a module of the language, such as F or assert. Its members are made when
// the first of them is asked for.
type namespace struct {
	*starlarkstruct.Module // which has the name alone
	members                func() starlark.StringDict
}

var _ starlark.HasAttrs = (*namespace)(nil)

// newNamespace returns a namespace with what members returns, which nobody can change.
func newNamespace(name string, members func() starlark.StringDict) *namespace {
	return &namespace{&starlarkstruct.Module{Name: name}, sync.OnceValue(members)}
}

// Attr implements starlark.HasAttrs. The error of a name that is not there names
// the module.
func (n *namespace) Attr(name string) (starlark.Value, error) {
	if v := n.members()[name]; v != nil {
		return v, nil
	}
	return nil, noMember(n.Name, name, n.AttrNames())
}

// AttrNames implements starlark.HasAttrs.
func (n *namespace) AttrNames() []string { return n.members().Keys() }

// maxMembers is how many names an error lists.
const maxMembers = 8

// noMember is the error of an attribute that owner does not have. The interpreter
// adds the nearest spelling.
func noMember(owner, name string, names []string) error {
	text := fmt.Sprintf("%s has no .%s", owner, name)
	if 0 < len(names) && len(names) <= maxMembers {
		text += " (it has ." + strings.Join(names, ", .") + ")"
	}
	return starlark.NoSuchAttrError(text)
}
