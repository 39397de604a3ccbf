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
