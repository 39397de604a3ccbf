package lang

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"go.starlark.net/starlark"

	"tpsh/lang/advice"
)

// Serve runs at the rank: it receives control messages from conn, runs the
// programs they hold in the world of env, and answers. It returns nil when it
// is told to stop or the connection closes, and else the cause of ctx's end or
// the error of the connection. A program under way is then ended first.
func Serve(ctx context.Context, conn Conn, env Env) error { return ServeWatched(ctx, conn, env, nil) }

// ServeWatched is Serve of a rank whose programs a Watch holds to its limit.
func ServeWatched(ctx context.Context, conn Conn, env Env, watch *Watch) error {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &server{conn: conn, env: env, watch: watch, cancel: cancel, credit: newCredit(), work: make(chan task)}
	s.rank, s.size = env.Rank()
	s.halts = newHalts(s)
	if n, ok := env.(Noter); ok {
		n.SetNote(func(line string) { s.send(&message{Note: &noteMsg{text(line)}}) })
	}
	var reader sync.WaitGroup
	reader.Go(func() { s.read(ctx) })
	err := s.loop(ctx)
	cancel(errStopped)
	reader.Wait()
	if errors.Is(err, errStopped) || errors.Is(err, errGone) {
		return nil
	}
	return err
}

var (
	errStopped = errors.New("the front end has stopped the rank")
	errGone    = errors.New("the front end has gone")
)

// A server is the rank's side of a control connection.
type server struct {
	conn       Conn
	env        Env
	watch      *Watch
	rank, size int
	cancel     context.CancelCauseFunc // ends Serve
	credit     *credit
	work       chan task // from the reader to the rank's goroutine
	globals    *globals  // of chunks; nil before the first
	cover      Cover     // of the run under way
	notes      notebook  // of the same
	halts      *halts

	mu  sync.Mutex
	now *job // the run under way or about to be
}

// A task is a message for the rank's goroutine; if it is a run, with its job.
type task struct {
	*message
	job *job
}

// A job is one run.
type job struct {
	seq    int
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// read passes on the messages of conn until ctx or the connection ends. Messages
// that concern a run under way it handles itself.
func (s *server) read(ctx context.Context) {
	for {
		data, err := s.conn.Recv(ctx)
		if errors.Is(err, io.EOF) {
			err = errGone
		}
		if err != nil {
			s.cancel(err)
			return
		}
		m, err := decode(data)
		if err != nil {
			s.cancel(err)
			return
		}
		t := task{message: m}
		switch {
		case m.Cancel != nil:
			s.stop(m.Seq, m.Cancel)
			continue
		case m.AskStop != nil:
			if e, ok := s.env.(Stopper); ok {
				e.AskStop()
			}
			continue
		case m.Ack != nil:
			s.credit.ack(m.Ack.Bytes)
			continue
		case m.Stop != nil:
			s.cancel(errStopped)
			return
		case m.Order != nil:
			s.halts.order(m.Order)
			continue
		case m.Look != nil:
			s.halts.look(m.Seq, m.Look)
			continue
		case m.Run != nil:
			t.job = s.newJob(ctx, m.Seq)
		}
		select {
		case s.work <- t:
		case <-ctx.Done():
			return
		}
	}
}

func (s *server) newJob(ctx context.Context, seq int) *job {
	j := &job{seq: seq}
	j.ctx, j.cancel = context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = j
	return j
}

// stop ends the run seq, if that is the one under way.
func (s *server) stop(seq int, why *cancelMsg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != nil && s.now.seq == seq {
		s.now.cancel(&stopError{Reason: why.Reason, Text: why.Text})
	}
}

// send sends a message. If it cannot, there is no one left to serve.
func (s *server) send(m *message) {
	if err := s.conn.Send(m.encode()); err != nil {
		s.cancel(err)
	}
}

// loop does the work that the reader passes on. It is the rank's goroutine.
func (s *server) loop(ctx context.Context) error {
	defer s.endSession()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case t := <-s.work:
			if err := s.handle(t); err != nil {
				return err
			}
		}
	}
}

func (s *server) handle(t task) error {
	switch {
	case t.Run != nil:
		done := s.run(t.job, t.Run)
		s.send(&message{Seq: t.Seq, Done: done})
	case t.Ready != nil:
		s.resume(t.Ready)
		s.send(&message{Seq: t.Seq, Reply: &replyMsg{}})
	case t.Complete != nil:
		s.send(&message{Seq: t.Seq, Reply: s.complete(string(t.Complete.Line))})
	case t.Explain != nil:
		s.send(&message{Seq: t.Seq, Reply: s.explain(string(t.Explain.Path))})
	case t.Who != nil:
		s.send(&message{Seq: t.Seq, Reply: &replyMsg{Variables: s.variables()}})
	default:
		return fmt.Errorf("control message: not one for a rank: %+v", *t.message)
	}
	return nil
}

