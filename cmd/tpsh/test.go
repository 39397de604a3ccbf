package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tpsh/cmd/tpsh/launch"
	"tpsh/comm/mpi"
	"tpsh/lang"
	"tpsh/lang/testrun"
)

var testCommand = &command{
	name:  "test",
	usage: "[-n 1,2,4] [--transport inproc,shm,tcp] [--run REGEXP] [PATH...] [-- ARGS]",
	short: "runs the test_* functions of *_test.star files",
	words: true,
	files: ".star",
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		t := &tester{flags: fs}
		fs.StringVar(&t.n, "n", "", "test on these `NUMBERS` of ranks, as 1,2,4 (default: those of the file's RANKS, or 1,2,4)")
		fs.StringVar(&t.transports, "transport", "inproc", "test on these `TRANSPORTS`, as inproc,shm,tcp: "+orList(transports()))
		fs.StringVar(&t.match, "run", "", "only tests whose name matches `REGEXP`")
		fs.BoolVar(&t.verbose, "v", false, "tell of every test, and show what it prints")
		fs.BoolVar(&t.json, "json", false, "one event in JSON a line, as go test -json")
		fs.StringVar(&t.junit, "junit", "", "write a report in JUnit's XML to `FILE`")
		fs.BoolVar(&t.failFast, "failfast", false, "end with the first failure")
		fs.BoolVar(&t.list, "list", false, "name the tests, with file and line, and run none")
		fs.Var(&t.shuffle, "shuffle", "run files and tests in a random order; --shuffle=`SEED` repeats one")
		fs.IntVar(&t.parallel, "p", 1, "run `N` files at a time")
		fs.StringVar(&t.cover, "cover", "", "write what lines were run to `FILE`, in the format of lcov, and say so")
		t.hosts.declare(fs)
		t.limits.declare(fs)
		t.tracing.declare(fs)
		return t.run
	},
}

// A tester is one `tpsh test`.
type tester struct {
	limits
	hosts
	tracing
	flags                       *flag.FlagSet
	n, transports, match, junit string
	verbose, json               bool
	args                        []string // of the scripts
	failFast, list              bool
	shuffle                     seedFlag
	parallel                    int
	cover                       string
	debugging                   *debugging
	lost                        error // of writing what is told; written by who tells alone
}

func (t *tester) run(std *stdio, paths []string) error {
	paths, t.args = cutWords(paths)
	opts, err := t.options(std, paths)
	if err != nil {
		return err
	}
	l, err := chooseWorld(strings.Join(opts.Transports, ","), t.given("transport"), t.given("nnodes") || t.given("nproc-per-node"), os.LookupEnv)
	if err != nil {
		return err
	}
	if l != nil {
		return t.runInWorld(std, l, opts)
	}
	if err := t.checkHere(); err != nil {
		return err
	}
	t.debugging = atTerminal(std)
	ctx, done := interruptible()
	defer done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opts.Out = &heardWriter{opts.Out, func(err error) {
		t.lost = err
		cancel()
	}}
	o, err := t.nodes(opts)
	if err != nil {
		return err
	}
	if o.Nodes == 1 {
		return t.test(ctx, opts, nil)
	}
	o.Note = (&starter{notes: std.err}).note()
	t.kernels.tell(&o)
	return onNodes(ctx, o, func(c *launch.Cluster) error {
		opts.Ranks, opts.Transports = []int{c.Size()}, []string{o.Transport}
		return t.test(ctx, opts, c)
	})
}

// nodes returns the nodes on which to test, of which there may be but this one.
// On several, the ranks of all are what every test runs on: a file that is not
// for so many is skipped.
func (t *tester) nodes(opts testrun.Options) (launch.Options, error) {
	w := wish{ranks: defaultRanks(), transport: t.transports, ranksGiven: len(opts.Ranks) > 0, transportGiven: t.given("transport")}
	if len(opts.Ranks) > 1 && t.hosts.nodes > 1 {
		return launch.Options{}, usagef("for flag -n: got %q, want one number (%d nodes run all tests on their ranks)", t.n, t.hosts.nodes)
	}
	if len(opts.Ranks) > 0 {
		w.ranks = opts.Ranks[0]
	}
	return t.hosts.options(w, os.LookupEnv)
}

