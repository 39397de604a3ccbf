// Package repl is the interactive shell: it reads statements, runs each on
// all ranks of a [lang.Session], and shows its value, output and errors.
//
// A statement is read until it is complete. The value of an expression is
// shown once where all ranks agree, else in a row for each distinct value,
// after its ranks. An error on one rank ends the statement on all and leaves
// the shell usable; so does an interrupt. A line that begins with a colon is a
// command of the shell (see Command).
//
// Lines come from a Reader: a terminal with history and completion (Stdin), or any
// text (Plain), as tests have it. For example
//
//	>>> rank() * 10
//	[0] 0
//	[1] 10
package repl
