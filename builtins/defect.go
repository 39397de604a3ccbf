package builtins

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// A defectError is a panic in a function that a script has called. It is a defect of
// tpsh; but the script is told where it called, may catch it as any other error, and
// the other ranks hear of it as they do of any error.
type defectError struct {
	value any
	stack []byte
}

func (e *defectError) Error() string {
	stack, _, _ := strings.Cut(string(e.stack), "\ngo.starlark.net/") // who called is in the trace of the script
	return fmt.Sprintf("internal error: %v (a defect of tpsh, not of the script)\n%s", e.value, stack)
}

// Kind returns "other".
func (e *defectError) Kind() string { return "other" }

// guard, deferred, makes a panic the error of its function.
func guard(err *error) {
	if p := recover(); p != nil {
		*err = &defectError{p, debug.Stack()}
	}
}
