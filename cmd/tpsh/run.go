package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tpsh/cmd/tpsh/launch"
	"tpsh/comm/mpi"
	"tpsh/lang"
	"tpsh/runtime"
)

var runCommand = &command{
	name:  "run",
	usage: "[-n N] [--transport T] SCRIPT.star|-|-c SOURCE [-- ARGS]",
	short: "runs a script on N ranks",
	words: true,
	files: ".star",
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		r := &runner{flags: fs}
		r.declare(fs)
		return func(std *stdio, args []string) error { return r.failure.write(r.run(std, args)) }
	},
}

// declare declares the flags.
func (r *runner) declare(fs *flag.FlagSet) {
	fs.IntVar(&r.n, "n", defaultRanks(), "run on `N` ranks")
	fs.StringVar(&r.transport, "transport", "inproc", transportUsage(viaMPI))
	fs.StringVar(&r.output, "output", "merged", "show output `HOW`: merged, raw or rank0")
	fs.IntVar(&r.maxRestarts, "max-restarts", 0, "start the job again when a rank has died, `N` times at most")
	fs.BoolVar(&r.stats, "stats", false, "tell in the end what tensors took, or of ranks that are processes what they sent each other")
	fs.StringVar(&r.source, "c", "", "run `SOURCE` instead of a file")
	fs.StringVar(&r.resumeDir, "resume-dir", "", "keep what scripts save in resume_dir() in the folder `DIR`")
	r.elastic.declare(fs)
	r.tracing.declare(fs)
	r.inputs.declare(fs)
	r.outputs.declare(fs)
	r.failure.declare(fs)
	r.hosts.declare(fs)
	r.limits.declare(fs)
}

// A runner is one `tpsh run`.
type runner struct {
	limits
	hosts
	elastic                      elastic
	tracing                      tracing
	inputs                       inputs
	outputs                      outputs
	failure                      failureFile
	flags                        *flag.FlagSet
	n, maxRestarts               int
	stats                        bool
	meters                       []*runtime.Meter // of ranks of this process, if stats are wanted
	transport, output, resumeDir string
	source                       string // of -c
	debugging                    *debugging
	stopping                     stopRequest
}

func (r *runner) run(std *stdio, args []string) error {
	script, args, err := r.parse(args)
	if err != nil {
		return err
	}
	l, err := chooseWorld(r.transport, r.given("transport"), r.given("nnodes") || r.given("nproc-per-node"), os.LookupEnv)
	if err != nil {
		return err
	}
	if l != nil {
		return r.runInWorld(std, l, script, args)
	}
	if err := r.checkHere(); err != nil {
		return err
	}
	r.takeRanks(script)
	if r.debugging == nil && script != "-" {
		r.debugging = atTerminal(std)
	}
	opts, err := r.options(wish{r.n, r.transport, r.given("n"), r.given("transport")}, os.LookupEnv)
	if err != nil {
		return err
	}
	if opts.Elastic, err = r.elastic.elasticity(&opts, r.maxRestarts); err != nil {
		return err
	}
	st := &starter{limits: &r.limits, tracing: &r.tracing, ranks: opts.Ranks, transport: opts.Transport, args: args, parent: opts.Scratch, notes: r.debugging.notes(std.err)}
	if r.stats && ofOneProcess(opts.Transport) {
		r.meters = make([]*runtime.Meter, opts.Ranks)
		st.seen = func(rank *runtime.Rank) { r.meters[rank.ID()] = rank.StartMeter() }
	}
	opts.Note = st.note()
	r.kernels.tell(&opts)
	ctx, done := r.debugging.hear(&r.stopping)
	defer done()
	if opts.Node > 0 {
		opts.Stops = r.stopping.through
		return follow(ctx, opts)
	}
	opts.Asked = func() { r.stopping.ask() }
	return r.read(std, script, st, func(p lang.Program) error {
		if opts.Nodes > 1 {
			return r.lead(ctx, std, p, st, opts)
		}
		return r.attempts(ctx, std, p, st, st.start)
	})
}

