package builtins

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/internal/units"
)

// A Keyed value is indexed by names, and its methods take them: a mesh by those of
// its dims.
type Keyed interface {
	starlark.Value
	KeyNames() []string
}

// Keys implements lang.Completer.
func (e *Env) Keys(v starlark.Value) []string {
	if k, ok := v.(Keyed); ok {
		return k.KeyNames()
	}
	return nil
}

// fitting are the types of the values that a parameter takes, for parameters of which
// there are few.
var fitting = map[string][]string{
	"group": {"Group", "ProcessGroup", "DeviceMesh", "ParallelMode"}, "device_mesh": {"DeviceMesh"}, "mesh": {"DeviceMesh"}, "pg": {"ProcessGroup"},
	"dtype": {"dtype"}, "placements": {"list", "tuple"}, "module": {"Module"}, "model": {"Module"},
}

// Fits implements lang.Completer.
func (e *Env) Fits(param string, v starlark.Value) bool {
	types, ok := fitting[param]
	if !ok {
		return true
	}
	owner := v.Type()
	if o, ok := v.(owned); ok {
		owner = o.Owner()
	}
	return slices.Contains(types, v.Type()) || slices.Contains(types, owner)
}

// Titles implements lang.Completer.
func (e *Env) Titles(v starlark.Value) []string {
	if c, ok := v.(*constructor); ok {
		v = c.Builtin
	}
	switch v := v.(type) {
	case *starlark.Builtin:
		if r := v.Receiver(); r != nil {
			return titlesOf(ownersOf(r), "."+v.Name())
		}
		for _, f := range functions() {
			if f.name == v.Name() && f.owner != "" && rows[v.Name()] == nil {
				return []string{f.owner + "." + f.name, v.Name()}
			}
		}
		return []string{v.Name()}
	case *starlark.Function:
		return nil
	}
	return titlesOf(ownersOf(v), "")
}

// ownersOf returns the types whose members a value has.
func ownersOf(v starlark.Value) []string {
	if x, ok := v.(*Tensor); ok {
		return x.owners()
	}
	if o, ok := v.(owned); ok {
		return []string{v.Type(), o.Owner()}
	}
	return []string{v.Type()}
}

// titlesOf returns the titles of the documentation of rest, which is a member (".sum"), or
// "" for the type itself, in each of owners, the last of them first.
func titlesOf(owners []string, rest string) []string {
	var names []string
	for _, owner := range slices.Backward(owners) {
		names = append(names, strings.TrimPrefix(owner+rest, "builtin_function_or_method."))
	}
	return names
}

// Parameters returns the names that a call of v accepts as keywords, or nil if
// that is not known.
func (e *Env) Parameters(v starlark.Value) []string {
	switch v := v.(type) {
	case *starlark.Function:
		var names []string
		for i := range v.NumParams() {
			name, _ := v.Param(i)
			names = append(names, name)
		}
		return names
	case *starlark.Builtin:
		return builtinParameters(v)
	case *constructor:
		return builtinParameters(v.Builtin)
	}
	return nil
}

// Describe returns what a shell shows of a variable that holds v: the dtype
// and shape of a tensor and its bytes, and "" of anything else.
func (e *Env) Describe(v starlark.Value) string {
	x, ok := v.(*Tensor)
	if !ok {
		return ""
	}
	if x.T == nil {
		return x.Describe()
	}
	return x.Describe() + ", " + units.Count(x.T.Numel()*x.T.DType().Size(), "byte")
}
