package process

import (
	"bytes"
	"fmt"
	"sync/atomic"

	"tpsh/comm/process/stream"
	"tpsh/comm/schedule"
	"tpsh/comm/wire"
)

// Contracts in a large group go from member to member (schedule.Relay), with the short data that
// are for all: each member sends a few messages in a call and has connections to a few others. A
// contract that has not come says nothing of who has called, since it may wait at a member that
// has not; that a rank has called it tells the supervisor itself (deadlock.Report.Calls).
//
// Where every member has other data for each, as in an all_to_all, the contract goes with those to each
// (Step toEach). Who has such a contract while it relays its own, since the calls differ or the
// lengths of blocks, sends that to each as well: so all contracts come to all.

const (
	// relaysFrom is from how many members on contracts are relayed, unless an MPI connects them: it has
	// connections of its own, and gained nothing by it on 8 to 32 ranks of a host. Of members that all
	// share memory relaysFromShared is.
	relaysFrom       = 8
	relaysFromShared = 64
	// mostRelayed is how long the data may be that go with a relayed contract to all members
	// that need them, and mostAside the data with contracts of all members of which one needs each.
	// Through shared memory, whose rings are short, data of all members go that are ringCarries long together.
	mostRelayed = stream.EagerBytes
	mostAside   = 4 << 10
)

// A callRelay is how far the contracts of a call have come that are relayed.
type callRelay struct {
	schedule.Relay
	hop  int    // to be received
	list []byte // the contracts that have come, with that of the member at the beginning; such as are alike and follow each other once
	runs []run  // of those that are alike
	has  int    // of how many members they are
	told bool   // whether the member has sent its contract to each by itself, too
}

// A run is contracts of several members, one after the other, that are alike, as most are: they
// cross once, so that in a call that all make alike what goes from member to member is short however
// many there are.
type run struct {
	end   int // where the contract ends in callRelay.list
	count int // of how many members it is
}

// begin makes r that of a call of which the member has the contract own.
func (r *callRelay) begin(rank, size int, own *wire.Contract) {
	r.Relay, r.hop, r.told = schedule.Relay{Rank: rank, Size: size}, 0, false
	r.list = wire.AppendListed(r.list[:0], 1, own)
	r.runs, r.has = append(r.runs[:0], run{len(r.list), 1}), 1
}

// due returns what is to be sent in the hop that is to be received, and to which member; not ok if
// all hops are over.
func (r *callRelay) due() (to int, list []byte, ok bool) {
	if r.hop == r.Hops() {
		return 0, nil, false
	}
	at, left := 0, r.Count(r.hop)
	for i := 0; left > 0; i++ {
		wire.SetRepeats(r.list[at:], min(left, r.runs[i].count))
		at, left = r.runs[i].end, left-r.runs[i].count
	}
	return r.To(r.hop), r.list[:at], true
}

// add takes in a listed contract of so many members more.
func (r *callRelay) add(listed []byte, count int) {
	last := &r.runs[len(r.runs)-1]
	at := 0
	if n := len(r.runs); n > 1 {
		at = r.runs[n-2].end
	}
	if r.has += count; wire.SameListed(r.list[at:last.end], listed) {
		last.count += count
		return
	}
	r.list = append(r.list, listed...)
	r.runs = append(r.runs, run{len(r.list), count})
}

// take decodes the contracts of the hop that is to be received, and has sign take in each.
func (r *callRelay) take(list []byte, sign func(member int, k *wire.Contract)) error {
	for left := r.Count(r.hop); left > 0; {
		var k wire.Contract
		repeats, rest, err := wire.NextListed(list, &k)
		if err != nil {
			return err
		}
		if repeats < 1 || repeats > left {
			return &wire.FrameError{What: "length", Got: fmt.Sprintf("a contract of %d members", repeats), Want: fmt.Sprintf("of 1..%d", left)}
		}
		k.Meta = bytes.Clone(k.Meta)
		for i := range repeats {
			sign(r.Member(r.has+i), &k)
		}
		r.add(list[:len(list)-len(rest)], repeats)
		list, left = rest, left-repeats
	}
	if len(list) > 0 {
		return &wire.FrameError{What: "length", Got: fmt.Sprintf("%d bytes more", len(list)), Want: "none"}
	}
	r.hop++
	return nil
}

// reset returns an r that is as good as new.
func (r *callRelay) reset() callRelay { return callRelay{list: r.list[:0], runs: r.runs[:0]} }

// contractHops are the contracts that have come in each hop of a relay. They are decoded when the
// rank has called: only then it knows of how many members they are.
type contractHops struct {
	lists [][]byte
	came  atomic.Int32 // a bit for each list that is there
}

// mostHops is how many hops a relay has at most, and toEach the step of a contract that
// a member sends to each other by itself.
const (
	mostHops = 30
	toEach   = mostHops
)

// has reports whether the contracts of a hop have come.
func (c *contractHops) has(hop int) bool { return c.came.Load()&(1<<hop) != 0 }

// put takes in the contracts of a hop, in memory of spare if they have none of their own.
func (c *contractHops) put(f *wire.Frame, spare *wire.BufferPool) error {
	if f.Step >= mostHops {
		return &wire.FrameError{What: "alien", Got: fmt.Sprintf("hop %d", f.Step), Want: fmt.Sprintf("0..%d", mostHops-1)}
	}
	if c.has(f.Step) {
		return errTwice
	}
	list := f.Payload
	if f.Transient {
		list = append(spare.Get(len(list)), list...)
	}
	for len(c.lists) <= f.Step {
		c.lists = append(c.lists, nil)
	}
	c.lists[f.Step] = list
	c.came.Or(1 << f.Step)
	return nil
}

// drop lets go of all, whose memory goes to spare.
func (c *contractHops) drop(spare *wire.BufferPool) {
	for i, list := range c.lists {
		if list != nil {
			spare.Put(list)
		}
		c.lists[i] = nil
	}
	c.came.Store(0)
}
