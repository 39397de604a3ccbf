package repl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"time"

	"tpsh/internal/units"
	"tpsh/lang"
	"tpsh/lang/debug"
	"tpsh/lang/halt"
)

// Options are the parts that a shell works with.
type Options struct {
	// Ranks is the number of ranks to begin with.
	Ranks int
	// Start starts ranks and returns the connections to them, by rank. stop
	// ends them after the session on them has been closed.
	Start func(ranks int) (conns []lang.Conn, stop func(), err error)
	// Recorded gets the ranks' records of statements (see lang.Recorder); nil if
	// nobody wants them.
	Recorded func(rank int, data []byte)
	// Typed, if set, gets all lines that were typed, as positions number them, before a
	// statement runs.
	Typed func(text string)
	// Dir is the absolute path of the working folder.
	Dir string
	// Folders are those that statements load files from, beside Dir.
	Folders lang.Folders

	Input      Input            // where statements come from
	Out        io.Writer        // gets values and the output of programs
	Err        io.Writer        // gets reports and notes
	Interrupts <-chan os.Signal // nil for the process's interrupts

	Mode     lang.Mode     // of output; "" is merged
	Timeout  time.Duration // of a statement; 0 for none
	MaxSteps uint64        // of a statement; 0 for no limit

	// Commands come in addition to those of the package.
	Commands []Command
	// Doc returns the text that :doc shows of a name of the language, or an error that
	// names a similar one. It may be nil.
	Doc func(name string) (text string, err error)
	// Width returns how many columns values may take; nil for any number.
	Width func() int
}

// Run runs a shell until its input ends, :quit or the end of ctx. It returns
// the exit status: if the input is no terminal, that of the last statement
// that failed; else 0, unless the ranks cannot be started.
func Run(ctx context.Context, opts Options) int {
	s := newShell(opts)
	if err := s.restart(opts.Ranks); err != nil {
		fmt.Fprintln(opts.Err, err)
		return lang.StatusJob
	}
	defer s.end()

	reader, err := opts.Input(func(line string) (int, []string) { return s.complete(ctx, line) })
	if err != nil {
		fmt.Fprintln(opts.Err, err)
		return lang.StatusJob
	}
	defer reader.Close()
	s.in = &statements{reader: reader}

	if s.opts.Interrupts == nil {
		interrupts := make(chan os.Signal, 1)
		signal.Notify(interrupts, os.Interrupt)
		defer signal.Stop(interrupts)
		s.opts.Interrupts = interrupts
	}
	if reader.Interactive() {
		fmt.Fprintf(opts.Out, "%s; :help lists the commands, Ctrl-D ends\n", ranks(s.session.Size()))
	}
	return s.loop(ctx)
}

func newShell(opts Options) *Shell {
	s := &Shell{opts: opts, dir: opts.Dir, saved: make(map[string]bool)}
	s.debug = debug.New()
	s.prompt = &debug.Prompt{C: s.debug, Out: opts.Out, Read: func(prompt string) (string, error) { return s.in.take(prompt) }, Source: s.sourceOf}
	s.out, s.notes = &tap{Writer: opts.Out}, &tap{Writer: opts.Err}
	s.commands = append(builtinCommands(), opts.Commands...)
	return s
}

// A Shell is a shell at work, as its commands see it.
type Shell struct {
	opts     Options
	dir      string
	commands []Command
	in       *statements

	session *lang.Session
	current atomic.Pointer[lang.Session] // session, for other goroutines
	stop    func()                       // ends the ranks

	out, notes *tap // the output of the ranks, and their notes
	debug      *debug.Controller
	prompt     *debug.Prompt // for a statement that has stopped
	typed      []string      // all lines that have run, for the debugger to show

	done          []entry         // statements that ran well
	lastStatement string          // the source of the last statement, "" after :undo
	lastWell      bool            // it ran well
	saved         map[string]bool // files that :save has written
	quit          bool
	status        int // of the last statement that failed
}

// ranks returns "4 ranks".
func ranks(n int) string { return units.Count(n, "rank") }

// restart ends the ranks, if there are any, and starts n anew.
func (s *Shell) restart(n int) error {
	if n < 1 {
		return fmt.Errorf("got %s, want at least 1", ranks(n))
	}
	conns, stop, err := s.opts.Start(n)
	if err != nil {
		return fmt.Errorf("cannot start %s: %w", ranks(n), err)
	}
	s.end()
	s.session = lang.NewSession(conns, lang.Options{Out: s.out, Notes: s.notes, Mode: s.opts.Mode, Debugger: s.debug, Recorded: s.opts.Recorded})
	s.current.Store(s.session)
	s.stop = stop
	s.done, s.lastStatement = nil, ""
	return nil
}

// end ends the ranks.
func (s *Shell) end() {
	if s.session != nil {
		s.session.Close()
		s.stop()
		s.session = nil
	}
}

// loop reads and runs statements and commands.
func (s *Shell) loop(ctx context.Context) int {
	for !s.quit && ctx.Err() == nil {
		st, err := s.in.next(fmt.Sprintf("tpsh[%d]> ", s.session.Size()))
		switch {
		case errors.Is(err, ErrInterrupt):
			s.in.ahead = nil
			continue
		case errors.Is(err, io.EOF):
			return s.exitStatus()
		case err != nil:
			fmt.Fprintln(s.opts.Err, err)
			s.status = lang.StatusFailed
			continue
		}
		if command := cmp.Or(st.command, s.word(ctx, st.source)); command != "" {
			s.command(ctx, command)
		} else {
			s.run(ctx, s.program(st.source, st.line), st.source)
		}
		if s.status == lang.StatusInterrupted && !s.in.reader.Interactive() {
			break
		}
	}
	return s.exitStatus()
}

