package lang

import (
	"context"
	"fmt"

	"go.starlark.net/starlark"
)

// ScriptDir is the key of the thread local that holds the absolute path of
// the script's folder.
const ScriptDir = "tpsh.script_dir"

// TestKey is the key of the thread local that holds true while a test runs: a program
// of which a function is called.
const TestKey = "tpsh.test"

// Output is the rank's side of the output sections. Operations that join all
// ranks use it: each rank states whether it is Dirty, and if any of them was,
// and none takes part asynchronously, every one of them calls Cut when the
// operation is done. Both are called on the rank's own goroutine.
//
// It is an alias of an unnamed type so that an Env needs not import lang.
type Output = interface {
	// Dirty reports whether the rank has printed lines that are not sent.
	Dirty() bool
	// Cut closes the rank's section and begins the next.
	Cut()
}

// Env is one rank's world. Its methods are called on the rank's goroutine: for
// a program Begin, Predeclared, Attach, then, when it has run, Pending and End;
// Attach is left out if the program does not compile. For the chunks of a
// session Predeclared is called before the first, and End after the last.
type Env interface {
	// Rank returns the rank and the number of ranks.
	Rank() (rank, size int)

	// Predeclared returns the names that a program can use, in a dict of the
	// caller's. Values among them that can be changed are this rank's own.
	Predeclared() starlark.StringDict

	// Attach hangs the rank on a new thread. out is how operations that join
	// all ranks cut the output.
	Attach(t *starlark.Thread, out Output)

	// Pending takes the error that a value left when it could not return one,
	// and cancelled the thread instead. It returns nil if there is none.
	Pending() error

	// Begin says that a program or chunk starts. An interrupt, a timeout, a
	// limit or the failure of other ranks cancels ctx with its cause, and
	// cancels the thread. A wait under ctx then returns an error that
	// wraps the cause. Code that uncancels the thread looks at ctx afterwards.
	Begin(ctx context.Context)

	// End says that the rank's program has ended, with err or nil, and waits
	// for operations that the rank began. An error that it returns is the program's,
	// unless that has one. It is called once for every program; for a
	// session of chunks, when the session ends.
	End(err error) error

	// Describe returns the text that a shell shows of a variable that holds v: dtype,
	// shape, placements, bytes. It is "" if v is no tensor.
	Describe(v starlark.Value) string
}

// A Pauser is an Env whose rank can rest between the chunks of a session.
type Pauser interface {
	// Pause says that a chunk has ended, with err or nil, or is for others,
	// and that the rank does nothing until Resume: a peer that waits for it
	// waits in vain. An error that it returns is the chunk's, unless that has
	// one.
	Pause(err error) error

	// Resume says that a chunk is to begin. It is called on every rank before
	// the chunk begins on any. failed says that the last chunk ended badly on
	// some rank, so that communication starts afresh.
	Resume(failed bool)
}

// A Noter is an Env with something to say beside the output of the program,
// such as a wait that takes long. Serve gives it a function that brings one
// line to the front end's Options.Notes, from any goroutine.
type Noter interface {
	SetNote(note func(line string))
}

// A Stopper is an Env whose programs can learn that they are to end soon. AskStop
// says so. It is called on any goroutine, while a program runs.
type Stopper interface{ AskStop() }

// A Recorder is an Env that records something of a run for whoever started it. Record
// returns it when a program or chunk has ended, and nil where there is nothing. It
// is brought to the front end's Options.Recorded as it is.
type Recorder interface {
	Record() []byte
}

// A Hinter is an Env that has advice for some things that the
// interpreter refuses. Hint is given the interpreter's message and returns the text that
// a report adds to it, or "".
type Hinter interface {
	Hint(message string) string
}

// A Signer is an Env that knows the parameters of its values. Parameters
// returns the names that a call of v accepts as keywords, or nil.
type Signer interface {
	Parameters(v starlark.Value) []string
}

// A Widener is an Env whose values are shown in as many columns as a program says
// (see Program.Width).
type Widener interface {
	SetWidth(columns int)
}

// A Completer is an Env that knows more of its values than their attributes.
type Completer interface {
	// Keys returns the names by which v can be indexed, and which its methods
	// take: of a mesh, those of its dims. It is nil for a value without.
	Keys(v starlark.Value) []string
	// Fits reports whether a call takes v as the keyword param. It
	// is true of all values if there is no telling.
	Fits(param string, v starlark.Value) bool
	// Titles returns the names under which the documentation may have v.
	Titles(v starlark.Value) []string
}

// An Onlooker is an Env that a debugger can look into.
type Onlooker interface {
	// Watch has the rank tell of its waits: begin is called on the rank's goroutine
	// before it communicates, with the name of the call, and whether that is a collective,
	// and over when that has ended.
	Watch(begin func(call fmt.Stringer, collective bool) (over func()))
	// Aside hangs the rank on a thread that evaluates an expression while the
	// program stands still. Until release is called nothing communicates.
	Aside(t *starlark.Thread) (release func())
	// Digest returns a text that differs where values do.
	Digest(v starlark.Value) string
}

// A Keeper is an Env that gets the globals of a program that has ended well, before
// End.
type Keeper interface {
	Keep(globals starlark.StringDict)
}
