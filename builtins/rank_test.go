package builtins

import (
	"context"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/runtime"
)

// fileOptions is the dialect that the front ends run.
var fileOptions = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}

// onRank calls f with the Env of the one rank of a job, as builtinstest.OnRank does,
// which imports this package.
func onRank(t testing.TB, f func(env *Env, thread *starlark.Thread)) {
	t.Helper()
	done := make(chan struct{})
	job, err := runtime.Start(context.Background(), runtime.Config{Size: 1, Transport: "inproc"}, func(ctx context.Context, r *runtime.Rank) {
		defer close(done)
		env, thread := New(r, Options{}), new(starlark.Thread)
		env.Begin(ctx)
		env.Attach(thread, nil)
		f(env, thread)
		if err := env.End(nil); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer job.Stop()
	<-done
}
