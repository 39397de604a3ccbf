// Package vocabularies is the list of the vocabularies that the command has: what
// scripts find besides tensors, operators and assertions, each of which is a folder
// of tpsh/builtins. Nothing else in the module names them all.
//
// A vocabulary adds its names to the language when it is imported, in its init
// functions, so this package has no code. To add one, write a folder (see
// CONTRIBUTING.md, "Add a vocabulary") and a line here:
//
//	_ "tpsh/builtins/greeting"
//
// The command imports the package, and so do the tests of the whole language: those
// of tpsh/builtins, the benchmarks, and the reference page.
package vocabularies

import (
	_ "tpsh/builtins/collective"
	_ "tpsh/builtins/colossal"
	_ "tpsh/builtins/dtensor"
	_ "tpsh/builtins/files"
	_ "tpsh/builtins/jax"
	_ "tpsh/builtins/nn"
	_ "tpsh/builtins/spmd"
)