// run runs a program or chunk to its end and returns how it ended.
func (s *server) run(j *job, p *runMsg) *doneMsg {
	defer j.cancel(nil)
	out := newRecorder(p.Output, s.rank, s.size)
	out.ctx, out.stop, out.credit = j.ctx, j.cancel, s.credit
	out.send = func(m *linesMsg) { s.send(&message{Seq: j.seq, Lines: m}) }

	done := new(doneMsg)
	s.cover, s.notes = make(Cover), make(notebook)
	err := protect(func() error {
		s.env.Begin(j.ctx)
		if e, ok := s.env.(Widener); ok {
			e.SetWidth(p.Width)
		}
		value, err := s.execute(j, p, out)
		if err == nil && value != nil && value != starlark.None {
			shown := text(value.String())
			done.Value = &shown
		}
		return err
	})
	err = realError(j.ctx, otherRank(j.ctx, err, s.size), s.env.Pending())
	ended := err == nil
	if end := protect(func() error { return s.tellOver(p, err) }); ended {
		err = end
	}
	out.Cut()
	if r, ok := s.env.(Recorder); ok {
		done.Record = r.Record()
	}
	if err != nil {
		done = &doneMsg{Failure: s.failure(err), Record: done.Record}
		done.Failure.Ended = ended
	}
	if p.Cover {
		done.Cover = s.cover
	}
	if p.Describe {
		done.Described = s.notes.list()
	}
	return done
}

// failure describes the error that ended a program, with the hint of the Env.
func (s *server) failure(err error) *Failure {
	f := newFailure(err)
	hint := ""
	if env, ok := s.env.(Hinter); ok && !f.Static {
		hint = env.Hint(string(f.Message))
	}
	f.Message = text(advice.With(string(f.Message), hint))
	return f
}

// execute runs the source on a new thread.
func (s *server) execute(j *job, p *runMsg, out *recorder) (starlark.Value, error) {
	if p.Chunk {
		return s.executeChunk(j, p, out)
	}
	predeclared := s.predeclared()
	if p.Function != "" {
		predeclared = namedAs(string(p.Path), predeclared)
	}
	if p.Cover {
		s.cover.watch(predeclared)
	}
	if p.Describe {
		s.notes.watch(predeclared, s.env.Describe)
	}
	s.halts.marking = s.halts.prepare(p, predeclared)
	prog, err := compile(s.halts.marking, string(p.Path), string(p.Source), predeclared)
	if err != nil {
		return nil, err
	}
	t, release := s.newThread(j, p, out, predeclared)
	defer release()
	s.halts.know(string(p.Path), string(p.Source), 1)
	var globals starlark.StringDict
	err = s.halts.watch(t, func() (err error) {
		globals, err = prog.Init(t, predeclared)
		if err == nil && p.Function != "" {
			err = s.callFunctions(j, t, p, globals)
		}
		return err
	})
	if k, ok := s.env.(Keeper); ok && err == nil {
		k.Keep(globals)
	}
	return nil, err
}

func (s *server) executeChunk(j *job, p *runMsg, out *recorder) (starlark.Value, error) {
	if s.globals == nil {
		s.globals = newGlobals(s.predeclared())
	}
	t, release := s.newThread(j, p, out, s.globals.names)
	defer release()
	s.halts.know(string(p.Path), string(p.Source), p.FirstLine)
	s.halts.marking = s.halts.prepare(p, s.globals.names)
	var v starlark.Value
	err := s.halts.watch(t, func() (err error) {
		v, err = s.globals.run(t, p)
		return err
	})
	if k, ok := s.env.(Keeper); ok && err == nil {
		k.Keep(s.globals.own())
	}
	return v, err
}

// tellOver tells env that the program, or the chunk, is over.
func (s *server) tellOver(p *runMsg, err error) error {
	if !p.Chunk {
		return s.env.End(err)
	}
	if e, ok := s.env.(Pauser); ok {
		return e.Pause(err)
	}
	return nil
}

// resume tells env that a chunk is to begin, and where this rank has no part in
// it, that it rests: a rank that waits for it does so in vain.
func (s *server) resume(m *readyMsg) {
	e, ok := s.env.(Pauser)
	if !ok {
		return
	}
	e.Resume(m.Failed)
	if len(m.Ranks) > 0 && !slices.Contains(m.Ranks, s.rank) {
		e.Pause(nil)
	}
}

// endSession tells env that there will be no more chunks.
func (s *server) endSession() {
	if s.globals != nil {
		protect(func() error { return s.env.End(nil) })
	}
}
