package embed

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	_ "tpsh/cmd/tpsh/vocabularies" // the language is that of the command
	"tpsh/lang"
	"tpsh/runtime"
)

// Options say how a program is run. The zero value is one rank in the working
// folder.
type Options struct {
	Ranks  int             // how many; 0 counts as 1
	Values map[string]any  // names that the program has besides those of the language
	Funcs  map[string]Func // functions that it has
	Args   []string        // what stands behind -- on a command line: args, and what flag reads
	Name   string          // of the source, in positions; "" is "script.star"
	Dir    string          // the script's folder, in which load and files look; "" is the working folder
	Allow  []string        // other folders that it may read and write
	Output io.Writer       // gets what it prints; nil is Result.Output
	Seed   uint64          // of random numbers

	Timeout  time.Duration // ends the program; 0 is never
	MaxSteps uint64        // of the interpreter on a rank; 0 is no limit
	MaxBytes int           // of tensors; 0 is no limit
}

// A Func is a function that programs call, with values as arguments. An error
// fails the call on the rank. It is called on several ranks at once.
type Func func(c Call) (any, error)

// A Call is one call of a Func.
type Call struct {
	Rank, Size int // of the caller
	Args       []any
	Named      map[string]any
}

// A Result is what a program that ended well has left.
type Result struct {
	// Ranks holds the globals of each rank that are values: what is not, such as
	// a function, is left out. Of a distributed tensor it is the rank's block.
	Ranks []map[string]any
	// Output is what the program printed, unless Options.Output got it.
	Output string
}

// An Error says how a program failed.
type Error struct {
	Kind   string // as attempt has it: argument, mismatch, deadlock, assertion, ...
	Report string // what tpsh prints
}

func (e *Error) Error() string { return strings.TrimSuffix(e.Report, "\n") }

// Run runs a program on ranks of its own and returns what it left. The end of ctx
// interrupts it. A program that fails is an *Error.
func Run(ctx context.Context, src string, opts Options) (Result, error) {
	h, err := newHost(opts)
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(h.scratch)
	job, conns, err := h.start()
	if err != nil {
		return Result{}, fmt.Errorf("embed: %w", err)
	}
	var out bytes.Buffer
	s := lang.NewSession(conns, lang.Options{Out: cmp.Or[io.Writer](opts.Output, &out)})
	p := lang.Program{Path: cmp.Or(opts.Name, "script.star"), Dir: h.dir, Source: src, Timeout: opts.Timeout, MaxSteps: opts.MaxSteps}
	p.Allow = opts.Allow
	outcome, err := s.Run(ctx, p)
	s.Close()
	for _, c := range conns {
		c.(*lang.PipeConn).Close()
	}
	job.Stop()
	if err != nil {
		return Result{}, fmt.Errorf("embed: %w", err)
	}
	if err := cmp.Or(failure(outcome), unreceived(job)); err != nil {
		return Result{Output: out.String()}, err
	}
	return Result{Ranks: h.left, Output: out.String()}, h.leftError()
}

// failure returns what went wrong, as an error.
func failure(o *lang.Outcome) error {
	if o.ExitStatus() == lang.StatusOK {
		return nil
	}
	e := new(Error)
	var report strings.Builder
	o.Report(&report)
	e.Report = report.String()
	for _, r := range o.Ranks {
		if r.Failure != nil {
			e.Kind = r.Failure.Kind
			break
		}
	}
	return e
}

// unreceived returns an error about messages that nobody has received.
func unreceived(job *runtime.Job) error {
	left := job.Unreceived()
	if len(left) == 0 {
		return nil
	}
	m := left[0]
	return &Error{"mismatch", fmt.Sprintf("Error in send: %d messages were sent and never received, the first from rank %d to rank %d with tag %d, sent at %s", len(left), m.Src, m.Dst, m.Tag, m.Where)}
}

// A host is one Run.
type host struct {
	opts         Options
	dir, scratch string
	left         []map[string]any // by rank
	errs         []error          // by rank: of values that could not be given or taken
}

func newHost(opts Options) (*host, error) {
	opts.Ranks = max(opts.Ranks, 1)
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	scratch, err := os.MkdirTemp("", "tpsh-embed-")
	if err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	h := &host{opts: opts, dir: dir, scratch: scratch, left: make([]map[string]any, opts.Ranks), errs: make([]error, opts.Ranks)}
	return h, nil
}

// start starts the ranks and returns the connections to them.
func (h *host) start() (*runtime.Job, []lang.Conn, error) {
	conns, backs := make([]lang.Conn, h.opts.Ranks), make([]*lang.PipeConn, h.opts.Ranks)
	for i := range conns {
		var front lang.Conn
		front, backs[i] = lang.Pipe()
		conns[i] = front
	}
	cfg := runtime.Config{Size: h.opts.Ranks, Transport: "inproc", Seed: h.opts.Seed, MaxMem: h.opts.MaxBytes}
	o := builtins.Options{Args: h.opts.Args, Allow: h.opts.Allow, Scratch: h.scratch, Resume: filepath.Join(h.scratch, "resume")}
	job, err := runtime.Start(context.Background(), cfg, func(ctx context.Context, rank *runtime.Rank) {
		conn := backs[rank.ID()]
		lang.Serve(ctx, conn, &env{Env: builtins.New(rank, o), host: h})
		conn.Close()
	})
	return job, conns, err
}

// leftError returns the first error of values.
func (h *host) leftError() error {
	for _, err := range h.errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// An env is what one rank's program sees: the language, and what Options give.
type env struct {
	*builtins.Env
	host *host
}

var _ lang.Keeper = (*env)(nil)

// Predeclared implements lang.Env.
func (e *env) Predeclared() starlark.StringDict {
	names := e.Env.Predeclared()
	for name, f := range e.host.opts.Funcs {
		names[name] = e.function(name, f)
	}
	for name, v := range e.host.opts.Values {
		x, err := e.toScript(v)
		if err != nil {
			e.note(fmt.Errorf("embed: value %s: %w", name, err))
			x = starlark.None
		}
		names[name] = x
	}
	return names
}

// Keep implements lang.Keeper: it takes the globals of the program.
func (e *env) Keep(globals starlark.StringDict) {
	rank, _ := e.Rank()
	e.host.left[rank] = make(map[string]any)
	for name, v := range globals {
		if x, ok, err := e.fromScript(v); err != nil {
			e.note(fmt.Errorf("embed: global %s: %w", name, err))
		} else if ok {
			e.host.left[rank][name] = x
		}
	}
}

func (e *env) note(err error) {
	rank, _ := e.Rank()
	if e.host.errs[rank] == nil {
		e.host.errs[rank] = err
	}
}

// function returns f as a function of the program.
func (e *env) function(name string, f Func) starlark.Value {
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		c := Call{Named: make(map[string]any)}
		c.Rank, c.Size = e.Rank()
		for i, a := range args {
			v, ok, err := e.fromScript(a)
			if err != nil || !ok {
				return nil, fmt.Errorf("%s: argument %d: got a %s, want a value that Go can have", name, i+1, a.Type())
			}
			c.Args = append(c.Args, v)
		}
		for _, kw := range kwargs {
			v, ok, err := e.fromScript(kw[1])
			if err != nil || !ok {
				return nil, fmt.Errorf("%s: argument %s: got a %s, want a value that Go can have", name, kw[0], kw[1].Type())
			}
			c.Named[string(kw[0].(starlark.String))] = v
		}
		y, err := f(c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		v, err := e.toScript(y)
		if err != nil {
			return nil, fmt.Errorf("%s: the result: %w", name, err)
		}
		return v, nil
	})
}
