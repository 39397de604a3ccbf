package process

import (
	"fmt"
	"slices"

	"tpsh/comm"
	"tpsh/comm/schedule"
	"tpsh/comm/wire"
)

// isShort reports whether a call with these steps left is short: it needs no data but
// those that came with the contracts, and sends none. Its steps are done as those of
// any other, but at once: nobody waits, nothing is cut in pieces, and no receive buffers
// are posted. When it is asked, every contract is there.
func (c *wireCall) isShort(left []schedule.Step) bool {
	if !c.sent {
		return false
	}
	for i := range left {
		switch left[i].Do {
		case schedule.DoSend:
			return false
		case schedule.DoRecv:
			if _, there := c.call.carried(c.dataKey(&left[i])); !there {
				return false
			}
		}
	}
	return true
}

// movePiece does those of the steps from one to before another of the current piece.
func (c *wireCall) movePiece(steps []schedule.Step, from, to int) error {
	for i := from; i < to; i++ {
		st := &steps[i]
		if c.current > 0 && c.current >= c.piecesIn(*st) {
			continue
		}
		switch st.Do {
		case schedule.DoSend:
			c.send(*st)
		case schedule.DoRecv:
			if err := c.receive(st); err != nil {
				return err
			}
		default:
			combine := c.combine
			if st.Do == schedule.DoFold {
				combine = c.fold
			}
			if err := combine(st); err != nil {
				if slices.ContainsFunc(steps[i:], sends) {
					c.group.wireRank.giveUp(err)
				}
				return err
			}
		}
	}
	return nil
}

// tag returns the tag of the data that a step sends or receives.
func (c *wireCall) tag(st *schedule.Step) int { return st.Tag + c.group.tagsEach*c.current }

// dataKey names the data that a step receives.
func (c *wireCall) dataKey(st *schedule.Step) dataKey {
	return dataKey{c.group.ranks[st.Peer], c.tag(st)}
}

// send does a step that sends.
func (c *wireCall) send(st schedule.Step) {
	s := c.span(st.Src[0])
	payload := s.Run(0)
	if len(payload) < s.Len() {
		payload = s.AppendTo(nil)
	}
	f, to := wire.Frame{Type: wire.FrameData, Step: c.tag(&st)}, c.group.ranks[st.Peer]
	if st.Src[0].Mem == schedule.MemSlot || !c.writeLater(to, f, payload) {
		c.write(to, f, payload)
	}
}

// receive does a step that receives.
func (c *wireCall) receive(st *schedule.Step) error {
	key, dst := c.dataKey(st), &st.Dst[0]
	data, err := c.data(key)
	if err != nil {
		return err
	}
	if dst.Mem == schedule.MemSlot {
		c.setSlot(dst.Block, data)
		return nil
	}
	if run, ok := c.run(dst); ok && len(run) == len(data) {
		copy(run, data)
		return nil
	}
	to := c.span(*dst)
	if to.Len() >= leastPosted && schedule.SameMemory(to.Run(0), data) {
		return nil // it was read to where it belongs
	}
	if to.Len() != len(data) {
		return c.reject(key.source, fmt.Errorf("%s: got %d bytes, want %d", c.op.Desc.Op, len(data), to.Len()))
	}
	schedule.CopySpan(to, comm.Whole(data).All())
	return nil
}

// data returns the data sent under key, when they are there. Data that came with
// a contract are, and stay as they are.
func (c *wireCall) data(key dataKey) ([]byte, error) {
	if data, there := c.call.carried(key); there {
		return data, nil
	}
	return c.awaitData(key)
}

// awaitData is data for steps whose data do not come with a contract.
func (c *wireCall) awaitData(key dataKey) (data []byte, err error) {
	err = c.awaitCondition(func() (there bool) { data, there = c.call.find(key); return there })
	return data, err
}

// reject ends a call in which a member has sent data that cannot be used. No rank
// may rely on it any more.
func (c *wireCall) reject(rank int, cause error) error {
	c.group.wireRank.lose(rank, cause)
	return c.awaitCondition(func() bool { return false })
}

