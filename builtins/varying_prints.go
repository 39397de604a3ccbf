package builtins

import (
	"slices"

	"go.starlark.net/starlark"
)

// printsName is the function that stands for the condition of a branch that does nothing but print:
// lang.PrintsFunction.
const printsName = "<prints>"

// shows are the functions that such a branch may call.
var shows = map[string]bool{"print": true, "rank": true, "world_size": true, "str": true, "repr": true, "len": true}

// printsFunction returns it. Whether a rank prints tells nobody apart.
func printsFunction() *starlark.Builtin {
	return starlark.NewBuiltin(printsName, func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		v, ok := args[0].(*Varying)
		if !ok || v.settled || v.decided {
			return args[0], nil
		}
		names, err := starlark.Call(thread, args[1], nil, nil)
		if err == nil && all(names.(starlark.Tuple), shown) {
			if _, err = starlark.Call(thread, args[2], nil, nil); err == nil {
				return v.own, nil
			}
		}
		return v.Truth(), nil // and the branch says what is wrong, on ranks that take it
	})
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