// Typed is the path that positions of statements show.
const Typed = "<stdin>"

func (s *Shell) exitStatus() int {
	if s.in.reader.Interactive() {
		return lang.StatusOK
	}
	return s.status
}

// Exec runs a statement on all ranks and shows its value or its failure,
// as if it had been typed. It reports whether it ended well.
func (s *Shell) Exec(ctx context.Context, source string) bool {
	return s.ExecAs(ctx, source, source)
}

// ExecAs is Exec of a source that a command made of the text typed, which is
// the one that :save writes; "" for nothing.
func (s *Shell) ExecAs(ctx context.Context, source, typed string) bool {
	return s.run(ctx, s.program(source, s.in.line), typed)
}

// ExecUnseen is Exec that does not show the value.
func (s *Shell) ExecUnseen(ctx context.Context, source string) bool {
	p := s.program(source, s.in.line)
	p.Valueless = true
	return s.run(ctx, p, source)
}

// Size returns the number of ranks.
func (s *Shell) Size() int { return s.session.Size() }

// Out returns where the shell writes values.
func (s *Shell) Out() io.Writer { return s.opts.Out }

// Program returns the chunk of a source that a command makes.
func (s *Shell) Program(source string) lang.Program { return s.program(source, s.in.line) }

// History returns the statements that ran well, in turn.
func (s *Shell) History() []lang.Program {
	var list []lang.Program
	for _, e := range s.done {
		list = append(list, e.program)
	}
	return list
}

// program returns the chunk of a source whose first line is the given one of the
// input.
func (s *Shell) program(source string, line int) lang.Program {
	return lang.Program{Path: Typed, Dir: s.dir, Folders: s.opts.Folders, Source: source, FirstLine: line, Chunk: true, Timeout: s.opts.Timeout, MaxSteps: s.opts.MaxSteps}
}

// run runs a chunk, of which typed is for :save. An interrupt ends it.
func (s *Shell) run(ctx context.Context, p lang.Program, typed string) bool {
	p.Chunk, p.Timeout, p.MaxSteps, p.Width = true, s.opts.Timeout, s.opts.MaxSteps, s.width()
	if typed != "" {
		s.lastStatement, s.lastWell = typed, false
	}
	release := s.watchInterrupts()
	o, err := s.drive(ctx, p)
	release()
	if err != nil && ctx.Err() != nil {
		fmt.Fprintln(s.opts.Err, "interrupted")
		s.status = lang.StatusInterrupted
		return false
	}
	if err != nil {
		fmt.Fprintf(s.opts.Err, "%v\nthe ranks cannot go on; :ranks %d starts them anew\n", err, s.session.Size())
		s.status = lang.StatusJob
		return false
	}
	if o.Interrupted() {
		s.in.forget()
	}
	values := o.Values()
	io.WriteString(s.opts.Out, fold(values, p.Width))
	o.Report(s.opts.Err)
	if !o.OK() {
		s.status = o.ExitStatus()
		return false
	}
	if typed != "" {
		s.keep(entry{p, typed, values != ""})
	}
	return true
}

// drive runs a chunk, which stops at breakpoints. Where nobody types it does so only if
// there are any: breakpoint() is for people.
func (s *Shell) drive(ctx context.Context, p lang.Program) (o *lang.Outcome, err error) {
	s.remember(p)
	if !s.in.reader.Interactive() && len(s.debug.Breaks()) == 0 {
		return s.session.Run(ctx, p)
	}
	p.Debug = true
	s.debug.Drive(s.session, p.Ranks, halt.Go, func() { o, err = s.session.Run(ctx, p) }, s.prompt.Talk)
	return o, err
}

// remember keeps the lines of a chunk.
func (s *Shell) remember(p lang.Program) {
	if p.Path != Typed {
		return
	}
	for i, line := range strings.Split(p.Source, "\n") {
		for len(s.typed) <= p.FirstLine+i {
			s.typed = append(s.typed, "")
		}
		s.typed[p.FirstLine+i] = line
	}
	if s.opts.Typed != nil {
		text, _ := s.sourceOf(Typed)
		s.opts.Typed(text)
	}
}

// sourceOf returns the text of a file that a position names.
func (s *Shell) sourceOf(path string) (string, bool) {
	if path != Typed {
		return "", false
	}
	return strings.TrimPrefix(strings.Join(s.typed, "\n"), "\n"), true
}

// keep notes a statement that ran well.
func (s *Shell) keep(e entry) {
	s.done = append(s.done, e)
	s.lastStatement, s.lastWell = e.program.Source, true
}

// width returns how many columns values may take; 0 for any number.
func (s *Shell) width() int {
	if s.opts.Width == nil {
		return 0
	}
	return s.opts.Width()
}

// watchInterrupts passes interrupts on to the session until it is released.
// One that came before is forgotten.
func (s *Shell) watchInterrupts() (release func()) {
	select {
	case <-s.opts.Interrupts:
	default:
	}
	session, quit, done := s.session, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-s.opts.Interrupts:
				session.Interrupt()
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