// combine does a step that copies or reduces.
func (c *wireCall) combine(st *schedule.Step) (err error) {
	defer comm.Recovered(c.op.Desc.Op, &err)
	s := &c.scratch
	if s.CombineRuns(st, c.run, c.op.Reduce) {
		return nil
	}
	defer s.Clear()
	for _, p := range st.Src {
		s.Src = append(s.Src, c.span(p))
	}
	if dst := st.Dst[0]; dst.Mem == schedule.MemSlot {
		c.setSlot(dst.Block, make([]byte, s.Src[0].Len()))
	}
	s.Dst = append(s.Dst, c.span(st.Dst[0]))
	switch {
	case st.Do == schedule.DoCopy:
		schedule.CopySpan(s.Dst[0], s.Src[0])
	case !s.ReduceRuns(c.op.Reduce, c.op.Align):
		schedule.ReduceSpans(s.Dst, s.Src, c.op.Reduce, c.op.Align)
	}
	return nil
}

func (c *wireCall) setSlot(i int, data []byte) {
	if i >= len(c.slots) {
		c.slots = append(c.slots, make([][]byte, i+1-len(c.slots))...)
	}
	c.slots[i] = data
}

// span returns the bytes that p names: of the current piece, or of the whole
// block if the call is not carried out in pieces.
func (c *wireCall) span(p schedule.Part) schedule.Span {
	var b comm.Block
	switch p.Mem {
	case schedule.MemIn:
		b = c.op.In[p.Block]
	case schedule.MemOut:
		b = c.out[p.Block]
	default:
		return comm.Whole(c.slots[p.Block]).All()
	}
	if c.pieces {
		return c.cut(b, p)
	}
	return p.Span(b, c.op.Align)
}

// run returns the bytes of a part, if that is a whole block of a few bytes in one run.
func (c *wireCall) run(p *schedule.Part) (b []byte, ok bool) {
	var block *comm.Block
	switch {
	case c.pieces || p.Parts != 0:
		return nil, false
	case p.Mem == schedule.MemSlot:
		if p.Block < len(c.slots) {
			b = c.slots[p.Block]
		}
		return b, schedule.IsShort(len(b))
	case p.Mem == schedule.MemIn:
		block = &c.op.In[p.Block]
	default:
		block = &c.out[p.Block]
	}
	return block.ShortRun()
}

// Where each member of a large group has a short block of its own for each other, as in an
// all_to_all, the blocks go from member to member, too, once all contracts are there
// (schedule.Relay.Carries): the members then know of each other whether all blocks are short. One that
// has a long block tells each by itself, with the block that is for it.

// swapTag is the tag of what goes from member to member in the first hop; no step has such.
const swapTag = 1 << 28

const (
	// swapsFrom is from how many members on blocks go from member to member, and of members that all share
	// memory swapsFromShared: a message through memory costs less, but a way to each of many takes its room.
	swapsFrom       = 24
	swapsFromShared = 256
	// mostSwapped is how long the blocks may be. Calls on ranks of two cores, in ms, over TCP with blocks of
	// 4 B and of 1 KiB: 16 ranks 1.4 and 1.6 where each sends to each, and 1.5 and 2.8 so; 32 ranks
	// 8.1 and 12.6, and 3.9 and 6.2; 64 ranks 26 and 31, and 10 and 21.
	mostSwapped = 1 << 10
)

// swapsShort reports whether the blocks for each of the others, which the steps ahead send, are short
// enough to go from member to member.
func (c *wireCall) swapsShort(ahead []schedule.Step) bool {
	from := c.group.wireRank.swapsFrom
	if c.group.local {
		from = swapsFromShared
	}
	if len(ahead) < from-1 {
		return false
	}
	for _, s := range ahead {
		if s.Tag != 0 {
			return false
		}
	}
	return c.longest() <= mostSwapped
}

// swapsWith reports whether the others, too, have short blocks for each alone.
func (c *wireCall) swapsWith() bool {
	for _, r := range c.group.others {
		if c.call.contracts[r].Bytes > mostSwapped {
			return false
		}
	}
	return true
}

// moveSwapped does the rest of the schedule where blocks go from member to member.
func (c *wireCall) moveSwapped(steps []schedule.Step) error {
	n := 0
	for n < len(steps) && sends(steps[n]) {
		n++
	}
	if err := c.swap(steps[:n]); err != nil {
		return err
	}
	return c.movePiece(steps, n, len(steps))
}

