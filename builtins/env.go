package builtins

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/runtime"
	"tpsh/runtime/hardware"
	"tpsh/runtime/shard"
	"tpsh/runtime/timeline"
)

// An Env is what one rank's programs see: its predeclared names, bound to the
// rank, and what the values of its scripts need to find of it. The front end
// drives it through its methods.
type Env struct {
	Runtime *runtime.Rank
	Options Options
	Thread  *starlark.Thread // the program's, while one runs

	// pending is the typed error that a value left when it could not return
	// one; see Leave.
	pending error

	// shellTrace is the trace of the shell's :trace while it runs, or nil.
	shellTrace *runtime.Trace

	// states holds what each vocabulary keeps of its own; see StateOf.
	states map[reflect.Type]any

	asked []string          // the flags that the program has asked for
	named []timeline.Tensor // for the timeline; see Keep

	// holders are the program's modules and optimizers: see Hold. held has the same, to
	// find one.
	holders []Holder
	held    map[Holder]bool
	// rooted are those whose parameters the program has asked for by name: see Ask.
	rooted map[Holder]bool
	inside int // calls of modules under way: see Enter
	width  int // see SetWidth

	askedToStop atomic.Bool // see should_stop

	// lastPosition is what position has returned last, and lastPlace the same as a
	// Stringer: most operations are on the line of the one before, and need no new one.
	lastPosition syntax.Position
	lastPlace    fmt.Stringer

	spare *binding // of a call that is over; nil for none

	varied     bool // the program has been given a number that varies among ranks: see Varying
	seedVaries bool // the seed of random numbers is such a number
}

// Options says what the programs of a job may do.
type Options struct {
	Args  []string // args of the language
	Flags []string // the flags that the source of the program shows, if that is known
	Allow []string // folders that may be read and written besides the script's and the working folder

	// Scratch is the folder in which those of tmpdir lie, on all ranks alike,
	// by the number of the call. It is made when it is needed, and removed by
	// whoever starts the ranks; "" for no such folders.
	Scratch string

	// Resume is the folder of resume_dir, on all ranks of a host alike; "" for
	// none. Restarts is how often the job was started before.
	Resume   string
	Restarts int

	// Out is the folder that output writes to; "" if it prints.
	Out string

	// In is the folder whose files are names of the programs, besides those of the
	// language; "" for none.
	In string

	// Pictures is the folder into which drawings are written as SVG, besides being
	// printed, for a front end that can show them; "" for none.
	Pictures string

	// Timeline says whether the ranks keep a timeline.
	Timeline Timeline

	// Shared is what the ranks of a process keep together, such as the files that those
	// of a plan would have written; nil for nothing.
	Shared *Shared `json:"-"`

	// Settled has a plan's ranks told apart by their numbers and coordinates as soon as a
	// program asks for them. Without it they are when a decision depends on them.
	Settled bool `json:"-"`

	// Verify has every operation on distributed tensors compared with that on
	// the whole; Strict makes implicit redistributions errors.
	Verify, Strict bool

	// Types has the types of local tensors held in the whole program, and not only where it
	// says so.
	Types bool

	// ExactSums has every sum and mean between ranks made as with exact=True.
	ExactSums bool
}

// A Timeline says which operations and calls a rank notes the times of: with On, those
// of the steps from From on, and if To is not 0, before To.
type Timeline struct {
	On       bool
	From, To int

	// Whole has the timeline tell of memory by kind, and of the named tensors that
	// are left in the end.
	Whole bool

	// Most is how many operations, and how many calls, a rank keeps of a program, the
	// last; 0 for all.
	Most int

	// Hardware is the text of the hardware file by which operations are predicted; "" for no
	// prediction.
	Hardware string
}

// config returns what the rank is to keep. A hardware file that cannot be read is refused by
// the front end, which has read it: here it only means that nothing is predicted.
func (t *Timeline) config() runtime.TimelineConfig {
	c := runtime.TimelineConfig{From: t.From, To: t.To, Kinds: t.Whole, Most: t.Most}
	if m, err := hardware.Read("", []byte(t.Hardware)); err == nil {
		c.Machine = m
	}
	return c
}

// Record implements lang.Recorder: it returns the timeline that the rank has kept
// since it was last called, or nil.
func (e *Env) Record() []byte {
	t := e.Runtime.TakeTimeline()
	if t == nil {
		return nil
	}
	t.Tensors, e.named = e.named, nil
	data, err := t.Encode()
	if err != nil {
		return nil // no event has a number that JSON lacks
	}
	return data
}

// AskStop implements lang.Stopper.
func (e *Env) AskStop() { e.askedToStop.Store(true) }

// New returns the Env of rank.
func New(rank *runtime.Rank, opts Options) *Env {
	rank.Shard.Verify, rank.Shard.ExactSums = opts.Verify, opts.ExactSums
	if opts.Strict {
		rank.Shard.Implicit = shard.Refuse
	}
	if opts.Timeline.On {
		rank.KeepTimeline(opts.Timeline.config())
	}
	env := &Env{Runtime: rank, Options: opts}
	if opts.Types && axisSize != nil {
		rank.Types(axisSize(env))
	}
	rank.Holdings = func() runtime.Holdings { return holdings(env) }
	return env
}

