package analysis

import (
	"strings"

	"go.starlark.net/starlark"
)

// typeOfName returns the type of a name of the language.
func (l *Language) typeOfName(path string) *Type {
	v := l.value(path)
	switch {
	case v == nil:
		return nil
	case v.Type() == "module" || v.Type() == "namespace":
		return &Type{Name: "module", Path: path}
	}
	if _, ok := v.(starlark.Callable); ok {
		return &Type{Name: "function", Path: path}
	}
	if t := l.result(path); t != nil {
		return t
	}
	return &Type{Name: v.Type(), Path: path}
}

// value returns the value of a path that leads through namespaces.
func (l *Language) value(path string) starlark.Value {
	first, rest, more := strings.Cut(path, ".")
	v := l.Names[first]
	if v == nil {
		v = starlark.Universe[first]
	}
	for more && v != nil {
		h, ok := v.(starlark.HasAttrs)
		if !ok {
			return nil
		}
		first, rest, more = strings.Cut(rest, ".")
		v, _ = h.Attr(first)
	}
	return v
}

// result returns the type that Results has for a path.
func (l *Language) result(path string) *Type { return ofName(l.Results[path]) }

// ofName returns the type of a name in Results.
func ofName(name string) *Type {
	if name == "" || name[0] == '=' || name[0] == '@' {
		return nil
	}
	of, elem, found := strings.Cut(name, ":")
	if !found {
		return &Type{Name: name}
	}
	if of == "Module" {
		return &Type{Name: of, Class: elem}
	}
	return &Type{Name: of, Elem: ofName(elem)}
}
