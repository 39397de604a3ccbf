package inproc

import (
	"slices"

	"tpsh/comm"
	"tpsh/comm/schedule"
)

// finish carries the call of round m on from where every member has arrived:
// it compares the calls, prepares the blocks for the results if the caller is
// there to have them, and moves the data.
func (g *inprocGroup) finish(rd *round, op *comm.Op, s *schedule.Scratch, present bool) (comm.Result, error) {
	flags, inline, same := rd.compare(op)
	if !same {
		rd.wake()
		return comm.Result{}, g.mismatch(rd)
	}
	c := &inprocCall{group: g, round: rd, op: op, inline: inline, scratch: s}
	err := c.carryOut(flags, present)
	return g.result(rd, op, flags), err
}

// carryOut makes the member's result, if it is there to have it, and does its part
// of those of the others.
func (c *inprocCall) carryOut(flags comm.Flags, present bool) (err error) {
	if c.op.Hollow {
		c.round.wake()
		if present {
			err = c.prepare(flags)
		}
		return err
	}
	total := c.round.sharedBytes(c.op, c.group.rank)
	if total == 0 || total >= aloneBytes {
		c.round.wake()
	}
	if total > 0 {
		if shared, err := c.share(total, flags, present); shared {
			return err
		}
		c.round.wake()
	}
	if present {
		err = c.prepare(flags)
	}
	if moved := c.move(); err == nil {
		err = moved
	}
	return err
}

// compare reports whether every call of the round agrees with op, and if so
// returns the OR of their flags, and whether no member's blocks need to stay.
func (rd *round) compare(op *comm.Op) (flags comm.Flags, inline, same bool) {
	inline = true
	for i := range rd.entries {
		e := &rd.entries[i]
		other := e.op.Load()
		if other != op && !(comm.Agree(&other.Desc, &op.Desc) && other.Kind == op.Kind) {
			return 0, false, false
		}
		flags |= other.Desc.Flags
		inline = inline && e.copied()
	}
	return flags, inline, true
}

// mismatch returns the report on calls that do not agree. It returns when
// every member has it, since their lines are told while they are in the call.
func (g *inprocGroup) mismatch(rd *round) error {
	mo := g.state.transport.monitor
	mo.mu.Lock()
	if rd.mismatch == nil {
		calls := make([]comm.SignedCall, len(rd.entries))
		for i := range calls {
			op := rd.entries[i].op.Load()
			calls[i] = comm.SignedCall{Desc: op.Desc, Kind: op.Kind, Where: g.state.members[i].endpoint.SourceLine(op.Where)}
		}
		rd.mismatch = comm.NewMismatch(g.state.name, g.state.ranks, calls)
	}
	mo.mu.Unlock()
	rd.done.arrive(rd.size())
	rd.done.wait(rd.size(), g.state.transport.spin)
	return rd.mismatch
}

// An inprocCall is a member's part in moving the data of a round.
type inprocCall struct {
	group   *inprocGroup
	round   *round
	op      *comm.Op
	inline  bool // whether all that is read is in the entries
	scratch *schedule.Scratch
}

// prepare sets the blocks for this member's results.
func (c *inprocCall) prepare(flags comm.Flags) (err error) {
	if c.op.Prepare == nil {
		return nil
	}
	defer comm.Recovered(c.op.Desc.Op, &err)
	out, err := c.op.Prepare(c.round.members, flags)
	if err == nil {
		c.round.outs[c.group.rank] = out
	}
	return err
}

// move does the steps of the schedule. Rounds are kept whatever happens
// between them, for the sake of the others.
func (c *inprocCall) move() error {
	if c.inline && c.op.Kind.Reduces() && c.op.Kind.Alike() {
		return c.reduceInline()
	}
	steps := c.steps()
	var failed error
	for i, st := range steps {
		switch {
		case st.Do == schedule.DoMeet && i == len(steps)-1:
			if err := c.part(); failed == nil {
				failed = err
			}
		case st.Do == schedule.DoMeet:
			c.meet(&c.round.ready)
		case failed == nil:
			failed = c.step(st)
			c.own(st, failed)
		}
	}
	return failed
}

// meet waits until every member has come to a gate.
func (c *inprocCall) meet(l *latch) {
	l.arrive(c.round.size())
	l.wait(c.round.size(), c.group.state.transport.spin)
}

