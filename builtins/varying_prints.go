package builtins

import (
	"slices"

	"go.starlark.net/starlark"
)

// printsName is the function that stands for the condition of a branch that does nothing but print:
// lang.PrintsFunction.
const printsName = "<prints>"

// shows are the functions that such a branch may call.
var shows = map[string]bool{
	"print": true, "rank": true, "world_size": true, "str": true, "repr": true, "len": true,
	"abs": true, "bool": true, "float": true, "int": true, "max": true, "min": true, "round": true,
}

// printsFunction returns it. Whether a rank prints tells nobody apart.
func printsFunction() *starlark.Builtin {
	return starlark.NewBuiltin(printsName, func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		v, ok := args[0].(*Varying)
		if !ok || v.settled || v.decided {
			return args[0], nil
		}
		if allOf(thread, args[1], shown) && allOf(thread, args[2], func(starlark.Value) bool { return true }) && allOf(thread, args[3], fixed) {
			return v.own, nil
		}
		return v.Truth(), nil // and the branch says what is wrong, on ranks that take it
	})
}

// allOf reports whether f can be called, and is is so of all that it gives.
func allOf(thread *starlark.Thread, f starlark.Value, is func(v starlark.Value) bool) bool {
	list, err := starlark.Call(thread, f, nil, nil)
	return err == nil && all(list.(starlark.Tuple), is)
}

// shown reports whether printing v takes no time, and making a text of it.
func shown(v starlark.Value) bool {
	switch v := v.(type) {
	case *starlark.Builtin:
		return shows[v.Name()]
	case *starlark.List:
		return all(v, shown)
	case starlark.Tuple:
		return all(v, shown)
	case *starlark.Dict:
		return !slices.ContainsFunc(v.Items(), func(item starlark.Tuple) bool { return !shown(item[1]) })
	}
	return scalar(v) || isVarying(v) || isUnknown(v)
}
