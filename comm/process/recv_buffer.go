package process

import (
	"slices"

	"tpsh/comm"
	"tpsh/comm/deadlock"
	"tpsh/comm/mailbox"
	"tpsh/comm/schedule"
	"tpsh/comm/wire"
)

// leastPosted is the length from which data get a receive buffer.
const leastPosted = wire.LeastBuffered

// recvBufferFor returns the memory for the data of which the first frame comes from a
// participant, nil if nobody has asked for them.
func (wr *wireRank) recvBufferFor(peer int, f *wire.Frame) []byte {
	wr.mu.Lock()
	defer wr.mu.Unlock()
	call := wr.known(deadlock.CallKey{Group: f.Group, Number: f.Call})
	if call == nil {
		return nil
	}
	return call.startRecvBuffer(dataKey{peer, f.Step}, f.Rest)
}

// messageBufferFor returns the memory for the Data of a message that follow its head, which is
// all that f holds: where the receive wants them that waits for it, if one does.
func (wr *wireRank) messageBufferFor(peer int, f *wire.Frame) []byte {
	n := f.Rest - len(f.Payload)
	if n < leastPosted {
		return nil
	}
	e, err := wire.DecodeEnvelope(f.Payload)
	if err != nil || len(e.Message.Data) > 0 {
		return nil // it is not all of the head, or more than that
	}
	return wr.box.Allocate(mailbox.Key{Group: f.Group, Src: peer, Tag: f.Tag}, &e.Message, n)
}

// postRecv lets the next message of key be read to where p says, if it comes
// on an inbound that can post receives. No other may be expected.
func (wr *wireRank) postRecv(key mailbox.Key, p comm.Allocate) {
	if p != nil && wr.posts(key.Src) {
		wr.box.Post(key, p)
	}
}

// withdrawRecv sees to it that nothing is read any more to the memory of a
// message that was expected, and that it stays the rank's if all has come.
func (wr *wireRank) withdrawRecv() {
	if b := wr.box.TakePosted(); b.Memory != nil {
		wr.withdrawBuffer(b.Key.Src, b.Memory)
		wr.box.DetachFrom(b.Key, b.Memory)
	}
}

// posts reports whether data from a rank can be read to where they belong.
func (wr *wireRank) posts(rank int) bool { return wr.posting(rank) != nil }

// postsAny reports whether that of some other member can.
func (g *wireGroup) postsAny() bool { return slices.ContainsFunc(g.others, g.wireRank.posts) }

// postAllBuffers makes receive buffers for the data that the steps receive of n pieces: for all that
// goes to the member's blocks, and for the first piece of data that are reduced.
func (c *wireCall) postAllBuffers(steps []schedule.Step, n int) {
	if !c.group.postsAny() {
		return
	}
	for piece := range n {
		c.postBuffers(steps, piece, schedule.MemOut)
	}
	c.postBuffers(steps, 0, schedule.MemSlot)
}

// postBuffers makes receive buffers for the data that the steps receive of a piece to a kind of memory,
// if they come through polled connections.
func (c *wireCall) postBuffers(steps []schedule.Step, piece int, mem schedule.Memory) {
	wr := c.group.wireRank
	if !c.group.postsAny() {
		return
	}
	defer func(current int) { c.current = current }(c.current)
	c.current = piece
	wr.mu.Lock()
	defer wr.mu.Unlock()
	for _, s := range steps {
		if s.Do != schedule.DoRecv || s.Dst[0].Mem != mem || piece > 0 && piece >= c.piecesIn(s) {
			continue
		}
		key := c.dataKey(&s)
		if _, there := c.call.find(key); there || !wr.posts(key.source) {
			continue
		}
		if memory, away := c.bufferFor(s, steps); memory != nil {
			c.call.recvBuffers = append(c.call.recvBuffers, recvBuffer{dataKey: key, memory: memory, away: away})
		}
	}
}

// bufferFor returns the memory for the data that a step receives, nil if that is not worth
// it, and whether the memory is part of the member's blocks.
func (c *wireCall) bufferFor(s schedule.Step, steps []schedule.Step) (memory []byte, away bool) {
	if s.Dst[0].Mem == schedule.MemSlot {
		if n := c.slotLen(s.Dst[0], steps); n >= leastPosted {
			memory = c.group.wireRank.pool.Get(n)[:n]
		}
		return memory, false
	}
	to := c.span(s.Dst[0])
	if to.Len() < leastPosted {
		return nil, false
	}
	if memory = to.Run(0); len(memory) < to.Len() {
		return nil, false
	}
	return memory, true
}

// slotLen returns the length of the data received to a slot: that of the member's
// own part with which they are reduced, 0 if they are not.
func (c *wireCall) slotLen(slot schedule.Part, steps []schedule.Step) int {
	for _, s := range steps {
		folds := s.Do == schedule.DoFold
		if s.Do != schedule.DoReduce && !folds || !slices.Contains(s.Src, slot) {
			continue
		}
		for _, p := range s.Src {
			if p.Mem == schedule.MemSlot {
				continue
			}
			n := c.span(p).Len()
			if folds && !s.First && s.Src[0] == slot {
				n = n / c.op.Align * c.op.Fold.Bytes
			}
			return n
		}
	}
	return 0
}

// withdrawBuffers sees to it that nothing is read to the member's blocks any more.
// A call that has failed may end before all has come that was on its way.
func (c *wireCall) withdrawBuffers() {
	wr := c.group.wireRank
	var open []recvBuffer
	wr.mu.Lock()
	for i := range c.call.recvBuffers {
		b := &c.call.recvBuffers[i]
		if b.started && !b.full {
			open = append(open, *b)
		}
		b.started = true
	}
	wr.mu.Unlock()
	for _, b := range open {
		wr.withdrawBuffer(b.source, b.memory)
	}
}

// withdrawBuffer sees to it that no data from a rank are read to memory any more.
func (wr *wireRank) withdrawBuffer(rank int, memory []byte) { wr.posting(rank).Withdraw(rank, memory) }