// runInWorld runs the script on the ranks that a launcher of MPI has started.
func (r *runner) runInWorld(std *stdio, l *mpi.Launch, script string, args []string) error {
	if err := checkForeign(r.given, l); err != nil {
		return err
	}
	if r.given("n") {
		if err := checkSize([]int{r.n}, l); err != nil {
			return err
		}
	}
	return inWorld(std, l, &r.kernels, r.stopping.hear, func(ctx context.Context, c *launch.Cluster) error {
		if err := r.checkHere(); err != nil {
			return err
		}
		st := &starter{limits: &r.limits, tracing: &r.tracing, ranks: c.Size(), transport: viaMPI, cluster: c, args: args, notes: std.err}
		return r.read(std, script, st, func(p lang.Program) error { return r.attempts(ctx, std, p, st, st.start) })
	})
}

// read reads the script, and calls run with it while there is a folder for what
// survives restarts.
func (r *runner) read(std *stdio, script string, st *starter, run func(lang.Program) error) error {
	p, err := r.program(std, script)
	if err != nil {
		return fileError{err}
	}
	p.Folders = r.folders()
	r.tracing.kind, r.tracing.title, r.tracing.sources = "run", filepath.Base(script), map[string]string{p.Path: p.Source}
	flags, err := checkFlags(st.args, true, p)
	if err != nil {
		return err
	}
	st.flags, st.stops = flags.Names(), flags.Stops
	p.Timeout, p.MaxSteps = r.timeout, r.maxSteps
	if err := r.inputs.prepare(st.ranks); err != nil {
		return err
	}
	if err := r.outputs.prepare(st.ranks); err != nil {
		return err
	}
	st.in, st.out = r.inputs.dir, r.outputs.dir
	sweep()
	remove, err := r.makeResume(st)
	if err != nil {
		return err
	}
	defer remove()
	return run(p)
}

// program returns the program to run: a file, what -c says, or what standard
// input holds.
func (r *runner) program(std *stdio, script string) (lang.Program, error) {
	switch {
	case r.given("c"):
		return lang.NewProgram("-c", r.source)
	case script == "-":
		source, err := io.ReadAll(std.in)
		if err != nil {
			return lang.Program{}, fmt.Errorf("read standard input: %w", err)
		}
		return lang.NewProgram("<stdin>", string(source))
	}
	return lang.ReadProgram(script)
}

func (r *runner) given(name string) bool { return given(r.flags, name) }

// given reports whether a flag was given.
func given(flags *flag.FlagSet, name string) bool {
	found := false
	flags.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// follow runs a node other than the first, to the end of the job.
func follow(ctx context.Context, opts launch.Options) error {
	code, err := launch.Follow(ctx, opts)
	if err != nil {
		return notStarted(ctx, err)
	}
	if code != lang.StatusOK {
		return status(code)
	}
	return nil
}

// notStarted returns the error of a command whose ranks failed to start with
// err, perhaps because ctx ended.
func notStarted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return jobError{err}
}

// lead runs the first of several nodes.
func (r *runner) lead(ctx context.Context, std *stdio, p lang.Program, st *starter, opts launch.Options) error {
	return onNodes(ctx, opts, func(c *launch.Cluster) error {
		return r.attempts(ctx, std, p, st, func(ctx context.Context) (*ranks, error) { return st.startOn(ctx, c) })
	})
}

// attempts runs the program, and runs it again as long as a rank dies and that
// is asked for, or nodes come with which it is to go on.
func (r *runner) attempts(ctx context.Context, std *stdio, p lang.Program, st *starter, start func(context.Context) (*ranks, error)) error {
	for deaths := 0; ; st.restarts++ {
		end, err := r.attempt(ctx, std, p, start)
		if end == ofItself || end == byDeath && deaths == r.maxRestarts || ctx.Err() != nil {
			return r.tracing.write(err)
		}
		if end == byGrowth {
			fmt.Fprintln(std.err, "starting the job again, with the nodes that have come")
			continue
		}
		if errors.As(err, new(jobError)) { // else it has been reported
			fmt.Fprintf(std.err, "tpsh: %v\n", err)
		}
		deaths++
		fmt.Fprintf(std.err, "starting the job again (%d of %d)\n", deaths, r.maxRestarts)
	}
}

// An ending is why an attempt has ended.
type ending int

const (
	ofItself ending = iota
	byDeath         // of a rank
	byGrowth        // for nodes that have come
)

// errOutgrown ends an attempt for nodes that have come.
var errOutgrown = errors.New("nodes have come")