// own owns up to an error in a step whose result others need too.
func (c *inprocCall) own(st schedule.Step, err error) {
	rank := c.group.rank
	if err != nil && slices.ContainsFunc(st.Dst, func(p schedule.Part) bool { return p.Member != rank }) {
		c.round.broken.CompareAndSwap(nil, &comm.PeerError{Func: c.op.Desc.Op, Rank: c.group.endpoint.Rank(), Cause: err})
	}
}

// part is the last round. It returns when nobody needs this member's blocks
// any more, with an error if another has failed to do its part.
func (c *inprocCall) part() error {
	rd := c.round
	switch {
	case c.inline: // what there is to read is in the entries
	case rd.entries[c.group.rank].copied():
		rd.done.arrive(rd.size())
	default:
		c.meet(&rd.done)
		if broken := rd.broken.Load(); broken != nil {
			return broken
		}
	}
	return nil
}

// steps returns this member's direct schedule.
func (c *inprocCall) steps() []schedule.Step {
	return c.group.scheduler.Direct(c.op.Kind, c.op.Desc.Root, c.op.Desc.Pairs, c.round.bytes(c.op, c.group.rank))
}

// bytes returns the length of the block on which the schedule of op depends, which
// is that of a member at a group rank; 0 if there is none.
func (rd *round) bytes(op *comm.Op, rank int) int {
	switch member, ok := op.Kind.Sizing(schedule.Position{Rank: rank, Root: op.Desc.Root}); {
	case !ok:
		return 0
	case member == rank:
		return op.In[0].Len()
	default:
		return rd.entries[member].block(0).Len()
	}
}

// result returns that of a call, with the bytes that this member would send.
func (g *inprocGroup) result(rd *round, op *comm.Op, flags comm.Flags) comm.Result {
	s := schedule.Position{Rank: g.rank, Size: len(rd.entries), Root: op.Desc.Root, Pairs: op.Desc.Pairs}
	bytes := rd.bytes(op, g.rank)
	return comm.Result{Flags: flags, Block: bytes, Wire: schedule.WireBytes(op.Kind, s, op.In, bytes, op.Align)}
}

// step does one step other than a round.
func (c *inprocCall) step(st schedule.Step) (err error) {
	defer comm.Recovered(c.op.Desc.Op, &err)
	c.scratch.Dst = c.spans(c.scratch.Dst[:0], st.Dst)
	c.scratch.Src = c.spans(c.scratch.Src[:0], st.Src)
	dst, src := c.scratch.Dst, c.scratch.Src
	defer func() { // so that nothing stays in memory for it
		clear(dst)
		clear(src)
	}()
	if len(dst) == 0 {
		return nil
	}
	if st.Do == schedule.DoCopy {
		schedule.CopySpan(dst[0], src[0])
		return nil
	}
	schedule.ReduceSpans(dst, src, c.op.Reduce, c.op.Align)
	return nil
}

// spans appends the parts that are there: those of a member that has no blocks
// for results are not.
func (c *inprocCall) spans(list []schedule.Span, parts []schedule.Part) []schedule.Span {
	for _, p := range parts {
		if p.Mem == schedule.MemIn {
			list = append(list, p.Span(c.round.entries[p.Member].block(p.Block), c.op.Align))
		} else if out := c.round.outs[p.Member]; out != nil {
			list = append(list, p.Span(out[p.Block], c.op.Align))
		}
	}
	return list
}

// reduceInline is the schedule of a small AllReduce: every member reduces what
// is in the entries.
func (c *inprocCall) reduceInline() (err error) {
	entries := c.round.entries
	out := c.round.outs[c.group.rank]
	if out == nil {
		return nil
	}
	defer comm.Recovered(c.op.Desc.Op, &err)
	srcs := c.scratch.Runs[:0]
	for i := range entries {
		srcs = append(srcs, entries[i].block(0).Data)
	}
	c.scratch.Runs = srcs
	defer clear(srcs) // so that no round stays in memory for it
	if out[0].Contiguous() {
		c.op.Reduce(out[0].Data[:len(srcs[0])], srcs)
		return nil
	}
	var sum [inlineBytes]byte
	c.op.Reduce(sum[:len(srcs[0])], srcs)
	comm.Copy(out[0], comm.Whole(sum[:len(srcs[0])]))
	return nil
}
