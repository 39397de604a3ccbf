package process

import (
	"tpsh/comm"
	"tpsh/comm/schedule"
)

// gathers reports whether the call is an AllGather in a group on several hosts. How its
// blocks go depends on all of their lengths.
func (c *wireCall) gathers() bool {
	return c.op.Kind == comm.AllGather && c.group.scheduler.Hosts != nil
}

// replan plans such a call, by the lengths of the members' blocks. The sends with which it
// begins depend on this member's alone.
func (c *wireCall) replan(bytesOf func(member int) int) {
	call := schedule.HostCall{Kind: comm.AllGather, Root: -1, Long: make([]bool, len(c.group.ranks))}
	for m := range call.Long {
		call.Long[m] = schedule.Far(bytesOf(m))
	}
	steps := c.group.scheduler.AcrossHosts(&call)
	if c.relayed = steps != nil; !c.relayed {
		steps = c.group.scheduler.Message(comm.AllGather, -1, nil, 0)
	}
	c.plan, c.planned = steps, true
}

// hostCall returns the lengths on which the call's schedule in a group on several hosts depends. It is
// for kinds other than AllGather.
func (c *wireCall) hostCall() schedule.HostCall {
	h := schedule.HostCall{Kind: c.op.Kind, Root: c.op.Desc.Root, Bytes: c.bytes}
	if c.op.Kind == comm.ReduceScatter {
		for _, b := range c.op.In {
			h.Bytes += b.Len()
		}
	}
	if c.op.Fold != nil && c.op.Kind.Reduces() {
		h.Folded = h.Bytes / c.op.Align * c.op.Fold.Bytes
	}
	return h
}

// useHosts notes in which pieces the blocks go, if they are reduced along a chain of hosts.
func (c *wireCall) useHosts(h *schedule.HostCall) {
	if !c.op.Kind.Reduces() {
		return
	}
	c.chained = h.PieceBytes()
	if c.op.Kind == comm.ReduceScatter {
		c.chained = max(c.chained/len(c.group.ranks), leastOfBlock)
	}
}

// leastOfBlock is how much of each of many blocks is moved at a time, at least.
const leastOfBlock = 8 << 10

// foldedPieces returns how many pieces a step has of a ReduceScatter along a chain of hosts,
// whose tag is the member whose block it is.
func (c *wireCall) foldedPieces(st *schedule.Step) int { return c.piecesOf(c.op.In[st.Tag].Len()) }

// fold does a step that folds.
func (c *wireCall) fold(st *schedule.Step) (err error) {
	defer comm.Recovered(c.op.Desc.Op, &err)
	parts, acc := st.Src, []byte(nil)
	if !st.First {
		acc, parts = c.slots[parts[0].Block], parts[1:]
	}
	srcs := make([]schedule.Span, len(parts))
	for i, p := range parts {
		srcs[i] = c.span(p)
	}
	dst, n := st.Dst[0], len(c.group.ranks)
	switch {
	case !st.Last:
		c.setSlot(dst.Block, schedule.FoldSpans(nil, acc, srcs, c.op.Fold, c.op.Align, n))
	case dst.Mem == schedule.MemSlot:
		sum := comm.Whole(make([]byte, srcs[0].Len())).All()
		schedule.FoldSpans(&sum, acc, srcs, c.op.Fold, c.op.Align, n)
		c.setSlot(dst.Block, sum.Block.Data)
	default:
		to := c.span(dst)
		schedule.FoldSpans(&to, acc, srcs, c.op.Fold, c.op.Align, n)
	}
	return nil
}
