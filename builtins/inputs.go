package builtins

import (
	"maps"

	"go.starlark.net/starlark"
)

// Inputs returns the names that the files of Options.In stand for, and what is in them,
// as values of the rank of e. The vocabulary that knows files sets it; it must not be
// changed afterwards.
var Inputs func(e *Env) (starlark.StringDict, error)

// addInputs adds to names what a run was given; it comes before what the language has
// under these names. What cannot be read ends the program where it begins.
func addInputs(e *Env, names starlark.StringDict) {
	given, err := Inputs(e)
	if err != nil && e.pending == nil {
		e.pending = err
	}
	maps.Copy(names, given)
}
