package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"tpsh/comm"
	"tpsh/comm/bootstrap"
	"tpsh/comm/deadlock"
	"tpsh/comm/wire"
)

// SuperviseOptions say whom a Supervision watches, and how.
type SuperviseOptions struct {
	// Streams are, by rank, the other ends of LinkOptions.Supervisor.
	Streams []io.ReadWriteCloser

	// Hosts says on which host each rank is, for reports; nil if that is no
	// matter.
	Hosts []string

	// Grace is how long, after a stream of a rank has ended, Lose or Exits may
	// come to say why, before the end of the stream itself is the cause that
	// the others are told. It is 0 where nobody watches the processes.
	Grace time.Duration

	// Heartbeat says that the streams carry heartbeats, and PeerTimeout after
	// which silence one is lost, 0 for ten seconds. Silent, if set, is called
	// when a rank has been silent for a second, once a silence.
	Heartbeat   bool
	PeerTimeout time.Duration
	Silent      func(rank int, silence time.Duration)

	// Notice, if set, is given a line whenever a rank has waited for longer
	// than NoticeAfter; see Fabric.Notice. Neither function may call the
	// Supervision.
	NoticeAfter time.Duration
	Notice      func(line string)
}

// A Supervision watches ranks in processes of their own: it finds their
// deadlocks, and tells all of the failure of one. It follows them from one
// generation of fabrics to the next.
type Supervision struct {
	options SuperviseOptions
	writers []messageWriter
	ctx     context.Context
	cancel  context.CancelFunc
	tasks   sync.WaitGroup

	mu                sync.Mutex
	current           *supervisor
	generationChanged chan struct{}      // closed when current is another
	end               context.CancelFunc // of current
	fates             []deadlock.Event   // ends of ranks that hold in every generation
}

// Supervise takes the streams of o over, and begins to listen.
func Supervise(o SuperviseOptions) *Supervision {
	s := &Supervision{options: o, generationChanged: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	var p *bootstrap.Heartbeat
	if o.Heartbeat {
		p = bootstrap.NewHeartbeat(o.PeerTimeout)
	}
	inlets := make([]*wire.Reader, len(o.Streams))
	readers := make([]*bootstrap.HeardReader, len(o.Streams))
	for rank, stream := range o.Streams {
		q := newAsyncWriter(len(o.Streams), stream)
		s.writers = append(s.writers, q)
		s.tasks.Go(func() { q.run(s.ctx) })
		readers[rank] = bootstrap.NewHeardReader(stream)
		inlets[rank] = wire.NewReader(wire.ReaderOptions{Stream: readers[rank], Source: rank})
	}
	s.beginGeneration(0)
	for rank, in := range inlets {
		s.tasks.Go(func() { s.readReports(rank, in) })
		if p != nil {
			s.tasks.Go(func() { writeHeartbeats(s.ctx, p, s.writers[rank]) })
			s.tasks.Go(func() { s.guard(p, rank, readers[rank]) })
		}
	}
	return s
}

// guard reports and ends the silence of a rank.
func (s *Supervision) guard(p *bootstrap.Heartbeat, rank int, h *bootstrap.HeardReader) {
	var report func(time.Duration)
	if s.options.Silent != nil {
		report = func(d time.Duration) { s.options.Silent(rank, d) }
	}
	p.Guard(s.ctx, h, report, func(err error) { s.Lose(rank, err) })
}

// beginGeneration makes the generation the current one. The caller holds mu, or nobody
// else has s.
func (s *Supervision) beginGeneration(generation uint32) {
	if s.end != nil {
		s.end()
	}
	ctx, end := context.WithCancel(s.ctx)
	next := newSupervisor(ctx.Done(), deadlock.Options{Size: len(s.writers), Hosts: s.options.Hosts, Grace: s.options.Grace})
	next.number = generation
	copy(next.writers, s.writers)
	fates := s.fates
	s.current, s.end = next, end
	close(s.generationChanged)
	s.generationChanged = make(chan struct{})
	s.tasks.Go(next.run)
	if s.options.Notice != nil {
		next.noticeWaits(s.options.NoticeAfter, s.options.Notice)
	}
	for _, e := range fates {
		next.tell(e)
	}
}

// readReports passes on a rank's reports, until it sends no more or what is no
// report.
func (s *Supervision) readReports(rank int, in *wire.Reader) {
	for {
		f, err := in.Next()
		if err == nil {
			err = s.acceptReport(rank, f)
		}
		if err != nil {
			s.happen(deadlock.Event{Rank: rank, Lost: err})
			return
		}
	}
}

// acceptReport takes in a report, unless its generation is past.
func (s *Supervision) acceptReport(rank int, f *wire.Frame) error {
	r, err := wire.ReadReport(f, len(s.writers))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch now := s.current.number; {
	case f.Generation > now+1:
		return &wire.FrameError{What: "alien", Got: fmt.Sprintf("generation %d", f.Generation), Want: fmt.Sprintf("at most %d", now+1)}
	case f.Generation == now+1:
		s.beginGeneration(f.Generation)
	case f.Generation < now:
		return nil
	}
	s.current.tell(deadlock.Event{Rank: rank, Report: r})
	return nil
}

// happen tells the current supervisor, and all later ones, of the end of
// a rank.
func (s *Supervision) happen(e deadlock.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fates = append(s.fates, e)
	s.current.tell(e)
}

// Lose says that the process of a rank has died or stopped, and why:
// "was killed by signal 9 (killed)". The other ranks fail with a *PeerError
// that has this text for its cause, in this generation and in later ones.
func (s *Supervision) Lose(rank int, cause error) { s.happen(deadlock.Event{Rank: rank, Dead: cause}) }

// Exits says that the process of a rank exits in good order.
func (s *Supervision) Exits(rank int) { s.happen(deadlock.Event{Rank: rank, Exits: true}) }

// Unreceived returns the messages of a generation that were sent and never
// received, as Fabric.Unreceived does. It returns when every rank has ended in
// it or is lost, or s is closed; of a generation that is past it returns none.
func (s *Supervision) Unreceived(generation int) []comm.Unreceived {
	for {
		s.mu.Lock()
		now, turned := s.current, s.generationChanged
		s.mu.Unlock()
		switch {
		case int(now.number) > generation:
			return nil
		case int(now.number) == generation:
			return now.unreceived()
		}
		select {
		case <-turned:
		case <-s.ctx.Done():
			return nil
		}
	}
}

// Close closes the streams, and returns when all goroutines that s has started
// have ended.
func (s *Supervision) Close() error {
	s.cancel()
	var err error
	for _, stream := range s.options.Streams {
		err = errors.Join(err, stream.Close())
	}
	s.tasks.Wait()
	return err
}
