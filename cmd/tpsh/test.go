package main

import (
	"context"
	"flag"
	"regexp"
	"strconv"
	"strings"

	"tpsh/lang"
	"tpsh/lang/testrun"
)

var testCommand = &command{
	name:  "test",
	usage: "[-n 1,2,4] [--transport inproc,shm,tcp] [--run REGEXP] [PATH...]",
	short: "runs the test_* functions of *_test.star files",
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		t := &tester{}
		fs.StringVar(&t.n, "n", "", "test on these `NUMBERS` of ranks, as 1,2,4 (default: those of the file's RANKS, or 1,2,4)")
		fs.StringVar(&t.transports, "transport", "inproc", "test on these `TRANSPORTS`, as inproc,shm,tcp")
		fs.StringVar(&t.match, "run", "", "only tests whose name matches `REGEXP`")
		fs.BoolVar(&t.verbose, "v", false, "tell of every test, and show what it prints")
		fs.BoolVar(&t.json, "json", false, "one event in JSON a line, as go test -json")
		fs.StringVar(&t.junit, "junit", "", "write a report in JUnit's XML to `FILE`")
		t.limits.declare(fs)
		return t.run
	},
}

// A tester is one `tpsh test`.
type tester struct {
	limits
	n, transports, match, junit string
	verbose, json               bool
}

func (t *tester) run(std *stdio, paths []string) error {
	ctx, done := interruptible()
	defer done()
	var kept pool
	defer kept.close()
	opts, err := t.options(ctx, std, paths, &kept)
	if err != nil {
		return err
	}
	if code := testrun.Run(ctx, opts); code != lang.StatusOK {
		return status(code)
	}
	return nil
}

// options returns what the flags ask for.
func (t *tester) options(ctx context.Context, std *stdio, paths []string, kept *pool) (opts testrun.Options, err error) {
	opts = testrun.Options{
		Paths: paths, Timeout: t.timeout, MaxSteps: t.maxSteps,
		Verbose: t.verbose, JSON: t.json, JUnit: t.junit, Out: std.out, Err: std.err,
		Start: func(n int, transport string) ([]lang.Conn, func([]int) error, error) {
			r, err := kept.start(ctx, &starter{limits: &t.limits, ranks: n, transport: transport})
			if err != nil {
				return nil, nil, err
			}
			return r.conns, func(killed []int) error {
				defer kept.put(r)
				return r.unreceived(killed)
			}, nil
		},
	}
	if err := t.check(); err != nil {
		return opts, err
	}
	if t.n != "" {
		for _, s := range strings.Split(t.n, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(s))
			if err != nil {
				return opts, usagef("for flag -n: got %q, want numbers of ranks, as 1,2,4", t.n)
			}
			if err := checkRanks(n); err != nil {
				return opts, err
			}
			opts.Ranks = append(opts.Ranks, n)
		}
	}
	for _, name := range strings.Split(t.transports, ",") {
		name = strings.TrimSpace(name)
		if err := checkTransport(name); err != nil {
			return opts, err
		}
		opts.Transports = append(opts.Transports, name)
	}
	if t.match != "" {
		if opts.Match, err = regexp.Compile(t.match); err != nil {
			return opts, usagef("for flag --run: %v", err)
		}
	}
	return opts, nil
}
