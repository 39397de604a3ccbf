package lang

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A world is what the ranks of a test share: a place to meet.
type world struct {
	size int

	mu      sync.Mutex
	arrived int
	dirty   bool
	gone    bool          // a rank has ended: nobody can meet again
	open    chan struct{} // closed when all have arrived, or one has gone
	met     bool          // the result of the last meeting: somebody was dirty
}

func newWorld(size int) *world { return &world{size: size, open: make(chan struct{})} }

// meet waits for all ranks and returns whether any of them was dirty.
func (w *world) meet(ctx context.Context, dirty bool) (bool, error) {
	w.mu.Lock()
	open := w.open
	w.arrived++
	w.dirty = w.dirty || dirty
	if w.arrived == w.size {
		w.met, w.arrived, w.dirty = w.dirty, 0, false
		w.open = make(chan struct{})
		close(open)
	}
	w.mu.Unlock()
	if !w.isGone() {
		select {
		case <-open:
			return w.met, nil
		case <-ctx.Done():
			return false, fmt.Errorf("meet: %w", context.Cause(ctx))
		}
	}
	return false, &typedError{kind: "peer", function: "meet", text: "a rank has gone"}
}

func (w *world) isGone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gone
}

// A typedError is an error with all that lang reads from one.
type typedError struct {
	kind, function, text string
	ranks                []int
	killed               bool
}

func (e *typedError) Error() string    { return e.text }
func (e *typedError) Kind() string     { return e.kind }
func (e *typedError) Function() string { return e.function }
func (e *typedError) Ranks() []int     { return e.ranks }
func (e *typedError) Killed() bool     { return e.killed }

// A fakeEnv is a rank of a world, with a few functions for programs.
type fakeEnv struct {
	world   *world
	rank    int
	release chan struct{} // ends stubborn()

	ctx     context.Context
	thread  *starlark.Thread
	out     Output
	pending error
	note    func(string)

	mu     sync.Mutex
	events []string // what lang told it
}

var (
	_ Env    = (*fakeEnv)(nil)
	_ Pauser = (*fakeEnv)(nil)
	_ Noter  = (*fakeEnv)(nil)
	_ Signer = (*fakeEnv)(nil)
)

func (e *fakeEnv) tell(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events = append(e.events, fmt.Sprintf(format, args...))
}

func (e *fakeEnv) told() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string{}, e.events...)
}

func (e *fakeEnv) Rank() (int, int)                      { return e.rank, e.world.size }
func (e *fakeEnv) Attach(t *starlark.Thread, out Output) { e.thread, e.out = t, out }
func (e *fakeEnv) Begin(ctx context.Context)             { e.ctx = ctx; e.tell("begin") }
func (e *fakeEnv) End(err error) error                   { e.tell("end %v", err); return nil }
func (e *fakeEnv) Pause(err error) error                 { e.tell("pause %v", err); return nil }
func (e *fakeEnv) Resume(failed bool)                    { e.tell("resume %v", failed) }
func (e *fakeEnv) SetNote(note func(string))             { e.note = note }

func (e *fakeEnv) Pending() error {
	err := e.pending
	e.pending = nil
	return err
}

func (e *fakeEnv) Describe(v starlark.Value) string {
	if _, ok := v.(flaky); ok {
		return "flaky, 4 B"
	}
	return ""
}

func (e *fakeEnv) Parameters(v starlark.Value) []string {
	if b, ok := v.(*starlark.Builtin); ok && b.Name() == "typed" {
		return []string{"kind", "text"}
	}
	return nil
}

func (e *fakeEnv) Predeclared() starlark.StringDict {
	type fn = func(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)
	names := starlark.StringDict{"flaky": flaky{e}}
	for name, f := range map[string]fn{
		"rank":     func(starlark.Tuple, []starlark.Tuple) (starlark.Value, error) { return starlark.MakeInt(e.rank), nil },
		"meet":     e.meet,
		"hang":     e.hang,
		"stubborn": e.stubborn,
		"typed":    e.typed,
		"attempt":  e.attempt,
		"say":      e.say,
		"folder":   e.folder,
		"crash":    func(starlark.Tuple, []starlark.Tuple) (starlark.Value, error) { panic("crash") },
	} {
		names[name] = starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return f(args, kwargs)
		})
	}
	return names
}

