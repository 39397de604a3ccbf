package builtins

import (
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// compareName is the function that stands for comparisons where the script is run
// on shapes: lang.CompareFunction.
const compareName = "<compare>"

// comparisons are the tokens that compareName is called with.
var comparisons = map[string]syntax.Token{"==": syntax.EQL, "!=": syntax.NEQ, "<": syntax.LT, "<=": syntax.LE, ">": syntax.GT, ">=": syntax.GE}

// compareIn is the comparison of args[1] and args[2] that args[0] names: unknown if
// it hangs on an unknown number, one of them or an element of one.
func compareIn(e *Env, _ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	name, x, y := string(args[0].(starlark.String)), args[1], args[2]
	if among, ok := amongInts(e, name, x, y); ok {
		return among, nil
	}
	if e.varied && (varies(x) || varies(y)) && !isUnknown(x) && !isUnknown(y) {
		return lift(e, func(a []starlark.Value) (starlark.Value, error) {
			return compareIn(e, nil, nil, starlark.Tuple{args[0], a[0], a[1]}, nil)
		}, true, x, y)
	}
	if !hangsOnUnknown(name, x, y) {
		return plainly(name, x, y)
	}
	var (
		answer known
		err    error
	)
	switch name {
	case "in", "not in":
		answer, err = within(x, y)
	case "==", "!=":
		answer, err = alike(x, y, maxCompared)
	default:
		answer, err = ordered(comparisons[name], x, y)
	}
	switch {
	case err != nil:
		return nil, err
	case answer == perhaps:
		return &Unknown{e, "bool"}, nil
	}
	return starlark.Bool((answer == yes) != (name == "!=" || name == "not in")), nil
}

// plainly is a comparison of values without unknown numbers.
func plainly(name string, x, y starlark.Value) (starlark.Value, error) {
	if name == "in" || name == "not in" {
		v, err := starlark.Binary(syntax.IN, x, y)
		if err == nil && name == "not in" {
			v = !v.Truth()
		}
		return v, err
	}
	same, err := starlark.Compare(comparisons[name], x, y)
	return starlark.Bool(same), err
}

// maxCompared is how deep values are compared, as in the interpreter.
const maxCompared = 10

// A known says what is known of a comparison.
type known int

const (
	no known = iota
	perhaps
	yes
)

func knownOf(b bool) known {
	if b {
		return yes
	}
	return no
}

// hangsOnUnknown reports whether the comparison may be unknown.
func hangsOnUnknown(name string, x, y starlark.Value) bool {
	switch {
	case isUnknown(x) || isUnknown(y):
		return true
	case name != "in" && name != "not in":
		return x.Type() == y.Type() && (holdsUnknown(x) || holdsUnknown(y))
	}
	switch y.(type) {
	case *starlark.List, starlark.Tuple:
		return holdsUnknown(x) || holdsUnknown(y)
	}
	return holdsUnknown(x)
}

// holdsUnknown reports whether v is unknown or an element of the list, tuple, dict or struct
// v holds one, as deep as values are compared.
func holdsUnknown(v starlark.Value) bool { return unknownWithin(v, maxCompared) }

func unknownWithin(v starlark.Value, depth int) bool {
	if depth == 0 {
		return false
	}
	switch v := v.(type) {
	case *Unknown:
		return true
	case *starlark.List, starlark.Tuple:
		s := v.(starlark.Indexable)
		for i := range s.Len() {
			if unknownWithin(s.Index(i), depth-1) {
				return true
			}
		}
	case *starlark.Dict:
		for _, item := range v.Items() {
			if unknownWithin(item[1], depth-1) {
				return true
			}
		}
	case *starlarkstruct.Struct:
		return slices.ContainsFunc(v.AttrNames(), func(name string) bool { return unknownWithin(fieldOf(v, name), depth-1) })
	}
	return false
}

// fieldOf returns a field that s has.
func fieldOf(s *starlarkstruct.Struct, name string) starlark.Value {
	v, _ := s.Attr(name)
	return v
}

// alike says whether x == y.
func alike(x, y starlark.Value, depth int) (known, error) {
	if isUnknown(x) || isUnknown(y) {
		if x == starlark.None || y == starlark.None {
			return no, nil
		}
		return perhaps, nil
	}
	a, b, ok := sequences(x, y)
	if ok && depth > 0 {
		if a.Len() != b.Len() {
			return no, nil
		}
		answer := yes
		for i := range a.Len() {
			one, err := alike(a.Index(i), b.Index(i), depth-1)
			if err != nil || one == no {
				return no, err
			}
			answer = min(answer, one)
		}
		return answer, nil
	}
	d, isDict := x.(*starlark.Dict)
	if other, both := y.(*starlark.Dict); isDict && both && depth > 0 {
		return alikeDicts(d, other, depth)
	}
	fields, isStruct := x.(*starlarkstruct.Struct)
	if other, both := y.(*starlarkstruct.Struct); isStruct && both && depth > 0 {
		return alikeStructs(fields, other, depth)
	}
	same, err := starlark.EqualDepth(x, y, depth)
	return knownOf(same), err
}

// alikeDicts is alike of dicts.
func alikeDicts(x, y *starlark.Dict, depth int) (known, error) {
	if x.Len() != y.Len() {
		return no, nil
	}
	answer := yes
	for _, item := range x.Items() {
		other, found, err := y.Get(item[0])
		if err != nil || !found {
			return no, err
		}
		one, err := alike(item[1], other, depth-1)
		if err != nil || one == no {
			return no, err
		}
		answer = min(answer, one)
	}
	return answer, nil
}

// alikeStructs is alike of structs.
func alikeStructs(x, y *starlarkstruct.Struct, depth int) (known, error) {
	names := x.AttrNames()
	if !slices.Equal(names, y.AttrNames()) {
		return no, nil
	}
	answer, err := alike(x.Constructor(), y.Constructor(), depth-1)
	for _, name := range names {
		if err != nil || answer == no {
			return no, err
		}
		var one known
		one, err = alike(fieldOf(x, name), fieldOf(y, name), depth-1)
		answer = min(answer, one)
	}
	return answer, err
}

// sequences returns x and y if both are lists or both tuples.
func sequences(x, y starlark.Value) (a, b starlark.Indexable, ok bool) {
	switch x := x.(type) {
	case *starlark.List:
		y, ok := y.(*starlark.List)
		return x, y, ok
	case starlark.Tuple:
		y, ok := y.(starlark.Tuple)
		return x, y, ok
	}
	return nil, nil, false
}

// ordered says whether x < y, or what else tok is: of lists and tuples what it is of the
// first elements that differ.
func ordered(tok syntax.Token, x, y starlark.Value) (known, error) {
	if isUnknown(x) || isUnknown(y) {
		return perhaps, nil
	}
	a, b, ok := sequences(x, y)
	if !ok {
		same, err := starlark.Compare(tok, x, y)
		return knownOf(same), err
	}
	for i := range min(a.Len(), b.Len()) {
		same, err := alike(a.Index(i), b.Index(i), maxCompared)
		switch {
		case err != nil:
			return no, err
		case same == no:
			return ordered(tok, a.Index(i), b.Index(i))
		case same == perhaps:
			return perhaps, nil
		}
	}
	holds, err := starlark.Compare(tok, starlark.MakeInt(a.Len()), starlark.MakeInt(b.Len()))
	return knownOf(holds), err
}

// within says whether x is in y.
func within(x, y starlark.Value) (known, error) {
	var list starlark.Indexable
	switch y := y.(type) {
	case *starlark.List:
		list = y
	case starlark.Tuple:
		list = y
	default:
		if holdsUnknown(x) {
			return perhaps, nil
		}
		v, err := starlark.Binary(syntax.IN, x, y)
		return knownOf(err == nil && bool(v.Truth())), err
	}
	answer := no
	for i := range list.Len() {
		one, err := alike(x, list.Index(i), maxCompared)
		if err != nil || one == yes {
			return one, err
		}
		answer = max(answer, one)
	}
	return answer, nil
}
