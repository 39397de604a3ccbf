package runtime

import (
	"fmt"

	"tpsh/comm"
)

// An AsideError is the refusal of a call that would communicate while a debugger
// evaluates an expression: the other ranks do not make it.
type AsideError struct{ Func string }

func (e *AsideError) Error() string {
	return fmt.Sprintf("%s: what a debugger evaluates does not communicate", e.Func)
}

// Function returns the function whose error it is.
func (e *AsideError) Function() string { return e.Func }

// Aside has the rank refuse to communicate until release is called.
func (r *Rank) Aside() (release func()) {
	outer := r.aside
	r.aside = true
	return func() { r.aside = outer }
}

// nothing is the result of waiting where nobody looks on.
func nothing() {}

// waiting says that the rank is about to wait for others in a call, and the function that it returns says
// that it does so no more.
func (r *Rank) waiting(call fmt.Stringer, collective bool) (over func()) {
	if r.Waits == nil {
		return nothing
	}
	return r.Waits(call, collective && !r.quiet)
}

// described is a call as errors show it.
type described struct{ op *comm.Op }

func (d described) String() string { return comm.CallText(&d.op.Desc, d.op.Kind) }
