package process

import (
	"context"
	"sync/atomic"
	"time"
)

// A polledTCPSet holds the connections of a rank to others of which Go's scheduler does
// not know.
//
// Who waits looks at them for a moment and then sleeps at them; the listener
// leaves them alone as long as the rank looks now and then, so that what comes
// wakes one thread and not two.
type polledTCPSet struct {
	links        *Links
	all          []*polledTCP
	by           []*polledTCP  // by rank, nil where there is none
	looks        atomic.Uint64 // how often the rank has looked
	here         atomic.Int32  // goroutines that sleep at the polled connections
	waits        atomic.Int32  // waits of calls that go on beside the rank
	dozes        atomic.Bool   // whether the listener sleeps at the polled connections, or is about to
	waiterPipe   *wakePipe     // of those who sleep at the polled connections
	listenerPipe *wakePipe     // of the listener that does
	kick         chan struct{} // holds an element when the listener is to listen
}

// start begins to listen, if there are polled connections.
func (s *polledTCPSet) start() error {
	if len(s.all) == 0 {
		return nil
	}
	var err error
	if s.waiterPipe, err = newWakePipe(); err == nil {
		s.listenerPipe, err = newWakePipe()
	}
	if err != nil {
		return err
	}
	s.kick = make(chan struct{}, 1)
	s.links.tasks.Go(s.listenAll)
	return nil
}

// add makes c one of the polled connections.
func (s *polledTCPSet) add(c *polledTCP) {
	s.all = append(s.all, c)
	s.by[c.peer] = c
}

// look takes in what has come from a rank, at most one message of a call, so
// that the rank can get ready for the next when it has it. It reports whether
// something has come.
func (s *polledTCPSet) look(rank int) (came bool) {
	if s.by[rank] == nil {
		return false
	}
	s.looks.Add(1)
	return s.by[rank].takeFrames(true)
}

// pump takes in what has come, and reports whether there was something.
func (s *polledTCPSet) pump() bool {
	s.looks.Add(1)
	came := false
	for _, c := range s.all {
		came = c.takeFrames(false) || came
	}
	return came
}

// takeHeld takes in what was held for the generation that has come.
func (s *polledTCPSet) takeHeld() {
	for _, c := range s.all {
		c.takeHeld()
	}
	if s.listenerPipe != nil {
		s.listenerPipe.wake()
	}
}

// sleep returns when something may have come, one that wants to write may, the
// wake pipe was written, or after timeout.
func (s *polledTCPSet) sleep(timeout time.Duration, writer *polledTCP, r *wakePipe) {
	var list pollList
	for _, c := range s.all {
		open, there := c.open()
		if there {
			return
		}
		if open || c == writer {
			list.add(c.at, open, c == writer)
		}
	}
	if r != nil {
		list.add(r.at, true, false)
	}
	list.wait(timeout)
	if r != nil {
		r.drain()
	}
}

const (
	// A listener looks whether the rank does between these times, the longer the
	// longer it has.
	leastAbsence = 500 * time.Microsecond
	mostAbsence  = 4 * time.Millisecond
)

// listenAll takes in what comes while the rank does not look.
func (s *polledTCPSet) listenAll() {
	defer context.AfterFunc(s.links.ctx, func() { s.listenerPipe.wake(); s.waiterPipe.wake() })()
	timer := time.NewTimer(leastAbsence)
	defer timer.Stop()
	for absence := leastAbsence; s.links.ctx.Err() == nil; {
		looks := s.looks.Load()
		timer.Reset(absence)
		select {
		case <-timer.C:
		case <-s.kick:
		case <-s.links.ctx.Done():
		}
		if s.waits.Load() == 0 && (s.looks.Load() != looks || s.here.Load() > 0) {
			absence = min(2*absence, mostAbsence)
			continue
		}
		absence = leastAbsence
		s.attend()
	}
}

// attend takes in what comes until the rank looks.
func (s *polledTCPSet) attend() {
	for looks := s.looks.Load(); s.links.ctx.Err() == nil; {
		for _, c := range s.all {
			c.takeFrames(false)
		}
		if s.waits.Load() == 0 && (s.looks.Load() != looks || s.here.Load() > 0) {
			return
		}
		s.dozes.Store(true)
		s.sleep(s.links.backoff.long, nil, s.listenerPipe)
		s.dozes.Store(false)
	}
}

// stir wakes the listener if it sleeps: of what the rank has read ahead the system
// does not tell it. Who calls it holds the mu of the polled connection, at which the listener
// looks before it sleeps.
func (s *polledTCPSet) stir() {
	if s.dozes.Load() {
		s.listenerPipe.wake()
	}
}

// Wake wakes those who sleep at the polled connections.
func (s *polledTCPSet) Wake() {
	if s.here.Load() > 0 {
		s.waiterPipe.wake()
	}
}

// A polledTCPSet is an inbound.

func (s *polledTCPSet) Reaches(rank int) bool { return s.by[rank] != nil }

func (s *polledTCPSet) Eager() int      { return streamCarries }
func (s *polledTCPSet) SpinRounds() int { return pollRounds }
func (s *polledTCPSet) Pause(i int)     { yieldAfter(i) }

func (s *polledTCPSet) PollFrom(ranks []int) (anew bool) {
	for _, r := range ranks {
		anew = s.look(r) || anew
	}
	return anew
}

func (s *polledTCPSet) WaitRounds() int { return pollRounds }
func (s *polledTCPSet) Poll()           { s.links.pump() }

func (s *polledTCPSet) Sleeper() func(time.Duration, func() bool) bool {
	return func(nap time.Duration, ends func() bool) bool {
		s.here.Add(1)
		defer s.here.Add(-1)
		s.links.pump()
		if !ends() {
			s.sleep(nap, nil, s.waiterPipe)
		}
		return true
	}
}

func (s *polledTCPSet) WakeAll() { s.waiterPipe.wake() }

func (s *polledTCPSet) Background(n int32) {
	if s.waits.Add(n); n > 0 {
		select {
		case s.kick <- struct{}{}:
		default:
		}
	}
}

func (s *polledTCPSet) Posts(rank int) bool              { return s.by[rank] != nil }
func (s *polledTCPSet) Withdraw(rank int, memory []byte) { s.by[rank].release(memory) }

// close closes what nobody uses any more.
func (s *polledTCPSet) close() {
	for _, c := range s.all {
		c.mu.Lock()
		c.out.Lock()
		c.err, c.told = errLinksClosed, true
		closeSocket(c.at)
		c.out.Unlock()
		c.mu.Unlock()
	}
	if s.listenerPipe != nil {
		s.waiterPipe.close()
		s.listenerPipe.close()
	}
}
