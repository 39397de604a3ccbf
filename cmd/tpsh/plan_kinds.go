package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"tpsh/builtins"
	"tpsh/lang"
	"tpsh/runtime"
	"tpsh/runtime/plan"
)

// fewRanks are evaluated each by itself when they cannot be by kinds: the report of
// what went wrong is then that of a run, to the letter.
const fewRanks = 16

// catchingRanks are as many as are evaluated each by itself when the program goes on
// after failures: one that ranks of several kinds meet in a call ends the evaluation by
// kinds, and nobody catches it.
const catchingRanks = 1024

// catches are the functions by which a program goes on after a failure.
var catches = []string{"assert.fails(", "attempt("}

// goesOn reports whether the text of p has one of catches.
func goesOn(p lang.Program) bool {
	return slices.ContainsFunc(catches, func(name string) bool { return strings.Contains(p.Source, name) })
}

// kinds evaluates one rank for all that do the same. What differs between ranks only
// as numbers do is told apart when something hangs on it; if the program does with
// them what cannot be followed, when it asks for them. What fails in both ways fails.
func (e *evaluation) kinds(ctx context.Context, p lang.Program) error {
	flags, err := checkFlags(e.Args, e.Typed, p)
	if err != nil {
		return err
	}
	err = e.byKinds(ctx, p, flags.Names(), false)
	if err == nil || ctx.Err() != nil || errors.As(err, new(*lang.StaticError)) {
		return err
	}
	var r *refusal
	if errors.As(err, &r) && r.starved {
		return err
	}
	if e.Ranks <= fewRanks {
		return e.each(ctx, p)
	}
	if errors.As(err, &r) && !r.doubtful && !goesOn(p) {
		return err
	}
	err = e.byKinds(ctx, p, flags.Names(), true)
	switch {
	case err == nil || ctx.Err() != nil || !goesOn(p):
		return err
	case e.Ranks <= catchingRanks:
		return e.each(ctx, p)
	case errors.As(err, &r):
		r.report += fmt.Sprintf("(the script catches failures; those that ranks meet in a call are caught in a plan of up to %d ranks)\n", catchingRanks)
	}
	return err
}

// byKinds is kinds in one of its ways.
func (e *evaluation) byKinds(ctx context.Context, p lang.Program, flags []string, settled bool) error {
	e.program = e.newProgram()
	var printed lines
	s := &starter{limits: e.Limits, ranks: e.Ranks, args: e.Args, flags: flags}
	s.limits.kernels.use()
	scratch := newScratch()
	defer os.RemoveAll(scratch)
	opts := s.world(scratch)
	opts.Shared, opts.Settled = builtins.NewShared(), settled
	k := &kindRuns{evaluation: e, opts: opts, program: p, out: &printed, runs: map[int]*kindRun{}}
	cfg := runtime.Config{Size: e.Ranks, Seed: e.Limits.seed, Plan: e.program}
	job, err := runtime.StartAlike(ctx, cfg, k.run)
	if err != nil {
		return notStarted(ctx, err)
	}
	job.Wait()
	kinds, failure := job.Kinds()
	e.ran = len(k.runs)
	left := job.Unreceived()
	job.Stop()
	if err := k.refused(kinds, failure); err != nil {
		return err
	}
	if len(left) > 0 {
		return leftBehind((&ranks{left: func() []runtime.Unreceived { return left }}).unreceived(nil))
	}
	for _, kind := range kinds {
		e.program.Add(k.runs[kind.Rank()].recorder, kind.Members())
	}
	e.program.Merge()
	printed.writeTo(e.Out)
	return nil
}

// kindRuns are the runs of the ranks that run for others.
type kindRuns struct {
	*evaluation
	opts    builtins.Options
	program lang.Program
	out     io.Writer // of the first rank

	mu   sync.Mutex
	runs map[int]*kindRun
}

// A kindRun is one of them.
type kindRun struct {
	recorder *plan.Recorder
	outcome  *lang.Outcome
	err      error
}

// run runs the program on rank, for all ranks of its kind. Only what rank 0 prints
// is shown, and of notes all.
func (k *kindRuns) run(ctx context.Context, rank *runtime.Rank) {
	one := &kindRun{recorder: rank.Recorder()}
	k.mu.Lock()
	k.runs[rank.Self()] = one
	k.mu.Unlock()
	front, back := lang.Pipe()
	opts := lang.Options{Notes: k.Notes}
	if rank.Self() == 0 {
		opts.Out = k.out
	}
	var served sync.WaitGroup
	served.Go(func() {
		lang.ServeWatched(ctx, back, builtins.New(rank, k.opts), k.Watch)
		back.Close()
	})
	session := lang.NewSession([]lang.Conn{front}, opts)
	one.outcome, one.err = session.Run(ctx, k.program)
	session.Close()
	front.Close()
	served.Wait()
}

// refused returns the report of an evaluation that has failed, or nil.
func (k *kindRuns) refused(kinds []*runtime.Kind, failure error) error {
	all := &lang.Outcome{Ranks: make([]lang.Result, k.Ranks)}
	bad, doubtful := failure != nil, errors.As(failure, new(*runtime.UnlikeError))
	for _, kind := range kinds {
		run := k.runs[kind.Rank()]
		if run == nil {
			continue
		}
		if run.err != nil {
			return run.err
		}
		result := run.outcome.Ranks[0]
		if f := result.Failure; f != nil && string(f.Message) == runtime.ErrEnded.Error() {
			continue
		}
		if f := result.Failure; f != nil {
			bad = true
			doubtful = doubtful || f.Kind == "other" // perhaps of the interpreter, about what varies
		}
		for _, rank := range kind.Members() {
			all.Ranks[rank] = result
		}
	}
	if !bad {
		return nil
	}
	if all.ExitStatus() == lang.StatusOK {
		return &refusal{report: fmt.Sprintf("Error: %v\n", failure), status: lang.StatusOf(failure), doubtful: doubtful}
	}
	err := failed(all)
	if r, ok := err.(*refusal); ok {
		r.doubtful = doubtful
	}
	return err
}

// lines are what a program prints, kept until it has ended well.
type lines struct {
	mu   sync.Mutex
	text []byte
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b...)
	return len(b), nil
}

func (l *lines) writeTo(w io.Writer) {
	if w != nil {
		w.Write(l.text)
	}
}