// Rank returns the rank's number and how many there are.
func (e *Env) Rank() (rank, size int) { return e.Runtime.Self(), e.Runtime.Size() }

// StateOf returns what a vocabulary keeps for the rank of e: one T, zero at first.
// T is a type of the vocabulary's own. For example, package files counts the
// folders that tmpdir has given: StateOf[tmpDirs](e).n++.
func StateOf[T any](e *Env) *T {
	key := reflect.TypeFor[T]()
	if s, ok := e.states[key]; ok {
		return s.(*T)
	}
	if e.states == nil {
		e.states = map[reflect.Type]any{}
	}
	s := new(T)
	e.states[key] = s
	return s
}

// threadKey is the thread-local under which a thread keeps its Env.
const threadKey = "tpsh.env"

// Attach hangs the Env on thread, on which a program is about to run. The rank's
// lines go to out.
func (e *Env) Attach(thread *starlark.Thread, out runtime.Output) {
	thread.SetLocal(threadKey, e)
	e.Thread = thread
	e.Runtime.Instructions = thread.ExecutionSteps
	if to := e.Runtime.Recorder(); to != nil {
		to.Steps = thread.ExecutionSteps
	}
	e.Runtime.Output = out
	e.Runtime.Line, e.Runtime.Position = e.Line, e.position
	if e.pending != nil { // of an input: the program would miss it
		thread.Cancel(e.pending.Error())
	}
}

// EnvOf returns the Env that Attach hung on thread.
func EnvOf(thread *starlark.Thread) *Env { return thread.Local(threadKey).(*Env) }

// Call calls a function of the script on the program's thread.
func (e *Env) Call(fn starlark.Callable, args ...starlark.Value) (starlark.Value, error) {
	return starlark.Call(e.Thread, fn, args, nil)
}

// Line returns where the program is: the innermost line of a script.
func (e *Env) Line() string { return e.position().String() }

// position returns where the program is, as Line does, to be made text when it is wanted.
func (e *Env) position() fmt.Stringer {
	if e.Thread == nil {
		return nowhere{}
	}
	for i := range e.Thread.CallStackDepth() {
		if pos := e.Thread.CallFrame(i).Pos; pos.Line > 0 {
			if pos != e.lastPosition {
				e.lastPosition, e.lastPlace = pos, pos
			}
			return e.lastPlace
		}
	}
	return nowhere{}
}

// nowhere is the position of a program that has no line.
type nowhere struct{}

func (nowhere) String() string { return "" }

// Begin says that a program starts, which ctx ends.
func (e *Env) Begin(ctx context.Context) { e.Runtime.Begin(ctx) }

// End says that the rank's program has ended with err, and returns err or
// what went wrong in ending.
func (e *Env) End(err error) error {
	if err == nil {
		err = unknownFlag(e)
	}
	if to := e.Runtime.Recorder(); to != nil {
		to.Parameters = wholeParameters(e)
	}
	return e.Runtime.End(err)
}

// Leave is for values whose Go interface has no error: it keeps err and stops
// the program at its next instruction, where the front end finds it.
func (e *Env) Leave(err error) {
	if e.pending == nil {
		e.pending = err
	}
	e.Thread.Cancel(err.Error())
}

// Pending takes the error that a value left, or returns nil.
func (e *Env) Pending() error {
	err := e.pending
	e.pending = nil
	return err
}

// Uncatchable reports whether err ends the program whatever it does: an
// interrupt, a timeout, a limit, or the rank's own death.
func (e *Env) Uncatchable(err error) bool {
	var u interface{ Uncatchable() bool }
	return e.Runtime.Context().Err() != nil || errors.As(err, &u) && u.Uncatchable()
}

// Pause says that a statement of a shell has ended with err, and that the rank
// rests until Resume.
func (e *Env) Pause(err error) error { return e.Runtime.Pause(err) }

// Resume says that a statement is to begin; failed says that the last one
// ended badly on some rank.
func (e *Env) Resume(failed bool) { e.Runtime.Resume(failed) }

// Width returns how many columns what the program prints may take; 0 for any number.
func (e *Env) Width() int { return e.width }

// SetWidth has tensors shown in lines of so many columns, those of a shell's
// terminal; 0 is for what is usual.
func (e *Env) SetWidth(columns int) { e.width = columns }

// SetNote has lines beside the program's output, such as warnings, go to note.
func (e *Env) SetNote(note func(line string)) { e.Runtime.Note = note }

// Planning reports whether the script runs on shapes alone.
func (e *Env) Planning() bool { return e.Runtime.Ops().Hollow() }

// Hole returns an unknown number that has arrived.
func (e *Env) Hole(kind string) starlark.Value { return &Unknown{e, kind} }

// Keep implements lang.Keeper: if the timeline is to tell of them, it notes the
// distributed tensors that have a name when a program has ended.
func (e *Env) Keep(globals starlark.StringDict) {
	if e.Options.Timeline.Whole {
		keepNamed(e, globals)
	}
}
