package tcp

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"tpsh/comm/bootstrap"
	"tpsh/comm/process/spin"
	"tpsh/comm/process/stream"
	"tpsh/comm/wire"
)

// A Set holds the connections of a rank to others of which Go's scheduler does not
// know. It is an inbound of package process, which has the purpose of its methods.
//
// A waiting goroutine looks at them for a moment and then sleeps at them; the listener
// leaves them alone as long as the rank looks now and then, so that a message
// wakes one thread and not two.
type Set struct {
	host         stream.Host
	rank         int
	nap          time.Duration // for which the listener sleeps at most
	all          []*Conn
	by           []*Conn       // by rank, nil where there is none
	looks        atomic.Uint64 // how often the rank has looked
	here         atomic.Int32  // goroutines that sleep at the connections
	waits        atomic.Int32  // waits of calls that go on beside the rank
	dozes        atomic.Bool   // whether the listener sleeps at the connections, or is about to
	waiterPipe   *wakePipe     // of the waiting goroutines that sleep at the connections
	listenerPipe *wakePipe     // of the listener that does
	kick         chan struct{} // holds an element when the listener is to listen
}

// NewSet returns a set without connections for one of size ranks. Its listener sleeps
// for nap at most.
func NewSet(h stream.Host, rank, size int, nap time.Duration) *Set {
	return &Set{host: h, rank: rank, nap: nap, by: make([]*Conn, size)}
}

// Add makes conn one of the connections, which takes it over: to peer, whose
// messages in makes of the bytes. The error is that the process has no descriptor left
// for it, or that the connection is closed.
func (s *Set) Add(peer int, conn *net.TCPConn, heard *bootstrap.HeardReader, in *wire.Reader) (*Conn, error) {
	c, err := newConn(s, peer, conn, heard, in)
	if err != nil {
		return nil, err
	}
	s.all, s.by[peer] = append(s.all, c), c
	return c, nil
}

// Start begins to listen, if there are connections.
func (s *Set) Start() error {
	if s.Empty() {
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
	s.host.Go(s.listenAll)
	return nil
}

// Empty reports whether the set has no connections.
func (s *Set) Empty() bool { return len(s.all) == 0 }

// look takes in the messages of a rank, at most one message of a call, so
// that the rank can get ready for the next when it has it. It reports whether
// something has come.
func (s *Set) look(rank int) (came bool) {
	if s.by[rank] == nil {
		return false
	}
	s.looks.Add(1)
	return s.by[rank].take(true)
}

// Pump takes in the messages that have come, and reports whether there was something.
func (s *Set) Pump() bool {
	s.looks.Add(1)
	return s.takeAll()
}

// takeAll takes in the messages that have come, and reports whether there was something.
func (s *Set) takeAll() (came bool) {
	if len(s.all) <= fewConns {
		for _, c := range s.all {
			came = c.take(false) || came
		}
		return came
	}
	q := newQuery()
	defer q.free()
	q.conns = append(q.conns, s.all...)
	return q.take(false)
}

// TakeHeld takes in the frames held for the generation that has come.
func (s *Set) TakeHeld() {
	for _, c := range s.all {
		c.TakeHeld()
	}
	if s.listenerPipe != nil {
		s.listenerPipe.wake()
	}
}

// sleep returns when something may have come, one that wants to write may, the
// wake pipe was written, or after timeout.
func (s *Set) sleep(timeout time.Duration, writer *Conn, r *wakePipe) {
	var list pollList
	for _, c := range s.all {
		open, there := c.Open()
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

// listenAll takes in messages while the rank does not look.
func (s *Set) listenAll() {
	defer context.AfterFunc(s.host.Context(), func() { s.listenerPipe.wake(); s.waiterPipe.wake() })()
	timer := time.NewTimer(leastAbsence)
	defer timer.Stop()
	for absence := leastAbsence; s.host.Context().Err() == nil; {
		looks := s.looks.Load()
		timer.Reset(absence)
		select {
		case <-timer.C:
		case <-s.kick:
		case <-s.host.Context().Done():
		}
		if s.waits.Load() == 0 && (s.looks.Load() != looks || s.here.Load() > 0) {
			absence = min(2*absence, mostAbsence)
			continue
		}
		absence = leastAbsence
		s.attend()
	}
}

// attend takes in messages until the rank looks.
func (s *Set) attend() {
	for looks := s.looks.Load(); s.host.Context().Err() == nil; {
		s.takeAll()
		if s.waits.Load() == 0 && (s.looks.Load() != looks || s.here.Load() > 0) {
			return
		}
		s.dozes.Store(true)
		s.sleep(s.nap, nil, s.listenerPipe)
		s.dozes.Store(false)
	}
}

// stir wakes the listener if it sleeps: of bytes that the rank has read ahead the system
// does not tell it. The caller holds the mutex of the connection, at which the listener
// looks before it sleeps.
func (s *Set) stir() {
	if s.dozes.Load() {
		s.listenerPipe.wake()
	}
}

// Wake wakes the goroutines that sleep at the connections.
func (s *Set) Wake() {
	if s.here.Load() > 0 {
		s.waiterPipe.wake()
	}
}

func (s *Set) Reaches(rank int) bool { return s.by[rank] != nil }

// rounds returns how often a wait looks in vain before it sleeps: at many connections less
// often, since a look takes longer, and who looks for longer than it takes to sleep and be
// woken keeps others from the core.
func (s *Set) rounds() int {
	return max(1, spin.Rounds*fewConns/max(fewConns, len(s.all)))
}

func (s *Set) Eager() int      { return stream.EagerBytes }
func (s *Set) SpinRounds() int { return s.rounds() }
func (s *Set) Pause(i int)     { spin.YieldAfterFirst(i) }

func (s *Set) PollFrom(ranks []int) (anew bool) {
	if len(ranks) <= fewConns {
		for _, r := range ranks {
			anew = s.look(r) || anew
		}
		return anew
	}
	s.looks.Add(1)
	q := newQuery()
	defer q.free()
	for _, r := range ranks {
		if c := s.by[r]; c != nil {
			q.conns = append(q.conns, c)
		}
	}
	return q.take(true)
}

func (s *Set) WaitRounds() int { return s.rounds() }
func (s *Set) Poll()           { s.host.Pump() }

func (s *Set) Sleeper() func(time.Duration, func() bool) bool {
	return func(nap time.Duration, ends func() bool) bool {
		s.here.Add(1)
		defer s.here.Add(-1)
		s.host.Pump()
		if !ends() {
			s.sleep(nap, nil, s.waiterPipe)
		}
		return true
	}
}

func (s *Set) WakeAll() { s.waiterPipe.wake() }

func (s *Set) Background(n int32) {
	if s.waits.Add(n); n > 0 {
		select {
		case s.kick <- struct{}{}:
		default:
		}
	}
}

func (s *Set) Posts(rank int) bool              { return s.by[rank] != nil }
func (s *Set) Withdraw(rank int, memory []byte) { s.by[rank].Abandon(memory) }

// Close closes the descriptors when nobody uses them any more. Messages are not taken
// in from now on, because of cause.
func (s *Set) Close(cause error) {
	for _, c := range s.all {
		c.Shut(cause, func() {
			c.out.Lock()
			defer c.out.Unlock()
			closeSocket(c.at)
		})
	}
	if s.listenerPipe != nil {
		s.waiterPipe.close()
		s.listenerPipe.close()
	}
}
