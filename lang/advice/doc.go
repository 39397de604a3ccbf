// Package advice names substitutes for things that programs of Python have and
// this language has not. It knows names and the messages of Starlark's
// interpreter, and no values.
//
// There are two occasions. A name is not defined: torch, np, isinstance, true.
// And the interpreter refuses something while a program runs: an operator
// between two types, an attribute that is not there, an argument. Both answers
// are half sentences that stand in brackets behind the message:
//
//	undefined: torch (the names of torch are there without a name in front: write zeros)
//	list has no .sort field or method (sorted(x) gives a list in order)
//
//	advice.Undefined("torch", []string{"zeros"}, known)
//	advice.Refused("list has no .sort field or method")
//
// Refusals before a program is run, as of import, are package source's.
package advice