func (t *tester) given(name string) bool { return given(t.flags, name) }

// runInWorld runs the tests on the ranks that a launcher of MPI has started, all
// of them. A file that is not for so many is skipped.
func (t *tester) runInWorld(std *stdio, l *mpi.Launch, opts testrun.Options) error {
	if err := checkForeign(t.given, l); err != nil {
		return err
	}
	if err := checkSize(opts.Ranks, l); err != nil {
		return err
	}
	opts.Ranks, opts.Transports = []int{l.Size}, []string{viaMPI}
	return inWorld(std, l, &t.kernels, interruptible, func(ctx context.Context, c *launch.Cluster) error {
		if err := t.checkHere(); err != nil {
			return err
		}
		return t.test(ctx, opts, c)
	})
}

// test runs the tests, on the ranks of c if that is not nil.
func (t *tester) test(ctx context.Context, opts testrun.Options, c *launch.Cluster) error {
	flags := new(lang.Flags)
	opts.Check = func(programs []lang.Program) (err error) {
		flags, err = checkFlags(t.args, true, programs...)
		return err
	}
	sweep()
	var kept pool
	defer kept.close()
	opts.Start = func(n int, transport string) ([]lang.Conn, func(*lang.Outcome) error, error) {
		r, err := kept.start(ctx, &starter{limits: &t.limits, tracing: &t.tracing, ranks: n, transport: transport, cluster: c, args: t.args, flags: flags.Names()})
		if err != nil {
			return nil, nil, err
		}
		return r.conns, func(o *lang.Outcome) error {
			defer kept.put(r)
			return r.unreceived(o)
		}, nil
	}
	if d := t.debugging; d != nil && opts.Parallel == 1 {
		opts.Debugger, opts.Drive = d.control, d.drive
	}
	var err error
	if code := testrun.Run(ctx, opts); code != lang.StatusOK {
		err = status(code)
	}
	if isUnread(t.lost) {
		err = t.lost // on all nodes
	}
	return t.tracing.write(err)
}

// options returns what the flags ask for.
func (t *tester) options(std *stdio, paths []string) (opts testrun.Options, err error) {
	opts = testrun.Options{
		Paths: paths, Folders: t.folders(), Timeout: t.timeout, MaxSteps: t.maxSteps,
		FailFast: t.failFast, List: t.list, Parallel: t.parallel, Shuffle: t.shuffle.seed, Cover: t.cover,
		Verbose: t.verbose, JSON: t.json, JUnit: t.junit, Out: std.out, Err: std.err,
	}
	if t.on() {
		t.tracing.kind, t.tracing.title = "test", strings.Join(paths, " ")
		opts.Recorded = func(test string, n int, transport string) func(int, []byte) {
			return t.job(fmt.Sprintf("%s (n=%d, %s)", test, n, transport))
		}
	}
	if err := t.tracing.check(); err != nil {
		return opts, err
	}
	if err := t.limits.check(); err != nil {
		return opts, err
	}
	if t.parallel < 1 {
		return opts, usagef("for flag -p: got %d, want a number of files from 1", t.parallel)
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
		if err := checkTransport(name, viaMPI); err != nil {
			return opts, err
		}
		opts.Transports = append(opts.Transports, name)
	}
	if len(opts.Transports) > 1 && slices.Contains(opts.Transports, viaMPI) {
		return opts, usagef("for flag --transport: got %q, want %s alone (its ranks are there from the start)", t.transports, viaMPI)
	}
	if t.match != "" {
		if opts.Match, err = regexp.Compile(t.match); err != nil {
			return opts, usagef("for flag --run: %v", err)
		}
	}
	return opts, nil
}

// seedFlag is a flag that may be given without a value, for any seed.
type seedFlag struct{ seed *int64 }

// IsBoolFlag reports that the flag needs no value.
func (s *seedFlag) IsBoolFlag() bool { return true }

func (s *seedFlag) String() string { return "" }

func (s *seedFlag) Set(text string) error {
	n := time.Now().UnixNano() % 1_000_000
	if text != "true" {
		var err error
		if n, err = strconv.ParseInt(text, 10, 64); err != nil {
			return fmt.Errorf("want a number")
		}
	}
	s.seed = &n
	return nil
}
