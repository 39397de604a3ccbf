package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

func init() {
	Register(&Row{
		Name: "skip",
		Doc: "skip(reason) ends a test, which then counts neither as passed nor as failed: tpsh test says the reason.\n" +
			"Every rank calls it. Elsewhere than in a test it is an error.\n" +
			">>> world_size() > 1 or attempt(lambda: 1 // 0).ok == False\nTrue",
		Fn: skip,
	})
}

// A skipError is the end of a test that asked to be skipped.
type skipError struct{ reason string }

func (e *skipError) Error() string { return "skip: " + e.reason }

// Function returns "skip".
func (e *skipError) Function() string { return "skip" }

// Skipped reports that the program asked to be skipped.
func (e *skipError) Skipped() bool { return true }

// Uncatchable reports that the error ends the program whatever it does.
func (e *skipError) Uncatchable() bool { return true }

// testKey is the thread-local that says whether a test runs; see lang.TestKey.
const testKey = "tpsh.test"

func skip(_ *Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var reason arg.String
	if err := arg.Unpack(b.Name(), args, kwargs, "reason", &reason); err != nil {
		return nil, err
	}
	if in, _ := thread.Local(testKey).(bool); !in {
		return nil, &op.ArgError{Func: b.Name(), Got: "a call outside of a test, because of " + arg.Show(starlark.String(reason)), Want: "one in a test_* function, which tpsh test runs", Rule: "a script leaves out what it does not do by if"}
	}
	return nil, &skipError{string(reason)}
}

// An absentRankError is a fault on a rank that does not exist: a test with it is
// not for so few ranks.
type absentRankError struct{ *op.ArgError }

func (e *absentRankError) Unwrap() error { return e.ArgError }

// Skipped reports that a test is to be skipped.
func (e *absentRankError) Skipped() bool { return true }
