package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"tpsh/cmd/tpsh/launch"
	"tpsh/lang"
	"tpsh/lang/repl"
)

var replCommand = &command{
	name:  "repl",
	usage: "[-n N] [--transport T] [-- ARGS]",
	short: "starts the shell, attached to N ranks",
	words: true,
	files: noFiles,
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		s := &shell{flags: fs}
		fs.IntVar(&s.n, "n", defaultRanks(), "start with `N` ranks")
		fs.StringVar(&s.transport, "transport", "inproc", transportUsage())
		s.hosts.declare(fs)
		s.limits.declare(fs)
		s.tracing.declare(fs)
		return s.run
	},
}

// A shell is one `tpsh repl`.
type shell struct {
	limits
	hosts
	tracing   tracing
	flags     *flag.FlagSet
	n         int
	transport string
	args      []string
	pictures  string          // the folder of drawings; "" for none
	cluster   *launch.Cluster // nil if there is but one node

	mu       sync.Mutex
	current  *ranks                      // nil before the first
	recorded func(rank int, data []byte) // gets what they record
}

func (s *shell) run(std *stdio, args []string) error {
	if args, s.args = cutWords(args); len(args) > 0 {
		return usagef("repl: got argument %q, want none", args[0])
	}
	if err := checkRanks(s.n); err != nil {
		return err
	}
	if err := checkTransport(s.transport); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	if err := s.tracing.check(); err != nil {
		return err
	}
	if err := s.checkHere(); err != nil {
		return err
	}
	if err := alone("repl", os.LookupEnv); err != nil {
		return err
	}
	o, err := s.hosts.options(wish{s.n, s.transport, given(s.flags, "n"), given(s.flags, "transport")}, os.LookupEnv)
	if err != nil {
		return err
	}
	if o.Nodes == 1 {
		return s.talk(std)
	}
	o.Note = (&starter{notes: std.err}).note()
	s.kernels.tell(&o)
	ctx, done := interruptible()
	defer done()
	return onNodes(ctx, o, func(c *launch.Cluster) error {
		done() // from now on interrupts are for the shell
		s.cluster, s.n, s.transport = c, c.Size(), o.Transport
		return s.talk(std)
	})
}

// talk is the shell, to its end.
func (s *shell) talk(std *stdio) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	defer atEnding(s.stop)()
	s.tracing.session, s.tracing.kind, s.tracing.title = true, "repl", "session"
	code := repl.Run(context.Background(), repl.Options{
		Ranks:    s.n,
		Start:    func(n int) ([]lang.Conn, func(), error) { return s.start(n, std.err) },
		Recorded: s.record,
		Typed:    s.tracing.typed,
		Dir:      dir,
		Folders:  s.folders(),
		Input:    s.input(std),
		Out:      &heardWriter{std.out, func(err error) { s.leave(std.err, err) }},
		Err:      std.err,
		Timeout:  s.timeout,
		MaxSteps: s.maxSteps,
		Doc:      docText,
		Width:    s.width(std),
		Commands: shellCommands(s),
	})
	if code != lang.StatusOK {
		err = status(code)
	}
	return s.tracing.write(err)
}

// start starts n ranks.
func (s *shell) start(n int, notes io.Writer) (conns []lang.Conn, stop func(), err error) {
	if err := checkRanks(n); err != nil {
		return nil, nil, err
	}
	if err := s.makeRoom(n); err != nil {
		return nil, nil, err
	}
	r, err := (&starter{limits: &s.limits, tracing: &s.tracing, ranks: n, transport: s.transport, cluster: s.cluster, args: s.args, pictures: s.pictures, notes: notes}).start(context.Background())
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.recorded = r, s.tracing.job("")
	return r.conns, r.stop, nil
}

// record keeps what a rank has recorded of a statement.
func (s *shell) record(rank int, data []byte) {
	s.mu.Lock()
	recorded := s.recorded
	s.mu.Unlock()
	recorded(rank, data)
}

// makeRoom ends the ranks that there are, if nodes have no room for others
// beside them.
func (s *shell) makeRoom(n int) error {
	if s.cluster == nil {
		return nil
	}
	if n != s.cluster.Size() {
		return fmt.Errorf("got %d, want %d (the nodes of the shell were started for so many)", n, s.cluster.Size())
	}
	s.stop()
	return nil
}

// stop ends the ranks that were started last.
func (s *shell) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		s.current.stop()
	}
	if s.cluster != nil {
		os.RemoveAll(s.cluster.Scratch())
	}
}

// leave ends the shell whose output nobody reads any more, or that cannot be
// written as err says, and its ranks.
func (s *shell) leave(notes io.Writer, err error) {
	s.stop()
	if !isUnread(err) {
		fmt.Fprintf(notes, "tpsh: %v\n", err)
	}
	os.Exit(exitStatus(err))
}

// width returns what tells how wide values may be: as the terminal, if they go to
// one.
func (s *shell) width(std *stdio) func() int {
	if !std.isStandard() || !term.IsTerminal(int(os.Stdout.Fd())) {
		return nil
	}
	return func() int {
		width, _, err := term.GetSize(int(os.Stdout.Fd()))
		if err != nil {
			return 0
		}
		return width
	}
}

// input returns where the shell reads: the terminal, or what stands for it.
func (s *shell) input(std *stdio) repl.Input {
	if std.in == os.Stdin {
		return repl.Stdin
	}
	return repl.Plain(std.in)
}
