package builtins

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"tpsh/builtins/arg"
	"tpsh/builtins/object"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
)

// IntList returns xs as a list of a script.
func IntList(xs []int) *starlark.List {
	list := make([]starlark.Value, len(xs))
	for i, x := range xs {
		list[i] = starlark.MakeInt(x)
	}
	return starlark.NewList(list)
}

// StringList returns names as a list.
func StringList(names []string) *starlark.List {
	list := make([]starlark.Value, len(names))
	for i, name := range names {
		list[i] = starlark.String(name)
	}
	return starlark.NewList(list)
}

// ShapeTuple returns s as scripts have it.
func ShapeTuple(s shape.Shape) starlark.Tuple {
	tuple := make(starlark.Tuple, len(s))
	for i, n := range s {
		tuple[i] = starlark.MakeInt(n)
	}
	return tuple
}

// StringTuple returns list as a tuple.
func StringTuple(list []string) starlark.Tuple {
	t := make(starlark.Tuple, len(list))
	for i, s := range list {
		t[i] = starlark.String(s)
	}
	return t
}

// NewStruct returns a struct as Starlark's function struct makes it.
func NewStruct(fields starlark.StringDict) *starlarkstruct.Struct {
	return starlarkstruct.FromStringDict(starlarkstruct.Default, fields)
}

// Equality answers the comparison cmp of two values of a type that has no
// order.
func Equality(typ string, cmp syntax.Token, same bool) (bool, error) {
	switch cmp {
	case syntax.EQL:
		return same, nil
	case syntax.NEQ:
		return !same, nil
	}
	return false, fmt.Errorf("%s %s %s not implemented", typ, cmp, typ)
}

// Unhashable is the error of Hash of a mutable value.
func Unhashable(v starlark.Value) error { return fmt.Errorf("unhashable type: %s", v.Type()) }

// IsList reports whether v is a list or tuple.
func IsList(v starlark.Value) bool {
	switch v.(type) {
	case *starlark.List, starlark.Tuple:
		return true
	}
	return false
}

// BadObject returns err, of package object, as an error about the argument
// called param of fn.
func BadObject(fn, param string, err error) error {
	var bad *object.Error
	if !errors.As(err, &bad) {
		return err
	}
	a := &op.ArgError{Func: fn, Param: param, Got: arg.Show(bad.Value)}
	a.Want = "None, a bool, a number, a string, a list, a tuple or a dict with strings for keys"
	if bad.Why != "" {
		a.Got = bad.Error()
	} else if bad.Path != "" {
		a.Got += " at " + bad.Path
	}
	if _, ok := bad.Value.(*Tensor); ok {
		a.Rule = strings.TrimSuffix(fn, "_object") + " takes tensors"
	}
	return a
}
