package tcp

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tpsh/comm/bootstrap"
	"tpsh/comm/process/spin"
	"tpsh/comm/process/stream"
	"tpsh/comm/wire"
	"tpsh/internal/allowance"
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
	reach        []bool        // by rank: whether there is a connection to it, or will be
	reaches      int           // how many those are
	adding       sync.Mutex
	all          atomic.Pointer[[]*Conn] // those that there are; written with adding held
	by           []atomic.Pointer[Conn]  // by rank, nil where there is none
	ready        *readySet               // which of them have something
	aheads       atomic.Int32            // len(ahead)
	aheadMu      sync.Mutex
	ahead        []*Conn       // those of which messages were read ahead
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
	s := &Set{host: h, rank: rank, nap: nap, reach: make([]bool, size), by: make([]atomic.Pointer[Conn], size)}
	s.all.Store(&[]*Conn{})
	return s
}

// Expect says that a rank will be reached by a connection of the set. It is called before
// Start.
func (s *Set) Expect(rank int) {
	if !s.reach[rank] {
		s.reach[rank] = true
		s.reaches++
	}
}

// Add makes conn one of the connections, which takes it over: to peer, whose
// messages in makes of the bytes. The error is that the process has no descriptor left
// for it, or that the connection is closed. After Start, peer is a rank that is expected.
func (s *Set) Add(peer int, conn *net.TCPConn, heard *bootstrap.HeardReader, in *wire.Reader) (*Conn, error) {
	c, err := newConn(s, peer, conn, heard, in)
	if err != nil {
		return nil, err
	}
	s.adding.Lock()
	defer s.adding.Unlock()
	if err = s.open(); err == nil {
		err = s.ready.add(c.at, peer) // before anything can be taken in
	}
	if err != nil {
		closeSocket(c.at)
		return nil, err
	}
	if s.listenerPipe == nil {
		s.Expect(peer)
	}
	s.by[peer].Store(c)
	all := append(slices.Clip(s.conns()), c)
	s.all.Store(&all)
	if s.listenerPipe != nil { // who sleeps is to sleep at this one, too
		s.listenerPipe.wake()
		s.waiterPipe.wake()
	}
	return c, nil
}

// open opens what tells which connections have something. The caller holds adding.
func (s *Set) open() (err error) {
	if s.ready == nil {
		s.ready, err = newReadySet()
	}
	return err
}

// conns returns the connections that there are.
func (s *Set) conns() []*Conn { return *s.all.Load() }

