package lang

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// Kinds of failures on which a report or an exit status depends.
const (
	kindMismatch = "mismatch"
	kindDeadlock = "deadlock"
	kindPeer     = "peer"
	kindFail     = "fail"
	kindOther    = "other"
)

// A Failure says how a rank's program went wrong, and where. It crosses
// process boundaries, so it holds no error.
type Failure struct {
	// Kind is argument, mismatch, deadlock, peer, assertion, fail or other.
	Kind string `json:"kind"`
	// Function names the function whose error it is, or is "".
	Function string `json:"function,omitempty"`
	// Message is the error's text without the function's name.
	Message text `json:"message"`
	// Ranks lists the ranks concerned, if the error says so.
	Ranks []int `json:"ranks,omitempty"`
	// Trace is the call stack, outermost first, without the builtin function
	// in which the error arose.
	Trace []Frame `json:"trace,omitempty"`
	// Within names that builtin function, or is "".
	Within string `json:"within,omitempty"`

	// Ended says that the program had run to its end, and failed in what it
	// waited for there.
	Ended bool `json:"ended,omitempty"`
	// Killed says that the rank was ended on purpose, as a death would.
	Killed bool `json:"killed,omitempty"`
	// Skipped says that the program asked to be skipped.
	Skipped bool `json:"skipped,omitempty"`
	// Lost says that the rank went away without a word.
	Lost bool `json:"lost,omitempty"`
	// Static says that the source does not compile. Message then has one
	// line, with its position, for each mistake.
	Static bool `json:"static,omitempty"`
	// Stop says why the program was ended before its time, or is "".
	Stop stopReason `json:"stop,omitempty"`
}

// A Frame is one line of a traceback, or stands for calls that are left out.
type Frame struct {
	Name    string `json:"name,omitempty"`
	Pos     string `json:"pos,omitempty"` // file:line:col, or <builtin>
	Skipped int    `json:"skipped,omitempty"`
	// Repeated is how many more times in a row the line would stand there.
	Repeated int `json:"repeated,omitempty"`
}

// Where returns the position of the failure in a source file, or "".
func (f *Failure) Where() string {
	if i := f.place(); i >= 0 {
		return f.Trace[i].Pos
	}
	return ""
}

// place returns the index of the innermost frame in a source file, or -1.
func (f *Failure) place() int {
	for i := len(f.Trace) - 1; i >= 0; i-- {
		if p := f.Trace[i].Pos; p != "" && p != builtinPos {
			return i
		}
	}
	return -1
}

const builtinPos = "<builtin>"

// A panicError is a defect that was caught at the outermost function.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("internal error: %v (a defect of tpsh, not of the script)\n%s", e.value, e.stack)
}

// protect calls f and returns a panic in it as an error.
func protect(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p, debug.Stack()}
		}
	}()
	return f()
}

// cancelledPrefix begins the text of the untyped error with which the
// interpreter answers Thread.Cancel.
const cancelledPrefix = "Starlark computation cancelled: "

// realError returns the error that ended a program, with the call stack of err: pending, which
// is the error of a value that could not return it; else the cause of ctx, if the
// interpreter stopped because that has ended; else err itself.
func realError(ctx context.Context, err, pending error) error {
	if pending == nil && err != nil && ctx.Err() != nil && wasCancelled(err) {
		pending = context.Cause(ctx)
	}
	if pending == nil {
		return err
	}
	return &located{pending, deepest(err)}
}

