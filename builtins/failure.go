package builtins

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/lang/advice"
)

// An Error is a failure as attempt gives it to a script.
type Error struct {
	env      *Env
	message  string // without the function's name
	function string // whose failure it is, or ""
	kind     string
	ranks    []int
	where    string // file:line:col, or ""
}

var _ starlark.HasAttrs = (*Error)(nil)

// String returns the error as a report prints it after "Error in ".
func (e *Error) String() string {
	if e.function == "" {
		return e.message
	}
	return e.function + ": " + e.message
}

func (e *Error) Type() string                             { return "Error" }
func (e *Error) Freeze()                                  {} // it cannot be changed
func (e *Error) Truth() starlark.Bool                     { return true }
func (e *Error) Hash() (uint32, error)                    { return starlark.String(e.String()).Hash() }
func (e *Error) Attr(name string) (starlark.Value, error) { return e.env.Attr("Error", e, name) }
func (e *Error) AttrNames() []string                      { return AttrNames("Error") }

// catch calls fn. If it fails in a way that a script may handle, failure says
// how; if in any other way, err does. The state that the call may leave
// behind is as it was before.
func catch(e *Env, fn starlark.Callable, args starlark.Tuple, kwargs []starlark.Tuple) (v starlark.Value, failure *Error, err error) {
	restore := keepState(e)
	v, err = starlark.Call(e.Thread, fn, args, kwargs)
	restore()
	cause := err
	if e.pending != nil {
		cause = e.pending
	}
	switch {
	case cause == nil:
		return v, nil, nil
	case e.Uncatchable(cause):
		e.pending = nil
		return nil, nil, reason(e, cause)
	}
	resume(e)
	failure = newError(e, cause, err)
	if k := failure.kind; k != "mismatch" && k != "deadlock" && k != "peer" {
		e.Runtime.NoteCaught(failure.brief(), failure.where)
	}
	if caught, ok := e.Thread.Local(caughtKey).(func(*starlark.Thread, error)); ok {
		caught(e.Thread, cmp.Or(err, cause))
	}
	return nil, failure, nil
}

// briefly is how much of an error others are told that has been caught.
const briefly = 120

// brief returns the first line of the error, shortened.
func (e *Error) brief() string {
	line, _, _ := strings.Cut(e.String(), "\n")
	if runes := []rune(line); len(runes) > briefly {
		line = string(runes[:briefly]) + "..."
	}
	return line
}

// caughtKey is the thread-local of the function that a debugger is told by of errors
// that are caught; see lang.CaughtKey.
const caughtKey = "tpsh.caught"

// reason returns err, which nothing catches, or if the program was told to stop
// and err says something else, why it was.
func reason(e *Env, err error) error {
	ctx := e.Runtime.Context()
	var at *starlark.EvalError
	switch {
	case ctx.Err() == nil, errors.Is(err, context.Cause(ctx)):
		return err
	case errors.As(err, &at) && strings.HasPrefix(at.Msg, cancelledPrefix):
		return err
	}
	return context.Cause(ctx)
}

// cancelledPrefix begins the text of the error with which the interpreter
// stops a program that was told to.
const cancelledPrefix = "Starlark computation cancelled: "

// resume lets the program go on after an error that stopped the interpreter:
// one that a value left, or a call too deep.
func resume(e *Env) {
	e.pending = nil
	e.Thread.Uncancel()
	if ctx := e.Runtime.Context(); ctx.Err() != nil {
		e.Thread.Cancel(ctx.Err().Error()) // which Uncancel may have undone
	}
}