// Start begins to listen, if there are connections or will be.
func (s *Set) Start() error {
	if s.Empty() {
		return nil
	}
	s.adding.Lock()
	defer s.adding.Unlock()
	err := s.open()
	if err != nil {
		return err
	}
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

// Empty reports whether the set has no connections, and will have none.
func (s *Set) Empty() bool { return s.reaches == 0 }

// look takes in the messages of a rank, at most one message of a call, so
// that the rank can get ready for the next when it has it. It reports whether
// something has come.
func (s *Set) look(rank int) (came bool) {
	c := s.by[rank].Load()
	if c == nil {
		return false
	}
	return c.take(true)
}

// Pump takes in the messages that have come, and reports whether there was something.
func (s *Set) Pump() bool {
	s.looks.Add(1)
	return s.takeAll()
}

// takeAll takes in the messages that have come, and reports whether there was something.
func (s *Set) takeAll() (came bool) {
	all := s.conns()
	if crowded(len(all)) {
		return s.takeReady(false)
	}
	for _, c := range all {
		came = c.take(false) || came
	}
	return came
}

// TakeHeld takes in the frames held for the generation that has come.
func (s *Set) TakeHeld() {
	for _, c := range s.conns() {
		c.TakeHeld()
	}
	if s.listenerPipe != nil {
		s.listenerPipe.wake()
	}
}

// sleep returns when something may have come, one that wants to write may, the
// wake pipe was written, or after timeout. how is the way to sleep at a list.
func (s *Set) sleep(timeout time.Duration, writer *Conn, r *wakePipe, how func(pollList, time.Duration)) {
	list, there := s.pollList(writer)
	if there {
		return
	}
	if r != nil {
		list.add(r.at, true, false)
	}
	how(list, timeout)
	if r != nil {
		r.drain()
	}
}

// pollList returns at what to sleep until something may have come, or writer may write; or
// that there is something already.
func (s *Set) pollList(writer *Conn) (list pollList, there bool) {
	all := s.conns()
	if crowded(len(all)) {
		s.ready.list(&list)
		if writer != nil {
			list.add(writer.at, false, true)
		}
		return list, s.aheads.Load() > 0
	}
	for _, c := range all {
		open, there := c.Open()
		if there {
			return nil, true
		}
		if open || c == writer {
			list.add(c.at, open, c == writer)
		}
	}
	return list, false
}

const (
	// A listener looks whether the rank does between these times, the longer the
	// longer it has; where ranks may have to share cores, so many times as long.
	leastAbsence = 500 * time.Microsecond
	mostAbsence  = 4 * time.Millisecond
	// longestAbsence is how long it leaves the connections alone at most.
	longestAbsence = 100 * time.Millisecond
)

// absences returns after which times the listener looks whether the rank does. While others
// have the core, the rank does not look, though it would: a listener that sleeps at the
// connections is then woken besides it by each message.
func (s *Set) absences() (least, most time.Duration) {
	each := time.Duration(max(1, s.reaches/allowance.Processors()))
	return min(leastAbsence*each, longestAbsence), min(mostAbsence*each, longestAbsence)
}

// listenAll takes in messages while the rank does not look.
func (s *Set) listenAll() {
	defer context.AfterFunc(s.host.Context(), func() { s.listenerPipe.wake(); s.waiterPipe.wake() })()
	least, most := s.absences()
	timer := time.NewTimer(least)
	defer timer.Stop()
	for absence := least; s.host.Context().Err() == nil; {
		looks := s.looks.Load()
		timer.Reset(absence)
		select {
		case <-timer.C:
		case <-s.kick:
		case <-s.host.Context().Done():
		}
		if s.waits.Load() == 0 && (s.looks.Load() != looks || s.here.Load() > 0) {
			absence = min(2*absence, most)
			continue
		}
		absence = least
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
		s.sleep(s.nap, nil, s.listenerPipe, pollList.wait)
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

func (s *Set) Reaches(rank int) bool { return s.reach[rank] }

// rounds returns how often a wait looks in vain before it sleeps: at many connections less
// often, since a look takes longer, and who looks for longer than it takes to sleep and be
// woken keeps others from the core.
func (s *Set) rounds() int {
	return max(1, spin.Rounds*fewConns/max(fewConns, s.reaches))
}

func (s *Set) Eager() int      { return stream.EagerBytes }
func (s *Set) SpinRounds() int { return s.rounds() }
func (s *Set) Pause(i int)     { spin.YieldAfterFirst(i) }

func (s *Set) PollFrom(ranks []int) (anew bool) {
	s.looks.Add(1)
	if crowded(len(ranks)) {
		return s.takeReady(true)
	}
	for _, r := range ranks {
		anew = s.look(r) || anew
	}
	return anew
}

func (s *Set) WaitRounds() int { return s.rounds() }
func (s *Set) Poll()           { s.host.Pump() }

func (s *Set) Sleeper() func(time.Duration, func() bool) bool {
	since := time.Now()
	return func(nap time.Duration, ends func() bool) bool {
		s.here.Add(1)
		defer s.here.Add(-1)
		s.host.Pump()
		if ends() {
			return true
		}
		if left := dozeTime - time.Since(since); left > 0 {
			s.sleep(min(nap, left), nil, s.waiterPipe, pollList.doze)
		} else {
			s.sleep(nap, nil, s.waiterPipe, pollList.wait)
		}
		return true
	}
}

// dozeTime is how long a wait may last of which Go's scheduler is not told when it sleeps.
const dozeTime = 20 * time.Millisecond

func (s *Set) WakeAll() { s.waiterPipe.wake() }

func (s *Set) Background(n int32) {
	if s.waits.Add(n); n > 0 {
		select {
		case s.kick <- struct{}{}:
		default:
		}
	}
}

func (s *Set) Posts(rank int) bool { return s.reach[rank] }

func (s *Set) Withdraw(rank int, memory []byte) {
	if c := s.by[rank].Load(); c != nil {
		c.Abandon(memory)
	}
}

// Close closes the descriptors when nobody uses them any more. Messages are not taken
// in from now on, because of cause.
func (s *Set) Close(cause error) {
	for _, c := range s.conns() {
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
	if s.ready != nil {
		s.ready.close()
	}
}
