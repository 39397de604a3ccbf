package lang

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Run runs a program on the ranks and returns when it has ended on all of
// them, or when those that were told to stop have not done so in time. The end
// of ctx interrupts it. Failures of the program are in the Outcome; an
// error says that there was no program, or that its output could not be
// written.
func (s *Session) Run(ctx context.Context, p Program) (*Outcome, error) {
	ranks := p.Ranks
	if ranks == nil {
		ranks = s.allRanks()
	}
	if err := s.usable(ranks); err != nil {
		return nil, err
	}
	if p.Chunk {
		ready := &readyMsg{Failed: s.failed, Ranks: p.Ranks}
		if _, err := s.ask(ctx, s.allRanks(), &message{Ready: ready}); err != nil {
			return nil, err
		}
	}
	r := s.start(p, ranks)
	r.wait(ctx, p.Timeout)
	s.failed = !r.outcome.OK()
	return r.outcome, r.unwritten()
}

// unwritten returns why the output could not be written, and where a rank was
// stopped for it; nil if all was.
func (r *running) unwritten() error {
	if r.sink.err == nil {
		return nil
	}
	for rank, result := range r.outcome.Ranks {
		if f := result.Failure; f != nil && f.Stop == stopPeer && f.place() >= 0 {
			return fmt.Errorf("%w; rank %d was stopped %s", r.sink.err, rank, f.here())
		}
	}
	return r.sink.err
}

// A running is a program under way.
type running struct {
	*Session
	seq     int
	sink    *sink
	outcome *Outcome
	waiting map[int]bool // the ranks that have not ended

	valueless bool // see Program

	halted map[int]bool // ranks that a debugger has stopped
	limit  stopwatch    // the time that the program may take

	grace  <-chan time.Time // when to stop the others; nil if no rank has failed
	giveUp <-chan time.Time // when to wait no more; nil if none was told to stop
	failed int              // the first rank that failed
}

// start sends the program to the ranks.
func (s *Session) start(p Program, ranks []int) *running {
	s.seq++
	s.drainInterrupts()
	r := &running{
		Session: s,
		seq:     s.seq,
		sink:    newSink(s.opts.Out, s.opts.Mode, ranks, len(s.conns)),
		outcome: &Outcome{Ranks: make([]Result, len(s.conns))},

		valueless: p.Valueless,
		halted:    make(map[int]bool),
		waiting:   make(map[int]bool),
	}
	m := &message{Seq: s.seq, Run: p.message(s.opts)}
	for _, rank := range ranks {
		r.outcome.Ranks[rank].Ran = true
		r.waiting[rank] = true
		s.send(rank, m)
	}
	return r
}

// message returns what a session with some options tells ranks of the program.
func (p *Program) message(opts Options) *runMsg {
	debugged := opts.Debugger != nil
	return &runMsg{
		Path:      text(p.Path),
		Dir:       text(p.Dir),
		Source:    text(p.Source),
		Lib:       toTexts(p.Lib),
		Allow:     toTexts(p.Allow),
		Function:  p.Function,
		Before:    p.Before,
		After:     p.After,
		Case:      p.Case,
		Cover:     p.Cover,
		Describe:  p.Describe,
		Chunk:     p.Chunk,
		FirstLine: p.FirstLine,
		Width:     p.Width,
		Debug:     p.Debug && debugged,
		Marked:    p.Marked || p.Chunk && debugged,
		MaxSteps:  p.MaxSteps,
		Output:    opts.Mode,
	}
}

// drainInterrupts forgets an interrupt that came when nothing ran.
func (s *Session) drainInterrupts() {
	select {
	case <-s.interrupts:
	default:
	}
}

// wait handles events until no rank is waited for.
func (r *running) wait(ctx context.Context, timeout time.Duration) {
	r.limit.start(timeout)
	defer r.limit.stop()
	done := ctx.Done()
	for len(r.waiting) > 0 {
		grace := r.grace
		if len(r.halted) > 0 {
			grace = nil
		}
		select {
		case e := <-r.events:
			r.handle(e)
		case <-r.interrupts:
			r.stop(stopInterrupt, "interrupted")
		case <-r.stopAsks:
			for rank := range r.waiting {
				r.send(rank, &message{Seq: r.seq, AskStop: &askStopMsg{}})
			}
		case <-done:
			done = nil
			r.stopFor(ctx)
		case <-r.limit.expired():
			r.stop(stopTimeout, fmt.Sprintf("timed out after %v (--timeout)", timeout))
		case <-grace:
			r.stop(stopPeer, fmt.Sprintf("stopped: rank %d failed", r.failed))
		case <-r.giveUp:
			r.abandon()
		}
	}
}

