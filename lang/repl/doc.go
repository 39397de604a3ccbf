// Package repl is the interactive shell: it reads statements, runs each on
// all ranks of a [lang.Session], and shows what comes of it.
//
// A statement is read until it is complete. The value of an expression is
// shown once where all ranks agree, else in a row for each distinct value,
// after its ranks. An error on one rank ends the statement on all and leaves
// the shell usable; so does an interrupt. A line that begins with a colon is a
// command of the shell (see Command).
package repl
