package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"tpsh/lang"
	"tpsh/runtime"
	"tpsh/runtime/plan"
)

// A question is what is to be planned.
type question struct {
	// Typed says that the user has written Args: what a flag does not take is then bad usage, and no answer.
	Typed  bool
	Script string
	Args   []string
	Ranks  int
	Each   bool // every rank is a kind of its own
	Laps   int  // of pipelines, as plan.Program has them; 0: all
	Brief  bool // likewise

	Out, Notes io.Writer   // for what the script prints, and notes; nil for nowhere
	Limits     *limits     // of the evaluation; nil for none
	Watch      *lang.Watch // holds it to its memory; nil for one of its own
}

// A refusal is a script that fails in a plan, with the report of how and the exit
// status that a run would end with.
type refusal struct {
	report  string
	brief   string // the line of the script that refuses, and why; "" if the report names none
	status  int
	starved bool // for memory: it would need no less in another way
	// doubtful: it may be for how ranks are evaluated, and not for what they are.
	doubtful bool
}

// Error returns the line of the script that refuses, and why.
func (r *refusal) Error() string {
	if r.brief != "" {
		return r.brief
	}
	return strings.TrimPrefix(strings.TrimSpace(r.report), "Error: ")
}

// evaluate runs a script on shapes alone, and returns what its ranks do.
func evaluate(ctx context.Context, q question) (*plan.Program, error) {
	if q.Limits == nil {
		q.Limits = &limits{quiet: true}
	}
	if q.Watch == nil {
		q.Watch = watchMemory(int(q.Limits.maxMem), 1)
	}
	p, err := readPlanned(q)
	if err != nil {
		return nil, err
	}
	if q.Notes != nil {
		q.Notes = &onceEach{w: q.Notes, written: map[string]bool{}}
	}
	e := &evaluation{question: q, program: q.newProgram()}
	way := e.kinds
	if q.Each {
		way = e.each
	}
	if err := way(ctx, p); err != nil {
		return nil, err
	}
	return e.program, nil
}

// A onceEach writes each note once, whichever ranks it comes from and however often the
// program is evaluated.
type onceEach struct {
	mu      sync.Mutex
	w       io.Writer
	written map[string]bool
}

func (o *onceEach) Write(note []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.written[string(note)] {
		return len(note), nil
	}
	o.written[string(note)] = true
	return o.w.Write(note)
}

// newProgram returns a program of ranks that have done nothing.
func (q *question) newProgram() *plan.Program {
	p := plan.NewProgram(q.Ranks)
	p.Laps, p.Brief = q.Laps, q.Brief
	return p
}

// readPlanned reads the program of a question.
func readPlanned(q question) (lang.Program, error) {
	p, err := lang.ReadProgram(q.Script)
	if err != nil {
		return p, fileError{unread(q.Script, err)}
	}
	p.Folders = q.Limits.folders()
	p.Timeout, p.MaxSteps = q.Limits.timeout, q.Limits.maxSteps
	return p, nil
}

// An evaluation is the answering of a question.
type evaluation struct {
	question
	program *plan.Program
	// described is what variables held, if the program asks for it.
	described []lang.Described
	// ran is how many ranks have run the program, for themselves or for others.
	ran int
}

// each evaluates every rank.
func (e *evaluation) each(ctx context.Context, p lang.Program) error {
	flags, err := checkFlags(e.Args, e.Typed, p)
	if err != nil {
		return err
	}
	s := &starter{limits: e.Limits, ranks: e.Ranks, transport: "inproc", args: e.Args, notes: e.Notes, flags: flags.Names(), watch: e.Watch}
	e.program = e.newProgram()
	s.plan = e.program
	recorders := make([]*plan.Recorder, e.Ranks)
	s.seen = func(r *runtime.Rank) { recorders[r.ID()] = r.Recorder() }
	ranks, err := s.startHere()
	if err != nil {
		return notStarted(ctx, err)
	}
	session := lang.NewSession(ranks.conns, lang.Options{Out: e.Out, Notes: e.Notes})
	outcome, err := session.Run(ctx, p)
	session.Close()
	ranks.stop()
	if err != nil {
		return err
	}
	e.described = outcome.Described
	if err := e.refused(outcome, ranks); err != nil {
		return err
	}
	for rank, r := range recorders {
		e.program.Add(r, []int32{int32(rank)})
	}
	if !e.Each {
		e.program.Merge()
	}
	return nil
}

// refused returns the report of an evaluation that has failed, or nil.
func (e *evaluation) refused(o *lang.Outcome, ranks *ranks) error {
	if err := failed(o); err != nil {
		return err
	}
	return leftBehind(ranks.unreceived(nil))
}

// leftBehind returns err, of messages that nobody receives, as a refusal; nil is nil.
func leftBehind(err error) error {
	var left *unreceivedError
	if !errors.As(err, &left) {
		return err
	}
	return &refusal{report: err.Error() + "\n", brief: left.brief(), status: lang.StatusFailed}
}

// failed returns the report of a program that has failed, or nil.
func failed(o *lang.Outcome) error {
	if o.ExitStatus() == lang.StatusOK {
		return nil
	}
	var b strings.Builder
	o.Report(&b)
	r := &refusal{report: b.String(), status: o.ExitStatus(), starved: o.Starved()}
	if first := o.First(); first != nil {
		r.brief = first.Brief()
	}
	return r
}

// tellRefusal writes the report of a refusal.
func tellRefusal(w io.Writer, err error) error {
	var r *refusal
	if !errors.As(err, &r) {
		return err
	}
	io.WriteString(w, r.report)
	return status(r.status)
}
