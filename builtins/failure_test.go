package builtins

import (
	"context"
	"errors"
	"testing"

	"go.starlark.net/starlark"

	"tpsh/runtime"
)

// onRank calls fn on the one rank of a job, whose program has begun.
func onRank(t testing.TB, fn func(ctx context.Context, e *Env)) {
	t.Helper()
	done := make(chan struct{})
	job, err := runtime.Start(context.Background(), runtime.Config{Size: 1, Transport: "inproc"}, func(ctx context.Context, r *runtime.Rank) {
		defer close(done)
		e := New(r, Options{})
		e.Attach(new(starlark.Thread), nil)
		e.Begin(ctx)
		fn(ctx, e)
		if err := e.End(nil); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	<-done
	job.Stop()
}

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
	onRank(t, func(_ context.Context, e *Env) {
		for _, fn := range []func() error{
			func() error { return fatal{} },
			func() error { e.leave(fatal{}); return nil },
		} {
			_, failure, err := e.catch(builtin(fn), nil, nil)
			if failure != nil || !errors.As(err, new(fatal)) {
				t.Errorf("got %v, %v, want the fatal error", failure, err)
			}
		}
		if err := e.Pending(); !errors.As(err, new(fatal)) {
			t.Errorf("got %v pending, want what was left to be there for the front end", err)
		}
	})
}

func TestCatchTakesWhatAValueLeft(t *testing.T) {
	onRank(t, func(_ context.Context, e *Env) {
		left := errors.New("left")
		_, failure, err := e.catch(builtin(func() error { e.leave(left); return nil }), nil, nil)
		if err != nil || failure == nil || failure.String() != "left" {
			t.Errorf("got %v, %v, want what was left", failure, err)
		}
		if e.Pending() != nil {
			t.Error("it is still pending")
		}
		if _, err := starlark.Eval(e.thread, "x.star", "1 + 1", nil); err != nil {
			t.Errorf("the thread does not go on: %v", err)
		}
	})
}

// A program that is told to stop stops, though an error that it handles has
// meanwhile been left.
func TestCatchDoesNotOutliveTheProgram(t *testing.T) {
	onRank(t, func(ctx context.Context, e *Env) {
		ctx, cancel := context.WithCancel(ctx)
		e.Begin(ctx)
		_, failure, err := e.catch(builtin(func() error {
			e.leave(errors.New("left"))
			cancel()
			return nil
		}), nil, nil)
		if failure != nil || err == nil {
			t.Errorf("got %v, %v, want an error that is not caught", failure, err)
		}
		if _, err := starlark.Eval(e.thread, "x.star", "1 + 1", nil); err == nil {
			t.Error("the thread goes on")
		}
		e.Begin(context.WithoutCancel(ctx))
		e.Pending()
	})
}