// stopFor stops the ranks because ctx has ended.
func (r *running) stopFor(ctx context.Context) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.stop(stopTimeout, "timed out")
		return
	}
	r.stop(stopInterrupt, "interrupted")
}

// handle deals with a message of a rank, or with its loss.
func (r *running) handle(e event) {
	switch {
	case e.err != nil:
		r.broken[e.rank] = death(e.err)
		if r.waiting[e.rank] {
			r.end(e.rank, &doneMsg{Failure: lost(e.err)})
		}
	case e.Note != nil:
		r.note(e)
	case e.Seen != nil:
		if r.opts.Debugger != nil {
			r.opts.Debugger.Seen(e.rank, e.Seq, e.Seen)
		}
	case e.Seq != r.seq || !r.waiting[e.rank]:
	case e.Lines != nil:
		r.sink.add(e.rank, e.Lines)
		r.send(e.rank, &message{Ack: &ackMsg{e.Lines.size()}})
		r.checkOutput()
	case e.Done != nil:
		r.end(e.rank, e.Done)
	case e.Halt != nil:
		r.halt(e.rank, e.Halt)
	}
}

// halt notes that a debugger has stopped a rank, or that it goes on. As long as one
// stands still, the time does.
func (r *running) halt(rank int, h *Halt) {
	if h.Over {
		delete(r.halted, rank)
	} else {
		r.halted[rank] = true
	}
	r.limit.pause(len(r.halted) > 0)
	if r.opts.Debugger != nil {
		r.opts.Debugger.Halted(rank, h)
	}
}

// A DeathError is the end of a connection because the rank has died. Cause says
// how, as in "was killed by signal 9 (killed)".
type DeathError struct{ Cause string }

func (e *DeathError) Error() string { return "the rank died: it " + e.Cause }

// death says that a rank has died, whose connection ended with err.
func death(err error) error {
	if !errors.As(err, new(*DeathError)) {
		err = fmt.Errorf("the rank died: its connection ended (%v)", err)
	}
	return err
}

// lost is the failure of a rank whose connection ended.
func lost(err error) *Failure {
	return &Failure{Kind: kindPeer, Message: text(death(err).Error()), Lost: true}
}

// end notes how a rank ended. If it failed, the others may go on for a while.
func (r *running) end(rank int, d *doneMsg) {
	delete(r.waiting, rank)
	delete(r.halted, rank)
	if r.opts.Debugger != nil {
		r.opts.Debugger.Ended(rank, d.Failure)
	}
	if r.opts.Recorded != nil && d.Record != nil {
		r.opts.Recorded(rank, d.Record)
	}
	res := &r.outcome.Ranks[rank]
	res.Failure = d.Failure
	r.outcome.Cover = r.outcome.Cover.add(d.Cover)
	if len(r.outcome.Described) == 0 {
		r.outcome.Described = d.Described
	}
	if d.Value != nil && !r.valueless {
		res.Value = (*string)(d.Value)
	}
	r.sink.close(rank)
	r.checkOutput()
	if f := d.Failure; f != nil && !f.Killed && r.grace == nil {
		r.grace = time.After(r.opts.Grace)
		r.failed = rank
	}
}

// checkOutput stops the program if its output cannot be written.
func (r *running) checkOutput() {
	if r.sink.err != nil && r.giveUp == nil {
		r.stop(stopPeer, fmt.Sprintf("cannot write the output: %v", r.sink.err))
	}
}

// stop tells the ranks that have not ended to do so, soon. The reason that
// comes first counts.
func (r *running) stop(why stopReason, text string) {
	for rank := range r.waiting {
		r.send(rank, &message{Seq: r.seq, Cancel: &cancelMsg{why, text}})
	}
	if r.giveUp == nil {
		r.giveUp = time.After(r.opts.Patience)
		r.outcome.stop, r.outcome.stopText = why, text
	}
}

// abandon waits no longer for the ranks that do not stop.
func (r *running) abandon() {
	for rank := range r.waiting {
		r.broken[rank] = errors.New("it still runs what it was told to stop")
		r.end(rank, &doneMsg{Failure: &Failure{
			Kind:    kindOther,
			Stop:    stopHung,
			Message: text(fmt.Sprintf("does not stop (was told to %v ago)", r.opts.Patience)),
		}})
	}
}
