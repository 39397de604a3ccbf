package builtins

import (
	"maps"

	"go.starlark.net/starlark"
)

// addInputs adds to names what a run was given; it comes before what the language has
// under these names. What cannot be read ends the program where it begins.
func addInputs(e *Env, names starlark.StringDict) {
	given, err := readInputs(e)
	if err != nil && e.pending == nil {
		e.pending = err
	}
	maps.Copy(names, given)
}
