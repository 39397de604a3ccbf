package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"tpsh/lang"
)

var runCommand = &command{
	name:  "run",
	usage: "[-n N] [--transport T] SCRIPT.star [-- ARGS]",
	short: "runs a script on N ranks",
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		r := &runner{}
		fs.IntVar(&r.n, "n", defaultRanks(), "run on `N` ranks")
		fs.StringVar(&r.transport, "transport", "inproc", "let ranks talk by `T`: inproc or frames")
		fs.StringVar(&r.output, "output", "merged", "show output `HOW`: merged, raw or rank0")
		r.limits.declare(fs)
		return r.run
	},
}

// A runner is one `tpsh run`.
type runner struct {
	limits
	n                 int
	transport, output string
}

func (r *runner) run(std *stdio, args []string) error {
	script, args, err := r.parse(args)
	if err != nil {
		return err
	}
	p, err := lang.ReadProgram(script)
	if err != nil {
		return usageError{err}
	}
	p.Timeout, p.MaxSteps = r.timeout, r.maxSteps
	ranks, err := start(r.n, r.transport, &r.limits, args, std.err)
	if err != nil {
		return err
	}
	defer ranks.stop()
	s := lang.NewSession(ranks.conns, lang.Options{Out: std.out, Notes: std.err, Mode: lang.Mode(r.output)})
	defer s.Close()
	ctx, done := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer done()
	outcome, err := s.Run(ctx, p)
	if err != nil {
		return err
	}
	outcome.Report(std.err)
	if code := outcome.ExitStatus(); code != lang.StatusOK {
		return status(code)
	}
	if err := ranks.unreceived(nil); err != nil {
		fmt.Fprintln(std.err, err)
		return status(lang.StatusFailed)
	}
	return nil
}

// parse checks the flags and returns the script and its arguments.
func (r *runner) parse(args []string) (script string, rest []string, err error) {
	if err := checkRanks(r.n); err != nil {
		return "", nil, err
	}
	if err := checkTransport(r.transport); err != nil {
		return "", nil, err
	}
	if err := r.check(); err != nil {
		return "", nil, err
	}
	switch lang.Mode(r.output) {
	case lang.Merged, lang.Raw, lang.Rank0:
	default:
		return "", nil, usagef("for flag --output: got %q, want merged, raw or rank0", r.output)
	}
	switch {
	case len(args) == 0:
		return "", nil, usagef("run: got no script, want SCRIPT.star")
	case len(args) > 1 && args[1] != "--":
		return "", nil, usagef("run: got argument %q behind the script, want arguments of the script behind --", args[1])
	case len(args) > 1:
		rest = args[2:]
	}
	return args[0], rest, nil
}
