package builtinstest

import (
	"fmt"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins"
)

// A step is a statement of an example and the output it is to have.
type step struct{ statement, want string }

// stepsOf returns the steps of an example.
func stepsOf(example string) []step {
	var steps []step
	for line := range strings.Lines(example) {
		last := len(steps) - 1
		if s, ok := strings.CutPrefix(line, ">>> "); ok {
			steps = append(steps, step{statement: s})
		} else if s, ok := strings.CutPrefix(line, "... "); ok {
			steps[last].statement += s
		} else {
			steps[last].want += line
		}
	}
	return steps
}

// Example runs the example of a documentation on one rank, as the shell does, and
// fails the test if something else comes out than stands in it.
func Example(t *testing.T, example string) {
	OnRank(t, func(env *builtins.Env, thread *starlark.Thread) { runExample(t, env, thread, example) })
}

func runExample(t *testing.T, env *builtins.Env, thread *starlark.Thread, example string) {
	var out strings.Builder
	thread.Print = func(_ *starlark.Thread, line string) { fmt.Fprintln(&out, line) }
	thread.SetLocal("tpsh.script_dir", t.TempDir())
	names := env.Predeclared()
	Library(names)
	for _, s := range stepsOf(example) {
		out.Reset()
		v, err := Step(thread, names, s.statement)
		if err == nil && v != starlark.None {
			fmt.Fprintln(&out, v)
		}
		if pending := env.Pending(); pending != nil {
			err = pending
		}
		if err != nil {
			t.Errorf("%s: %v", s.statement, err)
			break
		}
		if got, want := strings.TrimSuffix(out.String(), "\n"), strings.TrimSuffix(s.want, "\n"); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", s.statement, got, want)
		}
	}
}

// Step runs one statement, or evaluates one expression, among names.
func Step(thread *starlark.Thread, names starlark.StringDict, statement string) (starlark.Value, error) {
	f, err := Core("example", statement)
	if err != nil {
		return nil, err
	}
	if x, ok := f.Stmts[0].(*syntax.ExprStmt); ok && len(f.Stmts) == 1 {
		return starlark.EvalExprOptions(FileOptions, thread, x.X, names)
	}
	return starlark.None, starlark.ExecREPLChunk(f, thread, names)
}
