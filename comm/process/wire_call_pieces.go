package process

import (
	"slices"

	"tpsh/comm"
	"tpsh/comm/schedule"
)

// mostOfBlock is how much of each block a schedule moves at a time: it is carried
// out for a piece of all blocks after the other, so that a piece received is
// still in a cache when it is reduced or sent on, and so that one piece is on its
// way while the last one is worked on. Blocks may differ in length; one that has
// no such piece takes no part in it. All members cut blocks alike.
const mostOfBlock = 512 << 10

// pieceLen returns the length of the pieces of a block.
func (c *wireCall) pieceLen() int {
	align, most := max(c.op.Align, 1), mostOfBlock
	if c.chained > 0 {
		most = c.chained
	}
	return max(1, most/align) * align
}

// piecesOf returns how many pieces there are of a block of so many bytes, which
// is at least one.
func (c *wireCall) piecesOf(bytes int) int {
	n := c.pieceLen()
	return max(1, (bytes+n-1)/n)
}

// move does the steps of the schedule, piece by piece, and skips the first of
// the first piece, which were done ahead. If the member cannot make data that it is to
// send later, no rank may rely on it any more.
func (c *wireCall) move(steps []schedule.Step, ahead int) error {
	n := 0
	for _, st := range steps {
		n = max(n, c.piecesIn(st))
	}
	c.pieces = true
	defer func() { c.pieces, c.current = false, 0 }()
	c.postAllBuffers(steps, n)
	late, lag := firstLate(steps)
	for turn := range n + lag {
		if err := c.moveTurn(steps, late, turn, lag, n, ahead); err != nil {
			if c.current < n-1 && slices.ContainsFunc(steps, sends) {
				c.group.wireRank.giveUp(err)
			}
			return err
		}
		ahead = 0
	}
	return nil
}

// firstLate returns the index of the first late step, and by how many pieces it and those
// after it are behind; how many steps there are, and 0, if there is none.
func firstLate(steps []schedule.Step) (at, lag int) {
	if at := slices.IndexFunc(steps, func(st schedule.Step) bool { return st.Late > 0 }); at >= 0 {
		return at, steps[at].Late
	}
	return len(steps), 0
}

// moveTurn does the early steps of one of n pieces, those before late, and the late steps
// of the piece by lag before it.
func (c *wireCall) moveTurn(steps []schedule.Step, late, turn, lag, n, ahead int) error {
	if c.current = turn; turn < n {
		if turn+1 < n {
			c.postBuffers(steps, turn+1, schedule.MemSlot)
		}
		if err := c.movePiece(steps, ahead, late); err != nil {
			return err
		}
	}
	if turn < lag {
		return nil
	}
	c.current = turn - lag
	err := c.movePiece(steps, late, len(steps))
	if err == nil && n > 1 {
		c.drop()
	}
	return err
}

// sends reports whether a step sends.
func sends(st schedule.Step) bool { return st.Do == schedule.DoSend }

// piecesIn returns how many pieces a step has. A part received to a slot has as
// many as the part it is reduced with; one that goes nowhere need not be awaited.
func (c *wireCall) piecesIn(st schedule.Step) int {
	if _, ok := c.op.Kind.Sizing(c.position()); ok {
		return c.piecesOf(c.bytes)
	}
	if c.chained > 0 {
		return c.foldedPieces(&st)
	}
	if c.relayed && st.Do != schedule.DoCopy { // which may go through a slot
		sender := c.group.rank
		if st.Do == schedule.DoRecv {
			sender = st.Peer
		}
		return c.piecesOf(c.bytesOf(schedule.BlockOf(sender, st.Tag)))
	}
	most := 1
	for _, p := range st.Dst {
		most = max(most, c.piecesOf(c.lengthIn(p)))
	}
	for _, p := range st.Src {
		most = max(most, c.piecesOf(c.lengthIn(p)))
	}
	return most
}

// lengthIn returns the length of the block of p, or of the part it is reduced with.
func (c *wireCall) lengthIn(p schedule.Part) int {
	switch {
	case p.Mem == schedule.MemIn:
		return c.op.In[p.Block].Len()
	case p.Mem == schedule.MemOut:
		return c.out[p.Block].Len()
	case c.op.Kind.Reduces() && c.out != nil:
		return c.op.In[c.group.rank].Len()
	}
	return 0
}

// drop lets go of the data of the current piece.
func (c *wireCall) drop() {
	wr := c.group.wireRank
	wr.mu.Lock()
	defer wr.mu.Unlock()
	of := func(k dataKey) bool { return k.tag/c.group.tagsEach == c.current }
	c.call.recvBuffers = slices.DeleteFunc(c.call.recvBuffers, func(b recvBuffer) bool { return b.full && of(b.dataKey) })
	c.call.data = slices.DeleteFunc(c.call.data, func(d datum) bool {
		if of(d.dataKey) && !d.away {
			wr.pool.Put(d.bytes)
		}
		return of(d.dataKey)
	})
}

// cut returns the part p of the current piece of b.
func (c *wireCall) cut(b comm.Block, p schedule.Part) schedule.Span {
	n := c.pieceLen()
	s := schedule.Span{Block: b, Lo: min(b.Len(), c.current*n), Hi: min(b.Len(), (c.current+1)*n)}
	if p.Parts == 0 {
		return s
	}
	lo, hi := schedule.ChunkOf(s.Len(), c.op.Align, p.Index, p.Parts)
	return s.Cut(lo, hi)
}
