package main

import (
	"context"
	"flag"
	"io"
	"os"
	"sync"

	"tpsh/builtins"
	"tpsh/lang"
	"tpsh/lang/repl"
)

var replCommand = &command{
	name:  "repl",
	usage: "[-n N] [--transport T]",
	short: "starts the shell, attached to N ranks",
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		s := &shell{}
		fs.IntVar(&s.n, "n", defaultRanks(), "start with `N` ranks")
		fs.StringVar(&s.transport, "transport", "inproc", transportUsage())
		s.limits.declare(fs)
		return s.run
	},
}

// A shell is one `tpsh repl`.
type shell struct {
	limits
	n         int
	transport string

	mu      sync.Mutex
	current *ranks // nil before the first
}

func (s *shell) run(std *stdio, args []string) error {
	if len(args) > 0 {
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
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	defer atEnding(s.stop)()
	code := repl.Run(context.Background(), repl.Options{
		Ranks:    s.n,
		Start:    func(n int) ([]lang.Conn, func(), error) { return s.start(n, std.err) },
		Dir:      dir,
		Input:    s.input(std),
		Out:      std.out,
		Err:      std.err,
		Timeout:  s.timeout,
		MaxSteps: s.maxSteps,
		Doc:      builtins.Doc,
		Commands: shellCommands,
	})
	if code != lang.StatusOK {
		return status(code)
	}
	return nil
}

// start starts n ranks.
func (s *shell) start(n int, notes io.Writer) (conns []lang.Conn, stop func(), err error) {
	if err := checkRanks(n); err != nil {
		return nil, nil, err
	}
	r, err := (&starter{limits: &s.limits, ranks: n, transport: s.transport, notes: notes}).start(context.Background())
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = r
	return r.conns, r.stop, nil
}

// stop ends the ranks that were started last.
func (s *shell) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		s.current.stop()
	}
}

// input returns where the shell reads: the terminal, or what stands for it.
func (s *shell) input(std *stdio) repl.Input {
	if std.in == os.Stdin {
		return repl.Stdin
	}
	return repl.Plain(std.in)
}
