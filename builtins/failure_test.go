package builtins

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// builtin returns a function that does fn.
func builtin(fn func() error) starlark.Callable {
	return starlark.NewBuiltin("test", func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
		return starlark.None, fn()
	})
}

// fatal is an error that ends a program whatever it does.
type fatal struct{}

func (fatal) Error() string     { return "fatal" }
func (fatal) Uncatchable() bool { return true }

func TestCatchLeavesWhatIsUncatchable(t *testing.T) {
	onRank(t, func(e *Env, _ *starlark.Thread) {
		for _, fn := range []func() error{
			func() error { return fatal{} },
			func() error { e.Leave(fatal{}); return nil },
		} {
			_, failure, err := catch(e, builtin(fn), nil, nil)
			if failure != nil || !errors.As(err, new(fatal)) {
				t.Errorf("got %v, %v, want the fatal error", failure, err)
			}
		}
	})
}

func TestCatchTakesWhatAValueLeft(t *testing.T) {
	onRank(t, func(e *Env, _ *starlark.Thread) {
		left := errors.New("left")
		_, failure, err := catch(e, builtin(func() error { e.Leave(left); return nil }), nil, nil)
		if err != nil || failure == nil || failure.String() != "left" {
			t.Errorf("got %v, %v, want what was left", failure, err)
		}
		if e.Pending() != nil {
			t.Error("it is still pending")
		}
		if _, err := starlark.EvalOptions(&syntax.FileOptions{}, e.Thread, "x.star", "1 + 1", nil); err != nil {
			t.Errorf("the thread does not go on: %v", err)
		}
	})
}

// A program that is told to stop stops, though an error that it handles has
// meanwhile been left.
func TestCatchDoesNotOutliveTheProgram(t *testing.T) {
	onRank(t, func(e *Env, _ *starlark.Thread) {
		stop := errors.New("told to stop")
		ctx, cancel := context.WithCancelCause(e.Runtime.Context())
		e.Begin(ctx)
		_, failure, err := catch(e, builtin(func() error {
			e.Leave(errors.New("left"))
			cancel(stop)
			return nil
		}), nil, nil)
		if failure != nil || !errors.Is(err, stop) {
			t.Errorf("got %v, %v, want why the program is to stop", failure, err)
		}
		if _, err := starlark.EvalOptions(&syntax.FileOptions{}, e.Thread, "x.star", "1 + 1", nil); err == nil {
			t.Error("the thread goes on")
		}
		e.Begin(context.Background())
		e.Pending()
	})
}

// A defect of a function is an error that a script can catch, and hears the cause of.
func TestCatchTakesADefect(t *testing.T) {
	onRank(t, func(e *Env, _ *starlark.Thread) {
		r := &Row{Name: "crash", Fn: func(*Env, *starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
			return []starlark.Value{}[len(e.Line())+1], nil
		}}
		_, failure, err := catch(e, r.function("crash"), nil, nil)
		if err != nil || failure == nil || !strings.Contains(failure.String(), "index out of range") || !strings.Contains(failure.String(), "a defect of tpsh") {
			t.Errorf("got %v, %v, want the panic as an error", failure, err)
		}
		if _, err := starlark.EvalOptions(&syntax.FileOptions{}, e.Thread, "x.star", "1 + 1", nil); err != nil {
			t.Errorf("the thread does not go on: %v", err)
		}
	})
}
