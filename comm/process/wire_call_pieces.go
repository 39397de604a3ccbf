package process

import (
	"slices"

	"tpsh/comm"
	"tpsh/comm/schedule"
)

// mostOfBlock is how much of each block a schedule moves at a time: it is carried
// out for a piece of all blocks after the other, so that what is received is
// still in a cache when it is reduced or sent on, and so that one piece is on its
// way while the last one is worked on. Blocks may differ in length; one that has
// no such piece takes no part in it. All members cut blocks alike.
const mostOfBlock = 512 << 10

// tagsEach is how many messages there may be from one member to another in a
// piece.
const tagsEach = 2

// pieceLen returns the length of the pieces of a block.
func (c *wireCall) pieceLen() int {
	align := max(c.op.Align, 1)
	return max(1, mostOfBlock/align) * align
}

// piecesOf returns how many pieces there are of a block of so many bytes, which
// is at least one.
func (c *wireCall) piecesOf(bytes int) int {
	n := c.pieceLen()
	return max(1, (bytes+n-1)/n)
}

// move does the steps of the schedule, piece by piece, and skips the first of
// the first piece, which were done ahead. If the member cannot make what it is to
// send later, no rank may rely on it any more.
func (c *wireCall) move(steps []schedule.Step, ahead int) error {
	n := 0
	for _, st := range steps {
		n = max(n, c.piecesIn(st))
	}
	c.pieces = true
	defer func() { c.pieces, c.current = false, 0 }()
	c.postAllBuffers(steps, n)
	for c.current = 0; c.current < n; c.current++ {
		if c.current+1 < n {
			c.postBuffers(steps, c.current+1, schedule.MemSlot)
		}
		if err := c.movePiece(steps, ahead); err != nil {
			if c.current < n-1 && slices.ContainsFunc(steps, sends) {
				c.group.wireRank.giveUp(err)
			}
			return err
		}
		if ahead = 0; n > 1 {
			c.drop()
		}
	}
	return nil
}

// sends reports whether a step sends.
func sends(st schedule.Step) bool { return st.Do == schedule.DoSend }

// piecesIn returns how many pieces a step has. What is received to a slot has as
// many as what it is reduced with; what goes nowhere need not be awaited.
func (c *wireCall) piecesIn(st schedule.Step) int {
	if _, ok := c.op.Kind.Sizing(c.position()); ok {
		return c.piecesOf(c.bytes)
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

// lengthIn returns the length of the block of p, or of what it is reduced with.
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

// drop lets go of what has come for the current piece.
func (c *wireCall) drop() {
	wr := c.group.wireRank
	wr.mu.Lock()
	defer wr.mu.Unlock()
	of := func(k dataKey) bool { return k.tag/tagsEach == c.current }
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
