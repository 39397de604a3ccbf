package process

import (
	goruntime "runtime"
	"time"

	"tpsh/comm/wire"
)

// polledCarries is how long the data may be that go with a contract through a
// PollStream: such that both are one message.
const polledCarries = 7 << 10

// A polledConn reads a PollStream for a socket.
type polledConn struct {
	stream PollStream
	come   chan struct{} // holds an element when there may be something to read
}

func newPolledConn(s PollStream) *polledConn {
	c := &polledConn{s, make(chan struct{}, 1)}
	s.Notify(c.kick)
	return c
}

// kick has Read call its function again.
func (c *polledConn) kick() {
	select {
	case c.come <- struct{}{}:
	default:
	}
}

// Read calls f until it returns true, whenever something may have come.
func (c *polledConn) Read(f func(fd uintptr) bool) error {
	for !f(0) {
		<-c.come
	}
	return nil
}

// read reads as readSocket does.
func (c *polledConn) read(_ uintptr, b []byte) (int, error) {
	n, err := c.stream.TryRead(b)
	if n == 0 && err == nil {
		err = wire.ErrAgain
	}
	return n, err
}

// pollGroup are the sockets of a rank that read PollStreams. Who waits looks for all
// of them at once.
type pollGroup struct {
	all     []*streamReader
	by      map[int]*streamReader // by rank
	look    func() bool
	doze    func()
	patient bool // whether there is a processor for each rank
}

// add makes s, which reads p, one of them.
func (ps *pollGroup) add(s *streamReader, p PollStream) {
	ps.all, ps.look, ps.doze = append(ps.all, s), p.Look, p.Doze
	if ps.by == nil {
		ps.by = map[int]*streamReader{}
	}
	ps.by[s.peer] = s
	ps.patient = len(ps.all) < goruntime.NumCPU()
}

// takeAll takes in what has come, and reports whether there was something.
func (ps *pollGroup) takeAll() bool {
	if !ps.look() {
		return false
	}
	for _, s := range ps.all {
		s.poll()
	}
	return true
}

// Pause lets other processes run, and now and then other goroutines.
func (ps *pollGroup) Pause(i int) {
	if !ps.patient || i >= patientRounds {
		yieldCore()
	}
	if i%patientRounds == patientRounds-1 {
		goruntime.Gosched()
	}
}

// patientRounds is how often one looks before others may run that have no
// processor of their own.
const patientRounds = 100

// A pollGroup is an inbound.

func (ps *pollGroup) Reaches(rank int) bool { return ps.by[rank] != nil }

func (ps *pollGroup) Eager() int                 { return polledCarries }
func (ps *pollGroup) SpinRounds() int            { return pollRounds }
func (ps *pollGroup) WaitRounds() int            { return 0 }
func (ps *pollGroup) Poll()                      { ps.takeAll() }
func (ps *pollGroup) PollFrom([]int) (anew bool) { return ps.takeAll() }

// Sleeper looks now and then, until nothing has come for so long that the listeners
// are to do so.
func (ps *pollGroup) Sleeper() func(time.Duration, func() bool) bool {
	since := time.Now()
	return func(_ time.Duration, ends func() bool) bool {
		if ps.takeAll() {
			since = time.Now()
		}
		if ends() {
			return true
		}
		ps.doze()
		return time.Since(since) < pollTime
	}
}

// Nobody sleeps for long: the listeners are told by the streams themselves.
func (ps *pollGroup) Wake()            {}
func (ps *pollGroup) WakeAll()         {}
func (ps *pollGroup) Background(int32) {}

func (ps *pollGroup) Posts(rank int) bool              { return ps.by[rank] != nil }
func (ps *pollGroup) Withdraw(rank int, memory []byte) { ps.release(ps.by[rank], memory) }

// pollTime is how long a wait looks after something has come.
const pollTime = 10 * time.Millisecond

// fillTime is how long a call that has failed waits for a block that is being
// filled.
const fillTime = time.Second

// release returns when nothing is read to memory any more that a block was to
// go to, or that takes too long: a transport keeps the memory meanwhile.
func (ps *pollGroup) release(s *streamReader, memory []byte) {
	for since := time.Now(); s.fills(memory) && time.Since(since) < fillTime; yieldCore() {
		ps.takeAll()
	}
}

// fills reports whether a block is being read to memory. One that has come, and
// that nobody has been given, goes elsewhere.
func (s *streamReader) fills(memory []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in.Fills(memory)
}