// wasCancelled reports whether err is what the interpreter, or an operation
// that was given the context, returns when it is told to stop.
func wasCancelled(err error) bool {
	if e := deepest(err); e != nil && strings.HasPrefix(e.Msg, cancelledPrefix) {
		return true
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// A located is an error that took the place of another, whose call stack it
// keeps.
type located struct {
	error
	at *starlark.EvalError // or nil
}

func (e *located) Unwrap() error { return e.error }

// deepest returns the innermost evaluation error of a chain, which has the
// longest call stack, or nil.
func deepest(err error) *starlark.EvalError {
	var found *starlark.EvalError
	for err != nil {
		if e, ok := err.(*starlark.EvalError); ok {
			found = e
		}
		if e, ok := err.(*located); ok && e.at != nil && found == nil {
			return e.at
		}
		err = errors.Unwrap(err)
	}
	return found
}

// newFailure describes the error that ended a program.
func newFailure(err error) *Failure {
	f := &Failure{Kind: kindOther}
	at := deepest(err)
	if at != nil {
		f.setTrace(at.CallStack)
	}
	message := err.Error()
	if at != nil && strings.HasPrefix(message, "cannot load ") && strings.HasSuffix(message, at.Msg) {
		message = at.Msg // the traceback shows the file that was being loaded
	}
	f.readTypes(err)
	if f.Function == "" {
		f.Function = f.Within
	}
	if f.Kind == kindOther && f.Within == "fail" {
		f.Kind = kindFail
	}
	message = strings.TrimPrefix(message, f.Within+": ")
	message = strings.TrimPrefix(message, f.Function+": ")
	f.Message = text(rephrase(message))
	return f
}

// readTypes asks the errors of the chain for their kinds.
func (f *Failure) readTypes(err error) {
	var (
		kind     interface{ Kind() string }
		ranks    interface{ Ranks() []int }
		function interface{ Function() string }
		killed   interface{ Killed() bool }
		skipped  interface{ Skipped() bool }
		stop     *stopError
		static   *StaticError
	)
	if errors.As(err, &kind) {
		f.Kind = kind.Kind()
	}
	if errors.As(err, &ranks) {
		f.Ranks = ranks.Ranks()
	}
	if errors.As(err, &function) {
		f.Function = function.Function()
	}
	if errors.As(err, &killed) {
		f.Killed = killed.Killed()
	}
	if errors.As(err, &skipped) {
		f.Skipped = skipped.Skipped()
	}
	if errors.As(err, &stop) {
		f.Stop = stop.Reason
	}
	f.Static = errors.As(err, &static) && len(f.Trace) == 0
}

// summaryOf returns the message, behind the function's name unless that is skip.
func (f *Failure) summaryOf() string {
	if f.Function == "" || f.Function == "skip" {
		return string(f.Message)
	}
	return f.Function + ": " + string(f.Message)
}

// setTrace takes over a call stack, but for the builtin function on top.
// Frames that repeat are counted, and of a stack that remains too long the middle is
// left out.
func (f *Failure) setTrace(stack starlark.CallStack) {
	if n := len(stack); n > 0 && stack[n-1].Pos.Filename() == builtinPos {
		if f.Within = stack[n-1].Name; strings.HasPrefix(f.Within, "<") { // a function that stands for a notation: see shapes.go
			f.Within = ""
		}
		stack = stack[:n-1]
	}
	if len(stack) > 0 && stack[0].Name == watchName {
		stack = stack[1:]
	}
	for _, fr := range stack {
		next := Frame{Name: fr.Name, Pos: fr.Pos.String()}
		if n := len(f.Trace); n > 0 && f.Trace[n-1].Name == next.Name && f.Trace[n-1].Pos == next.Pos {
			f.Trace[n-1].Repeated++
			continue
		}
		f.Trace = append(f.Trace, next)
	}
	const head, tail = 6, 14
	if skipped := len(f.Trace) - head - tail; skipped > 1 {
		f.Trace = slices.Replace(f.Trace, head, head+skipped, Frame{Skipped: skipped})
	}
}

// rephrase puts messages of the interpreter into a user's words.
func rephrase(message string) string {
	name, ok := strings.CutPrefix(message, "internal error: predeclared variable ")
	if name, ok2 := strings.CutSuffix(name, " is uninitialized"); ok && ok2 {
		return fmt.Sprintf("global variable %s referenced before assignment", name)
	}
	return strings.TrimPrefix(message, cancelledPrefix)
}
