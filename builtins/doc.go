// Package builtins is the language: what tpsh scripts see, as Starlark values
// over package runtime.
//
// Names come from tables. Operators come from package op, with their methods,
// functions and documentation; everything else is a row of a table here. The
// predeclared names, completion and the reference are made from both.
package builtins