// attempt starts ranks and runs the program on them.
func (r *runner) attempt(ctx context.Context, std *stdio, p lang.Program, start func(context.Context) (*ranks, error)) (end ending, err error) {
	ranks, err := start(ctx)
	if err != nil {
		if errors.As(err, new(*lang.DeathError)) {
			end = byDeath
		}
		return end, notStarted(ctx, err)
	}
	defer ranks.stop()
	s := lang.NewSession(ranks.conns, lang.Options{Out: std.out, Notes: std.err, Mode: lang.Mode(r.output), Recorded: r.tracing.job(""), Debugger: r.debugging.debugger()})
	defer s.Close()
	if ranks.stops {
		r.stopping.through(func() bool {
			s.AskStop()
			fmt.Fprintln(std.err, "asked to stop: the script learns it where it calls should_stop(); asked again, it ends at once")
			return true
		})
		defer r.stopping.through(nil)
	}
	p.Debug = r.debugging != nil
	p.Marked = p.Debug && r.debugging.whole
	running, cancel := ranks.untilOutgrown(ctx)
	defer cancel()
	var outcome *lang.Outcome
	r.debugging.drive(s, func() { outcome, err = s.Run(running, p) })
	if err != nil {
		return ofItself, err
	}
	if context.Cause(running) == errOutgrown && outcome.ExitStatus() == lang.StatusInterrupted {
		return byGrowth, nil
	}
	err = r.conclude(std.err, outcome, ranks)
	if err == nil && r.stats && ranks.job != nil {
		s.Close()
		err = ranks.tellTraffic(ctx, std.err)
	}
	if err == nil && r.meters != nil {
		tellMemory(std.err, r.meters)
	}
	if outcome.Died() {
		end = byDeath
	}
	return end, err
}

// conclude says what went wrong, and returns it as an exit status.
func (r *runner) conclude(w io.Writer, o *lang.Outcome, ranks *ranks) error {
	o.Report(w)
	if code := o.ExitStatus(); code != lang.StatusOK {
		waiting := ranks.waiting(o)
		io.WriteString(w, waiting)
		r.failure.note(o, waiting)
		return status(code)
	}
	if err := ranks.unreceived(nil); err != nil {
		r.failure.noteUnreceived(err)
		fmt.Fprintln(w, err)
		return status(lang.StatusFailed)
	}
	return nil
}

// makeResume chooses the folder that survives restarts. remove removes it in
// the end, unless the user has named it.
func (r *runner) makeResume(st *starter) (remove func(), err error) {
	if r.resumeDir == "" {
		st.resume = newScratchIn(cmp.Or(st.parent, os.TempDir())) + "-resume"
		return func() { os.RemoveAll(st.resume) }, nil
	}
	st.resume, err = filepath.Abs(r.resumeDir)
	return func() {}, err
}

// parse checks the flags and returns the script and its arguments.
func (r *runner) parse(args []string) (script string, rest []string, err error) {
	if err := checkRanks(r.n); err != nil {
		return "", nil, err
	}
	if err := checkTransport(r.transport, viaMPI); err != nil {
		return "", nil, err
	}
	if err := r.limits.check(); err != nil {
		return "", nil, err
	}
	if err := r.tracing.check(); err != nil {
		return "", nil, err
	}
	if r.maxRestarts < 0 {
		return "", nil, usagef("for flag --max-restarts: got %d, want a number from 0", r.maxRestarts)
	}
	switch lang.Mode(r.output) {
	case lang.Merged, lang.Raw, lang.Rank0:
	default:
		return "", nil, usagef("for flag --output: got %q, want merged, raw or rank0", r.output)
	}
	switch {
	case r.given("c"):
		args = append([]string{"-c"}, args...)
	case len(args) > 0 && args[0] == "--":
		args = args[1:]
	}
	if len(args) == 0 {
		return "", nil, usagef("run: got no script, want SCRIPT.star, - for standard input, or -c SOURCE")
	}
	return scriptArguments("run", args)
}

// tellMemory writes a table of the most bytes that ranks' tensors took, by what they
// are for.
func tellMemory(w io.Writer, meters []*runtime.Meter) {
	fmt.Fprintf(w, "%-10s%14s%14s%14s%14s%14s%15s%14s\n", "most bytes", "parameters", "gradients", "optimizer", "activations", "temporaries", "communication", "together")
	for rank, m := range meters {
		k := m.Most
		fmt.Fprintf(w, "%-10s%14d%14d%14d%14d%14d%15d%14d\n", fmt.Sprint("rank ", rank), k.Parameters, k.Gradients, k.Optimizer, k.Activations, k.Temporaries, k.Communication, k.Peak)
	}
}