// newError returns cause as scripts see it. stopped is the error with which
// the interpreter stopped, or nil: cause, or what came of it.
func newError(e *Env, cause, stopped error) *Error {
	f := &Error{env: e, kind: "other", ranks: []int{e.Runtime.Self()}, where: e.Line()}
	var (
		kind     interface{ Kind() string }
		ranks    interface{ Ranks() []int }
		function interface{ Function() string }
		at       *starlark.EvalError
		within   string
	)
	if errors.As(stopped, &at) {
		within = f.locate(at.CallStack)
	}
	f.function = within
	if errors.As(cause, &function) {
		f.function = function.Function()
	}
	if errors.As(cause, &ranks) {
		f.ranks = ranks.Ranks()
	}
	if errors.As(cause, &kind) {
		f.kind = kind.Kind()
	} else if within == "fail" {
		f.kind = "fail"
	}
	f.message = strings.TrimPrefix(cause.Error(), within+": ")
	f.message = strings.TrimPrefix(f.message, f.function+": ")
	f.message = strings.TrimPrefix(f.message, cancelledPrefix)
	f.message = advice.With(f.message, e.Hint(f.message))
	return f
}

// locate takes the place of the failure from the call stack, and returns the
// name of the builtin function on top of it, or "".
func (e *Error) locate(stack starlark.CallStack) (within string) {
	if top := stack.At(0); top.Pos.Filename() == builtinFile {
		within = top.Name
	}
	for i := range stack {
		if pos := stack.At(i).Pos; pos.Filename() != builtinFile {
			e.where = pos.String()
			break
		}
	}
	return within
}

// builtinFile is the file that the interpreter gives functions that are not
// Starlark's.
const builtinFile = "<builtin>"

func init() {
	Register(&Row{
		Name: "attempt",
		Doc: "attempt(fn, *args, **kwargs) returns struct(ok, value, error): what fn(*args, **kwargs) returned, or the Error with which it failed.\n" +
			"It catches what a script can cause, and not an interrupt, a limit, a timeout or the rank's own death.\n" +
			"Where one rank alone fails, before a collective that others make, these get a mismatch or a deadlock there, which tells of its error;\n" +
			"if they catch that as well, all go on in step. Where ranks meet between errors (barrier), it is always clear what was left out.\n" +
			">>> attempt(lambda: 1 // 0).ok\nFalse\n" +
			">>> attempt(max, 3, 5).value\n5",
		Fn: attempt,
	},
		errorRow("message", "message is what went wrong, without the name of the function.\n"+
			">>> attempt(zeros, -1).error.message\n\"for parameter \\\"shape\\\": got -1 at index 0, want a non-negative int\"",
			func(e *Error) starlark.Value { return starlark.String(e.message) }),
		errorRow("function", "function is the name of the function that failed, or \"\" if it was no function of the language.\n"+
			">>> attempt(zeros, -1).error.function\n\"zeros\"",
			func(e *Error) starlark.Value { return starlark.String(e.function) }),
		errorRow("kind", "kind is \"argument\", \"mismatch\", \"deadlock\", \"peer\", \"assertion\", \"fail\" or \"other\".\n"+
			">>> attempt(fail, \"no\").error.kind\n\"fail\"",
			func(e *Error) starlark.Value { return starlark.String(e.kind) }),
		errorRow("ranks", "ranks is the list of the ranks concerned.\n"+
			">>> attempt(fail, \"no\").error.ranks == [rank()]\nTrue",
			func(e *Error) starlark.Value { return IntList(e.ranks) }),
		errorRow("where", "where is the line of the script that failed: \"file:line:col\".\n"+
			">>> type(attempt(fail, \"no\").error.where)\n\"string\"",
			func(e *Error) starlark.Value { return starlark.String(e.where) }))
}

// errorRow returns a row for an attribute of errors.
func errorRow(name, doc string, get func(e *Error) starlark.Value) *Row {
	return &Row{Name: "Error." + name, Doc: doc, Get: func(_ *Env, x starlark.Value) (starlark.Value, error) {
		return get(x.(*Error)), nil
	}}
}

func attempt(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	fn, rest, err := fnArg(b, args)
	if err != nil {
		return nil, err
	}
	v, failure, err := catch(e, fn, rest, kwargs)
	if err != nil {
		return nil, err
	}
	result := starlark.StringDict{"ok": starlark.Bool(failure == nil), "value": starlark.None, "error": starlark.None}
	if failure != nil {
		result["error"] = failure
	} else {
		result["value"] = v
	}
	return NewStruct(result), nil
}
