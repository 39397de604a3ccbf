package inproc

import (
	"sync/atomic"

	"tpsh/comm"
	"tpsh/comm/schedule"
)

// A sharedResult is the result that the members of a round have in common, and how
// far it has come.
type sharedResult struct {
	blocks   []comm.Block // nil if every member makes its own result
	result   any
	steps    []schedule.Step // by block: each makes it of the members' inputs
	pieces   []piece
	sections []section // of pieces, one for each member
	finished event     // set when no piece is left

	_    [64]byte
	left atomic.Int32 // pieces that are not done
}

// A piece is the bytes [lo, hi) of a block of a shared result.
type piece struct{ block, lo, hi int }

// A section is the pieces that one member begins with. When a member has done
// its own, it does those that others have not begun. It fills a cache line.
type section struct {
	next atomic.Int32 // the first piece that nobody has begun
	end  int32
	_    [56]byte
}

// claim returns a piece of s to do.
func (s *section) claim() (i int32, ok bool) {
	if s.next.Load() >= s.end { // so that next does not grow without end
		return 0, false
	}
	i = s.next.Add(1) - 1
	return i, i < s.end
}

const (
	// A piece of a common result has between leastShared and mostShared bytes: a
	// few for each member, so that one that is late leaves little to wait for.
	leastShared = 16 << 10
	mostShared  = 256 << 10
	// piecesEach is how many pieces each member has to do if that is possible.
	piecesEach = 4
	// aloneBytes is the length of a result below which the last to arrive does
	// all that it can before it wakes the sleepers.
	aloneBytes = 256 << 10
)

// sharedBytes returns the length of the result that the members of the round are to
// have in common, or 0 if each is to make its own.
func (c *inprocCall) sharedBytes() int {
	op, entries := c.op, c.round.entries
	if op.Share == nil || !op.Kind.Alike() || len(entries) == 1 {
		return 0
	}
	total := c.bytes
	if _, ok := op.Kind.Sizing(schedule.Position{}); !ok { // then it is the blocks of all
		for i := range entries {
			total += entries[i].block(0).Len()
		}
	}
	if total < op.Share.Least() {
		return 0
	}
	for i := range entries {
		if entries[i].op.Load().Share == nil {
			return 0
		}
	}
	return total
}

// beingMade stands for a common result until it is there.
var beingMade = new(sharedResult)

// makeShared returns the common result of the round: the first member to ask
// makes it, and the others wait.
func (c *inprocCall) makeShared(total int, flags comm.Flags) *sharedResult {
	rd := c.round
	if rd.shared.CompareAndSwap(nil, beingMade) {
		made := c.newSharedResult(total, flags)
		rd.shared.Store(made)
		rd.made.set()
		return made
	}
	rd.made.await(c.group.state.transport.spin, func() bool { return rd.shared.Load() != beingMade })
	return rd.shared.Load()
}

// newSharedResult makes a common result, or says that there is none.
func (c *inprocCall) newSharedResult(total int, flags comm.Flags) (made *sharedResult) {
	made = &sharedResult{}
	defer func() {
		if recover() != nil { // each member's own call will tell
			*made = sharedResult{}
		}
	}()
	blocks, result, err := c.op.Share.Make(c.round.members, flags)
	if err != nil {
		return made
	}
	n := len(c.round.entries)
	most := (total/(n*piecesEach) + 4095) &^ 4095
	most = min(max(most, leastShared), mostShared)
	made.blocks, made.result = blocks, result
	made.steps = c.group.state.scheduler.Shared(c.op.Kind, c.op.Desc.Root)
	for i, b := range blocks {
		made.cut(i, b, most)
	}
	made.left.Store(int32(len(made.pieces)))
	made.sections = make([]section, n)
	for r := range made.sections {
		made.sections[r].next.Store(int32(r * len(made.pieces) / n))
		made.sections[r].end = int32((r + 1) * len(made.pieces) / n)
	}
	return made
}

// cut adds the pieces of block i, of about most bytes each, and of whole rows
// where these are shorter.
func (c *sharedResult) cut(i int, b comm.Block, most int) {
	if !b.Contiguous() && b.Width <= most {
		most = most / b.Width * b.Width
	}
	for lo := 0; lo < b.Len(); lo += most {
		c.pieces = append(c.pieces, piece{i, lo, min(lo+most, b.Len())})
	}
}

// share carries out a call whose result of so many bytes the members have in
// common. It reports false, and has done nothing, if they do not.
func (c *inprocCall) share(total int, flags comm.Flags, present bool) (shared bool, err error) {
	all := c.makeShared(total, flags)
	if all.blocks == nil {
		return false, nil
	}
	if present {
		err = c.takeShared(all, flags)
	}
	if failed := c.work(all); err == nil {
		err = failed
	}
	c.round.wake()
	all.wait(c.group.state.transport.spin)
	if broken := c.round.broken.Load(); broken != nil && err == nil {
		err = broken
	}
	return true, err
}

// takeShared gives the member its result.
func (c *inprocCall) takeShared(all *sharedResult, flags comm.Flags) (err error) {
	defer comm.Recovered(c.op.Desc.Op, &err)
	return c.op.Share.Take(c.round.members, flags, all.result)
}

// work does pieces until all have been begun: the member's own, and then those of
// the members that follow.
func (c *inprocCall) work(all *sharedResult) (failed error) {
	n, done := len(all.sections), int32(0)
	for i := range n {
		s := &all.sections[(c.group.rank+i)%n]
		for k, ok := s.claim(); ok; k, ok = s.claim() {
			if err := c.do(all, all.pieces[k]); err != nil && failed == nil {
				failed = err
				c.round.broken.CompareAndSwap(nil, &comm.PeerError{Func: c.op.Desc.Op, Rank: c.group.endpoint.Rank(), Cause: err})
			}
			done++
		}
	}
	if done > 0 && all.left.Add(-done) == 0 {
		all.finished.set()
	}
	return failed
}

// wait waits until every piece is done. Those that are not are being done.
func (c *sharedResult) wait(p spinPolicy) {
	c.finished.await(p, func() bool { return c.left.Load() == 0 })
}

// do leaves a piece of the result where it belongs: the step that makes its block, of
// the bytes of the piece alone.
func (c *inprocCall) do(all *sharedResult, p piece) (err error) {
	defer comm.Recovered(c.op.Desc.Op, &err)
	st := &all.steps[p.block]
	srcs := c.scratch.Src[:0]
	for _, src := range st.Src {
		srcs = append(srcs, schedule.Span{Block: c.round.entries[src.Member].block(src.Block), Lo: p.lo, Hi: p.hi})
	}
	c.scratch.Src = srcs
	c.scratch.Dst = append(c.scratch.Dst[:0], schedule.Span{Block: all.blocks[p.block], Lo: p.lo, Hi: p.hi})
	defer c.scratch.Clear() // so that nothing stays in memory for it
	if st.Do == schedule.DoCopy {
		schedule.CopySpan(c.scratch.Dst[0], srcs[0])
		return nil
	}
	schedule.ReduceSpans(c.scratch.Dst, srcs, c.op.Reduce, c.op.Align)
	return nil
}
