package comm

import "sync/atomic"

// A meeting is where the members of a room carry out one collective. The n-th
// meeting is that of everybody's n-th call. Meetings are a linked list, which
// grows when the first member gets to its end, and whose front is garbage when
// the last member has left it; so a member may be any number of calls ahead.
//
// A meeting takes place when every entry holds a call, and fails when one is
// refused. One of the two is certain once it has come about, and everyone sees
// the same.
//
// What is written at different times lies in different cache lines.
type meeting struct {
	entries []entry   // by group rank
	members []Member  // likewise; members[r] is there once r has arrived
	outs    [][]Block // likewise; outs[r] is there once r has entered ready
	arrived door      // opened when the meeting takes place
	verdict *DeadlockError
	broken  atomic.Pointer[PeerError] // why a member's part is missing, set before it enters done
	_       [32]byte

	next     atomic.Pointer[meeting]
	ready    gate           // for all to have blocks for the results
	done     gate           // for nobody to use a block of another any more
	mismatch *MismatchError // guarded by monitor.mu
	common   atomic.Pointer[common]
	made     door // opened when common is there
}

// An entry is what a member shows the others of its call. It fills a cache
// line.
type entry struct {
	op atomic.Pointer[Op] // nil until the member has arrived, and refused if it may not
	// inlined is one more than the length of the copy in inline of the
	// member's only block, or 0. Others read it, though the member has left.
	inlined int
	inline  [inlineBytes]byte
}

// inlineBytes is how long a block may be to be copied when its member arrives.
const inlineBytes = 48

// refused is in the entry of a member that must not arrive any more.
var refused = new(Op)

// A meeting2 is a meeting of two, in one piece of memory.
type meeting2 struct {
	meeting
	entryOf  [2]entry
	memberOf [2]Member
	outOf    [2][]Block
}

func newMeeting(size int) *meeting {
	if size <= 2 {
		m := &meeting2{}
		m.entries, m.members, m.outs = m.entryOf[:size], m.memberOf[:size], m.outOf[:size]
		return &m.meeting
	}
	return &meeting{entries: make([]entry, size), members: make([]Member, size), outs: make([][]Block, size)}
}

// after returns the meeting that follows m, which it makes if need be.
func (m *meeting) after() *meeting {
	if next := m.next.Load(); next != nil {
		return next
	}
	next := newMeeting(len(m.entries))
	if m.next.CompareAndSwap(nil, next) {
		return next
	}
	return m.next.Load()
}

// size returns the number of members.
func (m *meeting) size() int32 { return int32(len(m.entries)) }

// arrive shows op to the other members as the call of member r, unless r is
// refused. The last to arrive is to wake the others.
func (m *meeting) arrive(r int, op *Op) {
	e := &m.entries[r]
	if len(op.In) == 1 && op.In[0].Len() <= inlineBytes {
		e.take(op.In[0])
	}
	if op.Meta != nil || op.Desc.Free >= 0 {
		m.members[r] = Member{op.Desc.free(), op.Meta}
	}
	e.op.CompareAndSwap(nil, op)
}

// wake wakes the members that sleep until m takes place. Whoever sees that it does
// calls it before waiting for another member.
func (m *meeting) wake() {
	if m.arrived.bell.Load() != nil {
		m.arrived.open()
	}
}

// take copies the only block that the member of e offers.
func (e *entry) take(b Block) {
	n := b.Len()
	e.inlined = 1 + n
	if b.contiguous() { // sooner done than a general copy
		copy(e.inline[:], b.Data[:n])
		return
	}
	Copy(Whole(e.inline[:n]), b)
}

// outcome reports whether it is certain that m takes place or fails, and
// whether it fails.
func (m *meeting) outcome() (certain, fails bool) {
	certain = true
	for i := range m.entries {
		switch m.entries[i].op.Load() {
		case nil:
			certain = false
		case refused:
			return true, true
		}
	}
	return certain, false
}

// takesPlace reports whether every member has arrived.
func (m *meeting) takesPlace() bool {
	certain, fails := m.outcome()
	return certain && !fails
}

// lacks reports whether member r has not arrived.
func (m *meeting) lacks(r int) bool { return m.entries[r].op.Load() == nil }

// fail makes m fail, unless every member arrives before. The caller holds
// monitor.mu.
func (m *meeting) fail(verdict *DeadlockError) {
	if m.verdict != nil {
		return
	}
	m.verdict = verdict
	for i := range m.entries {
		if m.entries[i].op.CompareAndSwap(nil, refused) {
			return
		}
	}
}

// block returns block i that the member of e offers.
func (e *entry) block(i int) Block {
	if e.inlined > 0 {
		return Whole(e.inline[:e.inlined-1])
	}
	return e.op.Load().In[i]
}

// copied reports whether the others have no need of the blocks of e's call.
func (e *entry) copied() bool { return e.inlined > 0 || len(e.op.Load().In) == 0 }