// meet() joins all ranks and cuts the output.
func (e *fakeEnv) meet(starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	dirty, err := e.world.meet(e.ctx, e.out.Dirty())
	if err != nil {
		return nil, err
	}
	if dirty {
		e.out.Cut()
	}
	return starlark.None, nil
}

// hang() waits until the run is ended.
func (e *fakeEnv) hang(starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	<-e.ctx.Done()
	return nil, fmt.Errorf("hang: %w", context.Cause(e.ctx))
}

// stubborn() waits until the test ends.
func (e *fakeEnv) stubborn(starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	<-e.release
	return starlark.None, nil
}

// typed(kind, text, function="", ranks=[], killed=False) fails so.
func (e *fakeEnv) typed(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	err := new(typedError)
	var ranks *starlark.List
	if err := starlark.UnpackArgs("typed", args, kwargs, "kind", &err.kind, "text", &err.text,
		"function?", &err.function, "ranks?", &ranks, "killed?", &err.killed); err != nil {
		return nil, err
	}
	if ranks != nil {
		for v := range ranks.Elements() {
			r, _ := starlark.AsInt32(v)
			err.ranks = append(err.ranks, r)
		}
	}
	return nil, err
}

// attempt(fn) returns whether fn() succeeds.
func (e *fakeEnv) attempt(args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	_, err := starlark.Call(e.thread, args[0], nil, nil)
	if e.ctx.Err() != nil {
		return nil, err
	}
	if e.Pending() != nil {
		e.thread.Uncancel()
	}
	return starlark.Bool(err == nil), nil
}

// say(text) sends a note.
func (e *fakeEnv) say(args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	e.note(string(args[0].(starlark.String)))
	return starlark.None, nil
}

// folder() returns the last element of the script's folder.
func (e *fakeEnv) folder(starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return starlark.String(filepath.Base(e.thread.Local(ScriptDir).(string))), nil
}

// A flaky value has no truth, and cannot say so: it leaves an error pending.
type flaky struct{ e *fakeEnv }

func (f flaky) String() string        { return "flaky" }
func (f flaky) Type() string          { return "flaky" }
func (f flaky) Freeze()               {}
func (f flaky) Hash() (uint32, error) { return 0, errors.New("unhashable") }
func (f flaky) Truth() starlark.Bool {
	f.e.pending = &typedError{kind: "argument", function: "bool", text: "bool: got flaky, want one element"}
	f.e.thread.Cancel("pending")
	return false
}

// A bench is a session and the goroutines that serve it.
type bench struct {
	*Session
	envs       []*fakeEnv
	out, notes bytes.Buffer
	served     []error
	stop       func()
}

// newBench starts size ranks. They end with the test.
func newBench(t *testing.T, size int, opts Options) *bench {
	t.Helper()
	b := &bench{served: make([]error, size)}
	w, release := newWorld(size), make(chan struct{})
	opts.Out, opts.Notes = &b.out, &b.notes
	var ranks sync.WaitGroup
	conns := make([]Conn, size)
	for i := range size {
		env := &fakeEnv{world: w, rank: i, release: release}
		b.envs = append(b.envs, env)
		front, rank := Pipe()
		conns[i] = front
		ranks.Go(func() {
			defer rank.Close()
			b.served[i] = Serve(context.Background(), rank, env)
		})
	}
	b.Session = NewSession(conns, opts)
	b.stop = sync.OnceFunc(func() {
		close(release)
		b.Close()
		ranks.Wait()
	})
	t.Cleanup(b.stop)
	return b
}

// run runs a program and returns its output and report.
func (b *bench) run(t *testing.T, p Program) (o *Outcome, out, report string) {
	t.Helper()
	b.out.Reset()
	o, err := b.Run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	var r bytes.Buffer
	o.Report(&r)
	return o, b.out.String(), r.String()
}

// onceBegun calls f a moment after the program has begun on all ranks.
func (b *bench) onceBegun(f func()) {
	for _, env := range b.envs {
		for len(env.told()) == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	time.Sleep(20 * time.Millisecond)
	f()
}

// chunk runs a chunk on all ranks.
func (b *bench) chunk(t *testing.T, source string) (o *Outcome, out, report string) {
	t.Helper()
	return b.run(t, Program{Path: "<stdin>", Source: source, Chunk: true})
}
