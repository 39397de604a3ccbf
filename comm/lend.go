package comm

import (
	"bytes"
	"sync/atomic"
	"unsafe"
)

// What a rank lends to others they read straight from its memory, where the
// system lets them: it is copied once, and not to a lane and from there. Blocks
// are lent that nobody reduces; what is reduced is copied once in either case.
//
// A block is lent as long as its call goes on. A rank that leaves a call before
// all have read what it lends withdraws it: who reads finds out afterwards, and
// waits for the failure for which the other has left.

// leastLent is the length from which a block is lent: below, having the system
// find its pages costs more than a copy saves.
const leastLent = 4 << 20

// withdrawn is the count of a channel whose block is not lent any more.
const withdrawn = 1<<31 - 1

// introduce lets the others find out whether they can read the memory of the
// rank at a place of s, which is this process.
func (s *Segment) introduce(place int) {
	at := s.plan.bells + place*bellBytes
	s.word64(at + 16).Store(uint64(uintptr(unsafe.Pointer(&s.mem[0]))))
	s.word64(at + 8).Store(uint64(processID()))
}

// process returns the process of the rank at a place, 0 if it is not known.
func (s *Segment) process(place int) int {
	return int(s.word64(s.plan.bells + place*bellBytes + 8).Load())
}

// What a rank knows of whether it can read another's memory.
const (
	untried = iota
	readable
	unreadable
)

// reads is where the rank at the place to says whether it can read the memory of
// the one at the place from.
func (s *Segment) reads(from, to int) *atomic.Uint32 {
	pair := from*s.size + to
	return s.word32(s.plan.controls + pair*controlBytes + 2*lineBytes + 8)
}

// try finds out for a place whether the memory of the others can be read, as far
// as they have introduced themselves, and reports whether all have.
func (s *Segment) try(place int) (all bool) {
	all = true
	for other := range s.size {
		word := s.reads(other, place)
		if other == place || word.Load() != untried {
			continue
		}
		process := s.process(other)
		if process == 0 {
			all = false
			continue
		}
		var probe [len(segmentMagic)]byte
		address := s.word64(s.plan.bells + other*bellBytes + 16).Load()
		if readMemory(process, probe[:], uintptr(address)) == nil && bytes.Equal(probe[:], []byte(segmentMagic)) {
			word.Store(readable)
		} else {
			word.Store(unreadable)
		}
	}
	return all
}

// lends reports whether a part of the member's can be lent to members.
func (c *messageCall) lends(src span, members []int) bool {
	sl := c.line.station.shared
	if src.len() < leastLent || len(src.run(0)) < src.len() {
		return false
	}
	own := sl.places[c.line.station.rank]
	for _, m := range members {
		if sl.segment.reads(own, c.line.place(m)).Load() != readable {
			return false
		}
	}
	return true
}

// A lending is a block that others read from where it is.
type lending struct {
	*laneOut
	returned bool // whether all have read it
}

// newLending lends a part of the member's to the readers of a channel.
func newLending(o *laneOut, src span) *lending {
	o.lent = uintptr(unsafe.Pointer(unsafe.SliceData(src.run(0))))
	return &lending{laneOut: o}
}

func (t *lending) over() bool { return t.returned }

func (t *lending) ready() bool {
	for _, r := range t.readers {
		if countIn(r.taken.Load(), t.own.use) == 0 {
			return false
		}
	}
	return true
}

func (t *lending) step() { t.returned = true }

// withdraw ends the lending before all have read.
func (t *lending) withdraw() {
	t.own.put(t.channel).Store(counted(t.own.use, withdrawn))
}

// withdrawAll withdraws what is lent still.
func (c *messageCall) withdrawAll() {
	for _, t := range c.puts {
		if l, ok := t.(*lending); ok && !l.returned {
			l.withdraw()
		}
	}
}

// A pulling reads what another lends.
type pulling struct {
	laneIn
	process int
	dst     span
	drop    bool
	at      int         // bytes that were read
	lose    func(error) // is told that the other's memory cannot be read
	failed  bool
	read    bool // whether all was read, or dropped
}

// pullBytes is how much is read at a time.
const pullBytes = 256 << 10

func (t *pulling) over() bool { return t.read }

func (t *pulling) ready() bool { return !t.failed }

func (t *pulling) step() {
	n := min(pullBytes, t.length-t.at)
	if !t.drop {
		for run := t.dst.cut(t.at, t.at+n); run.len() > 0; {
			to := run.run(0)
			if err := readMemory(t.process, to, t.lent+uintptr(t.at)); err != nil {
				t.failed = true
				t.lose(err)
				return
			}
			t.at += len(to)
			run = run.cut(len(to), run.len())
		}
	} else {
		t.at = t.length
	}
	if countIn(t.lane.put(t.channel).Load(), t.use) == withdrawn || uint32(t.lane.put(t.channel).Load()>>32) != t.use {
		t.failed = true
		return
	}
	if t.at == t.length {
		t.read = true
		t.release()
	}
}
