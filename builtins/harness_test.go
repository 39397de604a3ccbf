package builtins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.starlark.net/lib/json"
	"go.starlark.net/lib/math"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"tpsh/runtime"
)

// fileOptions is the dialect that the front ends run.
var fileOptions = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}

// A script is a program to run on ranks.
type script struct {
	name, source string
	call         string // the function to call when the top level has run, or ""
	dir          string // the script's folder
	options      Options
}

// A rankResult is how a script ended on one rank.
type rankResult struct {
	globals starlark.StringDict
	printed []string
	err     error
}

// run runs the script on n ranks.
func (s *script) run(t testing.TB, transport string, n int) []rankResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	results := make([]rankResult, n)
	var done sync.WaitGroup
	done.Add(n)
	job, err := runtime.Start(ctx, runtime.Config{Size: n, Transport: transport, Poison: true, Guard: true}, func(ctx context.Context, r *runtime.Rank) {
		defer done.Done()
		results[r.ID()] = s.runRank(ctx, r)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer job.Stop()
	done.Wait()
	return results
}

// runRank runs the script on one rank, as package lang does.
func (s *script) runRank(ctx context.Context, r *runtime.Rank) (res rankResult) {
	env := New(r, s.options)
	env.Begin(ctx)
	thread := &starlark.Thread{Name: fmt.Sprintf("rank %d", r.ID())}
	thread.Print = func(_ *starlark.Thread, line string) { res.printed = append(res.printed, line) }
	thread.SetLocal("tpsh.script_dir", s.dir)
	names := env.Predeclared()
	library(names)
	env.Attach(thread, nil)
	thread.Load = func(t *starlark.Thread, module string) (starlark.StringDict, error) {
		source, err := os.ReadFile(filepath.Join(s.dir, module))
		if err != nil {
			return nil, err
		}
		globals, err := execute(t, module, string(source), names)
		globals.Freeze()
		return globals, err
	}
	globals, err := execute(thread, s.name, s.source, names)
	if err == nil && s.call != "" {
		_, err = starlark.Call(thread, globals[s.call], nil, nil)
	}
	if pending := env.Pending(); pending != nil {
		err = errors.Join(pending, err)
	}
	res.globals = globals
	res.err = env.End(err)
	return res
}

// onRank calls f with the Env of the one rank of a job, whose program has
// begun on thread.
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

// library adds what package lang predeclares.
func library(names starlark.StringDict) {
	names["json"], names["math"] = json.Module, math.Module
	names["struct"] = starlark.NewBuiltin("struct", starlarkstruct.Make)
	names["module"] = starlark.NewBuiltin("module", starlarkstruct.MakeModule)
}

// execute runs the top level of a script. Unlike starlark.ExecFile it leaves
// the globals alive.
func execute(thread *starlark.Thread, name, source string, names starlark.StringDict) (starlark.StringDict, error) {
	_, prog, err := starlark.SourceProgramOptions(fileOptions, name, source, names.Has)
	if err != nil {
		return nil, err
	}
	return prog.Init(thread, names)
}

// check fails the test if the script failed on a rank.
func check(t testing.TB, results []rankResult) {
	t.Helper()
	for i, r := range results {
		for _, line := range r.printed {
			t.Logf("rank %d: %s", i, line)
		}
		if r.err != nil {
			t.Errorf("rank %d: %s", i, backtrace(r.err))
		}
	}
}

func backtrace(err error) string {
	var e *starlark.EvalError
	if errors.As(err, &e) {
		return e.Backtrace() + "\n" + err.Error()
	}
	return err.Error()
}

// transports are those on which every script is run.
var transports = runtime.Transports

// TestScripts runs testdata/*.star: every test_ function on ranks of its own,
// or the top level where a file has none. A line `RANKS = [2, 4]` says on how
// many; without it they are 1 and 2.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.star")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".star"), func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range testFunctions(t, file, source) {
				for _, n := range ranksOf(string(source)) {
					for _, transport := range transports {
						t.Run(fmt.Sprintf("%s/%d/%s", call, n, transport), func(t *testing.T) {
							s := script{name: file, source: string(source), call: call, dir: "testdata", options: testOptions(t)}
							check(t, s.run(t, transport, n))
						})
					}
				}
			}
		})
	}
}

// testOptions lets scripts write into a folder of the test's.
func testOptions(t *testing.T) Options {
	return Options{Scratch: t.TempDir(), Resume: t.TempDir()}
}

// testFunctions returns the names of the test_ functions of a script, or one
// empty name if it has none.
func testFunctions(t *testing.T, file string, source []byte) []string {
	f, err := fileOptions.Parse(file, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, stmt := range f.Stmts {
		if def, ok := stmt.(*syntax.DefStmt); ok && strings.HasPrefix(def.Name.Name, "test_") {
			names = append(names, def.Name.Name)
		}
	}
	if names == nil {
		names = []string{""}
	}
	return names
}

var ranksLine = regexp.MustCompile(`(?m)^RANKS = \[([0-9, ]*)\]`)

// ranksOf returns the numbers of ranks that a script is for.
func ranksOf(source string) []int {
	m := ranksLine.FindStringSubmatch(source)
	if m == nil {
		return []int{1, 2}
	}
	var list []int
	for _, s := range strings.Split(m[1], ",") {
		n, _ := strconv.Atoi(strings.TrimSpace(s))
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}
