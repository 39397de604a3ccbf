package builtinstest

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"tpsh/builtins"
	"tpsh/lang/operator"
	"tpsh/lang/source"
	"tpsh/runtime"
)

// FileOptions is the dialect of Starlark on which that of the front ends is built.
var FileOptions = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}

func init() { debug.SetGCPercent(400) } // as the command does

// A Script is a program to run on ranks.
type Script struct {
	Name, Source string
	Call         string // the function to call when the top level has run, or ""
	Dir          string // the script's folder
	Options      builtins.Options
}

// A Result is how a script ended on one rank.
type Result struct {
	Globals starlark.StringDict
	Printed []string
	Err     error
}

// Run runs the script on n ranks.
func (s *Script) Run(t testing.TB, transport string, n int) []Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	results := make([]Result, n)
	var done sync.WaitGroup
	done.Add(n)
	job, err := runtime.Start(ctx, runtime.Config{Size: n, Transport: transport, Poison: true, Guard: true}, func(ctx context.Context, r *runtime.Rank) {
		defer done.Done()
		results[r.ID()] = s.RunRank(ctx, r)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer job.Stop()
	done.Wait()
	return results
}

// RunRank runs the script on one rank, as package lang does.
func (s *Script) RunRank(ctx context.Context, r *runtime.Rank) (res Result) {
	env := builtins.New(r, s.Options)
	env.Begin(ctx)
	thread := &starlark.Thread{Name: fmt.Sprintf("rank %d", r.ID())}
	thread.Print = func(_ *starlark.Thread, line string) { res.Printed = append(res.Printed, line) }
	thread.SetLocal("tpsh.script_dir", s.Dir)
	names := env.Predeclared()
	Library(names)
	env.Attach(thread, nil)
	thread.Load = func(t *starlark.Thread, module string) (starlark.StringDict, error) {
		source, err := os.ReadFile(filepath.Join(s.Dir, module))
		if err != nil {
			return nil, err
		}
		globals, err := Execute(t, module, string(source), names)
		globals.Freeze()
		return globals, err
	}
	globals, err := Execute(thread, s.Name, s.Source, names)
	if err == nil && s.Call != "" {
		_, err = starlark.Call(thread, globals[s.Call], nil, nil)
	}
	if pending := env.Pending(); pending != nil {
		err = errors.Join(pending, err)
	}
	res.Globals = globals
	res.Err = env.End(err)
	return res
}

// OnRank calls f with the Env of the one rank of a job, whose program has
// begun on thread.
func OnRank(t testing.TB, f func(env *builtins.Env, thread *starlark.Thread)) {
	t.Helper()
	done := make(chan struct{})
	job, err := runtime.Start(context.Background(), runtime.Config{Size: 1, Transport: "inproc"}, func(ctx context.Context, r *runtime.Rank) {
		defer close(done)
		env, thread := builtins.New(r, Options(t)), new(starlark.Thread)
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

// Library adds what package lang predeclares.
func Library(names starlark.StringDict) {
	names["json"], names["math"] = json.Module, operator.Math
	names["struct"] = starlark.NewBuiltin("struct", starlarkstruct.Make)
	names["module"] = starlark.NewBuiltin("module", starlarkstruct.MakeModule)
	maps.Copy(names, operator.Library)
	names["__name__"] = starlark.String("__main__")
}

// Execute runs the top level of a script. Unlike starlark.ExecFile it leaves
// the globals alive.
func Execute(thread *starlark.Thread, name, source string, names starlark.StringDict) (starlark.StringDict, error) {
	c, _ := compiled.LoadOrStore(text{name, source}, &compilation{})
	prog, err := c.(*compilation).of(name, source, names)
	if err != nil {
		return nil, err
	}
	return prog.Init(thread, names)
}

// A text is a source and the name of its file.
type text struct{ name, source string }

// compiled has the compilation of each text: a file is run once for each test in it, by every rank.
// Names are resolved as those of the first run; within a test binary all runs of a text have the same.
var compiled sync.Map

// A compilation makes a program when it is first wanted.
type compilation struct {
	once sync.Once
	prog *starlark.Program
	err  error
}

func (c *compilation) of(name, source string, names starlark.StringDict) (*starlark.Program, error) {
	c.once.Do(func() {
		var f *syntax.File
		if f, c.err = Core(name, source); c.err == nil {
			c.prog, c.err = starlark.FileProgram(f, names.Has)
		}
	})
	return c.prog, c.err
}

// Core returns the core tree of a source, as package lang does.
func Core(name, text string) (*syntax.File, error) {
	f, err := source.Parse(name, text, source.Options{Dialect: FileOptions})
	if err != nil {
		return nil, err
	}
	return source.Lower(f)
}

// Check fails the test if the script failed on a rank.
func Check(t testing.TB, results []Result) {
	t.Helper()
	for i, r := range results {
		for _, line := range r.Printed {
			t.Logf("rank %d: %s", i, line)
		}
		if r.Err != nil {
			t.Errorf("rank %d: %s", i, backtrace(r.Err))
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

// Transports are those on which Scripts runs the scripts that are for several ranks, in turn.
var Transports = runtime.Transports

var otherTransports = flag.Bool("other-transports", false, "run scripts on the most ranks that they are for, where they are else not run")

// Scripts runs the *.star files of dir: every test_ function on ranks of its own,
// or the top level where a file has none. A line `RANKS = [2, 4]` says on how
// many; without it they are 1 and 2. A short test takes the most alone.
func Scripts(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.star"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".star"), func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			ranks := ranksOf(string(source))
			for k, call := range testFunctions(t, file, source) {
				for i, n := range ranks {
					for _, transport := range transportsOf(n, k+len(ranks)-1-i) {
						t.Run(fmt.Sprintf("%s/%d/%s", call, n, transport), func(t *testing.T) {
							s := Script{Name: file, Source: string(source), Call: call, Dir: dir, Options: Options(t)}
							Check(t, s.Run(t, transport, n))
						})
					}
				}
			}
		})
	}
}

// transportsOf returns the transport on which a function is tried on n ranks, each in turn: what
// one carries the others do, as their own tests show. With -other-transports it returns those on
// which it is else not tried. One rank by itself says nothing to others, whatever the
// transport; and where tests are to be short, which those that look for races are, it is the
// one on which ranks share memory.
func transportsOf(n, turn int) []string {
	at := turn % len(Transports)
	switch {
	case *otherTransports && n == 1:
		return nil
	case *otherTransports:
		return slices.Delete(slices.Clone(Transports), at, at+1)
	case n == 1 || testing.Short():
		return Transports[:1]
	default:
		return Transports[at : at+1]
	}
}

// Options lets scripts write into folders of the test's. They are made when a script wants
// them, which few do, and removed after the test.
func Options(t testing.TB) builtins.Options {
	dir := filepath.Join(os.TempDir(), "tpsh-test-"+rand.Text())
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return builtins.Options{Scratch: filepath.Join(dir, "scratch"), Resume: filepath.Join(dir, "resume")}
}

// testFunctions returns the names of the test_ functions of a script, or one
// empty name if it has none.
func testFunctions(t *testing.T, file string, text []byte) []string {
	f, err := Core(file, string(text))
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
		m = []string{"", "1, 2"}
	}
	var list []int
	for _, s := range strings.Split(m[1], ",") {
		n, _ := strconv.Atoi(strings.TrimSpace(s))
		list = append(list, n)
	}
	slices.Sort(list)
	if testing.Short() || *otherTransports {
		return list[len(list)-1:]
	}
	return list
}
