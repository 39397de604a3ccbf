package inproc

import (
	"sync/atomic"

	"tpsh/comm"
)

// A round is where the members of a group carry out one collective. The n-th
// round is that of everybody's n-th call. Rounds are a linked list, which
// grows when the first member gets to its end, and whose front is garbage when
// the last member has left it; so a member may be any number of calls ahead.
//
// A round takes place when every entry holds a call, and fails when one is
// refused. One of the two is certain once it has come about, and everyone sees
// the same.
//
// Fields that are written at different times lie in different cache lines.
type round struct {
	entries []entry        // by group rank
	members []comm.Member  // likewise; members[r] is there once r has arrived
	outs    [][]comm.Block // likewise; outs[r] is there once r has entered ready
	arrived event          // set when the round takes place
	verdict *comm.DeadlockError
	issued  atomic.Bool                    // whether a member is not in the call itself
	leftOut bool                           // whether members that had not arrived have left the round out; set before they are refused
	broken  atomic.Pointer[comm.PeerError] // why a member's part is missing, set before it enters done
	_       [32]byte

	next     atomic.Pointer[round]
	ready    latch               // for all to have blocks for the results
	done     latch               // for nobody to use a block of another any more
	mismatch *comm.MismatchError // guarded by monitor.mu
	shared   atomic.Pointer[sharedResult]
	made     event        // set when shared is there
	many     *manyMembers // nil in a group of few
}

// A manyMembers is what members of a group of many need not all find out themselves.
type manyMembers struct {
	count    atomic.Int32 // members that have arrived
	fails    atomic.Bool  // whether the entry of one is refused
	compared atomic.Pointer[comparison]
	reduced  onceReduced
}

// usuallyLooked is how many entries a member looks at whenever it wants to know whether all are
// there: those of few members change hands with what is in them, and nothing else does. Many
// are counted.
const usuallyLooked = 16

// An entry is the part of a member's call that it shows the others. It fills a cache
// line.
type entry struct {
	op atomic.Pointer[comm.Op] // nil until the member has arrived, and refused if it may not
	// inlined is one more than the length of the copy in inline of the
	// member's only block, or 0. Others read it, though the member has left.
	inlined int
	inline  [inlineBytes]byte
}

// inlineBytes is how long a block may be to be copied when its member arrives.
const inlineBytes = 48

// refused is in the entry of a member that must not arrive any more.
var refused = new(comm.Op)

// A round2 is a round of two, in one piece of memory.
type round2 struct {
	round
	entryOf  [2]entry
	memberOf [2]comm.Member
	outOf    [2][]comm.Block
}

// newRound returns a round of size members, which counts arrivals if these are many.
func newRound(size int, many bool) *round {
	if many {
		return &round{entries: make([]entry, size), members: make([]comm.Member, size), outs: make([][]comm.Block, size), many: &manyMembers{}}
	}
	if size <= 2 {
		m := &round2{}
		m.entries, m.members, m.outs = m.entryOf[:size], m.memberOf[:size], m.outOf[:size]
		return &m.round
	}
	return &round{entries: make([]entry, size), members: make([]comm.Member, size), outs: make([][]comm.Block, size)}
}

// after returns the round that follows rd, which it makes if need be.
func (rd *round) after() *round {
	if next := rd.next.Load(); next != nil {
		return next
	}
	next := newRound(len(rd.entries), rd.many != nil)
	if rd.next.CompareAndSwap(nil, next) {
		return next
	}
	return rd.next.Load()
}

// size returns the number of members.
func (rd *round) size() int32 { return int32(len(rd.entries)) }

// arrive shows op to the other members as the call of member r, unless r is
// refused. The last to arrive is to wake the others.
func (rd *round) arrive(r int, op *comm.Op) {
	e := &rd.entries[r]
	if len(op.In) == 1 && op.In[0].Len() <= inlineBytes && !op.Hollow {
		e.copyInline(op.In[0])
	}
	if op.Meta != nil || op.Desc.Free >= 0 {
		rd.members[r] = comm.Member{Free: op.Desc.FreeSize(), Meta: op.Meta}
	}
	if e.op.CompareAndSwap(nil, op) && rd.many != nil {
		rd.many.count.Add(1)
	}
}

// hasLeftOut reports whether member r has left rd out.
func (rd *round) hasLeftOut(r int) bool { return rd.entries[r].op.Load() == refused && rd.leftOut }

// wake wakes the members that sleep until rd takes place. Whoever sees that it does
// calls it before waiting for another member.
func (rd *round) wake() {
	if rd.arrived.sleepers.Load() != nil {
		rd.arrived.set()
	}
}

// copyInline copies the only block that the member of e offers.
func (e *entry) copyInline(b comm.Block) {
	n := b.Len()
	e.inlined = 1 + n
	if b.Contiguous() { // sooner done than a general copy
		copy(e.inline[:], b.Data[:n])
		return
	}
	comm.Copy(comm.Whole(e.inline[:n]), b)
}

// outcome reports whether it is certain that rd takes place or fails, and
// whether it fails.
func (rd *round) outcome() (certain, fails bool) {
	if m := rd.many; m != nil {
		fails = m.fails.Load()
		return fails || m.count.Load() == rd.size(), fails
	}
	certain = true
	for i := range rd.entries {
		switch rd.entries[i].op.Load() {
		case nil:
			certain = false
		case refused:
			return true, true
		}
	}
	return certain, false
}

// takesPlace reports whether every member has arrived.
func (rd *round) takesPlace() bool {
	certain, fails := rd.outcome()
	return certain && !fails
}

// lacks reports whether member r has not arrived.
func (rd *round) lacks(r int) bool { return rd.entries[r].op.Load() == nil }

// fail makes rd fail, unless every member arrives before. With leftOut those that
// have not arrived go on with the round after it. The caller holds monitor.mu.
func (rd *round) fail(verdict *comm.DeadlockError, leftOut bool) {
	if rd.verdict != nil {
		return
	}
	rd.verdict, rd.leftOut = verdict, leftOut
	for i := range rd.entries {
		if !rd.entries[i].op.CompareAndSwap(nil, refused) {
			continue
		}
		if rd.many != nil {
			rd.many.fails.Store(true)
		}
		if !leftOut {
			return
		}
	}
}

// block returns block i that the member of e offers.
func (e *entry) block(i int) comm.Block {
	if e.inlined > 0 {
		return comm.Whole(e.inline[:e.inlined-1])
	}
	return e.op.Load().In[i]
}

// run returns the bytes of block i that the member of e offers, if they are a short
// run.
func (e *entry) run(i int) ([]byte, bool) {
	if e.inlined > 0 {
		return e.inline[:e.inlined-1], e.inlined > 1
	}
	return e.op.Load().In[i].ShortRun()
}

// copied reports whether the others have no need of the blocks of e's call.
func (e *entry) copied() bool { return e.inlined > 0 || len(e.op.Load().In) == 0 }
