package builtins

import (
	"sync"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

// functionsOfF holds the functions of F by name.
var functionsOfF = sync.OnceValue(func() map[string]*signature {
	all := map[string]*signature{}
	for _, s := range signatures(op.Namespace, "F") {
		all[s.name] = s
	}
	return all
})

// CheckChoice returns an error of the constructor fn unless v is one of the
// choices that the function called name of F has for the parameter param.
func CheckChoice(fn, param, name string, v starlark.Value) error {
	for _, p := range functionsOfF()[name].made().slots {
		if p.Name == param {
			_, err := toChoice(p.Param, v)
			return arg.In(fn, param, err)
		}
	}
	panic("builtins: F." + name + " has no parameter " + param)
}

// FunctionOfF returns the function called name of F.
func FunctionOfF(name string) *starlark.Builtin { return functionsOfF()[name].function() }

// CallF calls the function called name of F.
func CallF(e *Env, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return functionsOfF()[name].call(e, nil, args, kwargs)
}
