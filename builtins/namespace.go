package builtins

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// A namespace is a module of the language, such as F or assert.
type namespace struct{ *starlarkstruct.Module }

var _ starlark.HasAttrs = (*namespace)(nil)

func newNamespace(name string, members starlark.StringDict) *namespace {
	return &namespace{&starlarkstruct.Module{Name: name, Members: members}}
}

// Attr implements starlark.HasAttrs. The error of a name that is not there names
// the module.
func (n *namespace) Attr(name string) (starlark.Value, error) {
	if v := n.Members[name]; v != nil {
		return v, nil
	}
	return nil, noMember(n.Name, name, n.AttrNames())
}

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
