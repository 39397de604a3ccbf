package main

import (
	"context"
	"flag"
	"os"

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
	code := repl.Run(context.Background(), repl.Options{
		Ranks: s.n,
		Start: func(n int) ([]lang.Conn, func(), error) {
			if err := checkRanks(n); err != nil {
				return nil, nil, err
			}
			r, err := (&plan{limits: &s.limits, ranks: n, transport: s.transport, notes: std.err}).start(context.Background())
			if err != nil {
				return nil, nil, err
			}
			return r.conns, r.stop, nil
		},
		Dir:      dir,
		Input:    s.input(std),
		Out:      std.out,
		Err:      std.err,
		Timeout:  s.timeout,
		MaxSteps: s.maxSteps,
		Doc:      builtins.Doc,
	})
	if code != lang.StatusOK {
		return status(code)
	}
	return nil
}

// input returns where the shell reads: the terminal, or what stands for it.
func (s *shell) input(std *stdio) repl.Input {
	if std.in == os.Stdin {
		return repl.Stdin
	}
	return repl.Plain(std.in)
}
