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

// runStep runs one statement, or evaluates one expression, among names.
func runStep(thread *starlark.Thread, names starlark.StringDict, statement string) (starlark.Value, error) {
	if expr, err := fileOptions.ParseExpr("example", statement, 0); err == nil {
		return starlark.EvalExprOptions(fileOptions, thread, expr, names)
	}
	f, err := fileOptions.Parse("example", statement, 0)
	if err != nil {
		return nil, err
	}
	return starlark.None, starlark.ExecREPLChunk(f, thread, names)
}
