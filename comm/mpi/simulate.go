package mpi

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
)

// Simulate returns the worlds of size ranks that are all in this process, for
// tests. Instead of an MPI an engine in memory moves their messages, which does
// all that MPI may do: operations last for as long as chance wants, by seed, and
// large sends until they are received.
func Simulate(size int, seed uint64) []*World { return SimulateOn(make([]int, size), seed) }

// SimulateOn is Simulate of as many ranks as hosts has numbers, each of which is the lowest rank on
// the rank's machine.
func SimulateOn(hosts []int, seed uint64) []*World {
	size := len(hosts)
	s := &simulation{dice: rand.New(rand.NewPCG(seed, 0))}
	worlds := make([]*World, size)
	for r := range worlds {
		worlds[r] = newWorld(newSimulated(s, r, size), newTimerBell(), r, size, hosts, "a simulation")
		go worlds[r].drive()
	}
	return worlds
}

// A simulation is the messages of all ranks.
type simulation struct {
	mu      sync.Mutex
	dice    *rand.Rand // nil if nothing is left to chance
	letters []*letter  // that were sent and not received, in the order sent
	posted  []*step    // receives that nothing has come for, in the order begun
	parts   []part     // of the collective that ranks have begun and not all
}

// A part is one rank's operation in a collective.
type part struct {
	*collective
	rank int
	step *step
}

// A letter is a message.
type letter struct {
	in            circle
	from, to, tag int
	bytes         []byte
	send          *step // nil once it was copied
	late          int   // how often probe still does not see it
}

// A step is an operation that was begun.
type step struct {
	in            circle
	from, to, tag int
	any           bool // whether it receives from any rank, with any tag
	buffer        []byte
	arrival       arrival
	done          bool
	err           error
	delay         int // how often test still says that it is not done
}

// A simulated is the engine of one rank.
type simulated struct {
	s          *simulation
	rank, size int
	next       request
	requests   map[request]*step
}

// eagerMost is the longest message of which the sender does not wait for the
// receiver.
const eagerMost = 1 << 10

func newSimulated(s *simulation, rank, size int) *simulated {
	return &simulated{s: s, rank: rank, size: size, requests: map[request]*step{}}
}

func (e *simulated) add(st *step) request {
	e.next++
	e.requests[e.next] = st
	if e.s.dice != nil {
		st.delay = e.s.dice.IntN(4) * e.s.dice.IntN(3)
	}
	return e.next
}

func (e *simulated) probe(in circle) (arrival, bool, error) {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	behind := make([]bool, e.size) // a letter that is late
	for _, l := range e.s.letters {
		if l.in != in || l.to != e.rank || behind[l.from] {
			continue
		}
		if l.late--; l.late < 0 {
			return arrival{l.from, l.tag, len(l.bytes)}, true, nil
		}
		behind[l.from] = true
	}
	return arrival{}, false, nil
}

func (e *simulated) send(in circle, to, tag int, b []byte) (request, error) {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	st := &step{in: in, done: len(b) <= eagerMost}
	l := &letter{in: in, from: e.rank, to: to, tag: tag, bytes: b, send: st}
	if st.done {
		l.bytes, l.send = slices.Clone(b), nil
	}
	if e.s.dice != nil {
		l.late = e.s.dice.IntN(20) * e.s.dice.IntN(2)
	}
	i := slices.IndexFunc(e.s.posted, func(p *step) bool { return l.meets(p) })
	if i < 0 {
		e.s.letters = append(e.s.letters, l)
	} else {
		l.arrive(e.s.posted[i])
		e.s.posted = slices.Delete(e.s.posted, i, i+1)
	}
	return e.add(st), nil
}

func (e *simulated) receive(in circle, from, tag int, b []byte) (request, error) {
	return e.await(&step{in: in, from: from, to: e.rank, tag: tag, buffer: b})
}

func (e *simulated) listen(in circle, b []byte) (request, error) {
	return e.await(&step{in: in, to: e.rank, any: true, buffer: b})
}

// await begins a receive.
func (e *simulated) await(st *step) (request, error) {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	i := slices.IndexFunc(e.s.letters, func(l *letter) bool { return l.meets(st) })
	if i < 0 {
		e.s.posted = append(e.s.posted, st)
	} else {
		e.s.letters[i].arrive(st)
		e.s.letters = slices.Delete(e.s.letters, i, i+1)
	}
	return e.add(st), nil
}

// meets reports whether a receive is for l.
func (l *letter) meets(p *step) bool {
	return l.in == p.in && l.to == p.to && (p.any || l.from == p.from && l.tag == p.tag)
}

// arrive copies l to where p receives it.
func (l *letter) arrive(p *step) {
	p.arrival, p.done = arrival{l.from, l.tag, copy(p.buffer, l.bytes)}, true
	if len(l.bytes) > len(p.buffer) {
		p.err = errors.New("mpi: a message was longer than its buffer")
	}
	if l.send != nil {
		l.send.done = true
	}
}

func (e *simulated) test(r request) (bool, arrival, error) {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	st := e.requests[r]
	if st.delay--; st.delay >= 0 || !st.done {
		return false, arrival{}, nil
	}
	delete(e.requests, r)
	return true, st.arrival, st.err
}

func (e *simulated) cancel(r request) {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	st := e.requests[r]
	if i := slices.Index(e.s.posted, st); i >= 0 {
		e.s.posted = slices.Delete(e.s.posted, i, i+1)
		st.done = true
	}
}

// collect begins a collective, which is done on all ranks when all have begun
// it.
func (e *simulated) collect(c *collective) (request, error) {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	st := &step{}
	e.s.parts = append(e.s.parts, part{c, e.rank, st})
	if len(e.s.parts) == e.size {
		for _, to := range e.s.parts {
			for _, from := range e.s.parts {
				to.take(from)
			}
			to.step.done = true
		}
		e.s.parts = nil
	}
	return e.add(st), nil
}

// take copies to p its share of another rank's part.
func (p part) take(from part) {
	switch {
	case p.root != from.root || len(p.bytes) != len(from.bytes):
		p.step.err = errors.New("mpi: ranks are in different collectives")
	case from.rank == p.root:
		copy(p.bytes, from.bytes)
	}
}

func (e *simulated) abort(int) {}

func (e *simulated) finalize() error { return nil }