// swap has the blocks that the steps ahead send go from member to member, and leaves those that are for
// this member where its later steps find them.
func (c *wireCall) swap(ahead []schedule.Step) error {
	g, relay := c.group, &c.relay.Relay
	blocks := make([][]byte, len(g.ranks)) // by how far behind the one that has it the member is that it is for
	packed := make([]byte, 0, len(ahead)*c.longest())
	for _, s := range ahead {
		at := len(packed)
		packed = c.span(s.Src[0]).AppendTo(packed)
		blocks[(s.Peer-g.rank+len(g.ranks))%len(g.ranks)] = packed[at:]
	}
	var payload []byte
	var err error
	for hop := range relay.Hops() {
		if payload, err = c.swapHop(hop, blocks, payload[:0]); err != nil {
			return err
		}
	}
	wr := g.wireRank
	wr.mu.Lock()
	defer wr.mu.Unlock()
	for behind := 1; behind < len(blocks); behind++ {
		c.call.data = append(c.call.data, datum{dataKey{g.ranks[relay.Member(behind)], 0}, blocks[behind], true})
	}
	return nil
}

// swapHop sends the blocks that go on in a hop, and puts those that come into their places. It
// returns payload, which is memory to be used again.
func (c *wireCall) swapHop(hop int, blocks [][]byte, payload []byte) ([]byte, error) {
	relay := &c.relay.Relay
	for behind := range blocks {
		if relay.Carries(hop, behind) {
			payload = append(wire.AppendInt(payload, len(blocks[behind])), blocks[behind]...)
		}
	}
	from, data, err := c.passHop(relay, hop, swapTag, payload)
	if err != nil {
		return nil, err
	}
	d := wire.Decoder{Rest: data}
	for behind := range blocks {
		if relay.Carries(hop, behind) {
			blocks[behind] = d.Take(d.Size())
		}
	}
	if err := d.End("blocks"); err != nil {
		return nil, c.reject(from, fmt.Errorf("%s: %w", c.op.Desc.Op, err))
	}
	return payload, nil
}

// passHop sends payload to the member that a hop of a relay goes to, and returns the payload that
// has come in the same hop, and from which rank. first is the tag of the first hop.
func (c *wireCall) passHop(relay *schedule.Relay, hop, first int, payload []byte) (from int, data []byte, err error) {
	ranks := c.group.ranks
	c.write(ranks[relay.To(hop)], wire.Frame{Type: wire.FrameData, Step: first + hop}, payload)
	from = ranks[relay.From(hop)]
	data, err = c.awaitData(dataKey{from, first + hop})
	return from, data, err
}

// mismatchRelayed is mismatch where what members say of their calls goes from member to member.
func (c *wireCall) mismatchRelayed(own []byte) error {
	said, err := c.relayedDescs(own)
	if err != nil {
		return err
	}
	g := c.group
	calls := make([]comm.SignedCall, len(g.ranks))
	for i, b := range said {
		s, err := wire.DecodeSigned(b, len(g.wireRank.received))
		if err != nil {
			return c.reject(g.ranks[i], err)
		}
		calls[i] = *s
	}
	return comm.NewMismatch(g.name, g.ranks, calls)
}

// relayedDescs returns what the members say of their calls, by group rank, which goes from member
// to member. own is what this one says.
func (c *wireCall) relayedDescs(own []byte) ([][]byte, error) {
	g := c.group
	relay := schedule.Relay{Rank: g.rank, Size: len(g.ranks)}
	said := make([][]byte, len(g.ranks))
	said[g.rank] = own
	for hop := range relay.Hops() {
		var payload []byte
		for before := range relay.Count(hop) {
			b := said[relay.Member(before)]
			payload = append(wire.AppendInt(payload, len(b)), b...)
		}
		from, data, err := c.passHop(&relay, hop, descTag, payload)
		if err != nil {
			return nil, err
		}
		d := wire.Decoder{Rest: data}
		for before := range relay.Count(hop) {
			said[relay.Member(1<<hop+before)] = d.Take(d.Size())
		}
		if err := d.End("calls"); err != nil {
			return nil, c.reject(from, err)
		}
	}
	return said, nil
}

// descTag is the tag of descriptions in the first hop.
const descTag = swapTag + mostHops
