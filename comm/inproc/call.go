package inproc

import (
	"slices"

	"tpsh/comm"
	"tpsh/comm/schedule"
)

// finish carries the call of a round on from where every member has arrived:
// it compares the calls, prepares the blocks for the results if the caller is
// there to have them, and moves the data.
func (g *inprocGroup) finish(rd *round, op *comm.Op, s *schedule.Scratch, present bool) (comm.Result, error) {
	flags, inline, same := rd.compare(op)
	if !same {
		rd.wake()
		return comm.Result{}, g.mismatch(rd)
	}
	c := &inprocCall{group: g, round: rd, op: op, inline: inline, scratch: s}
	p := c.position()
	if member, ok := op.Kind.Sizing(p); ok {
		c.bytes = c.bytesOf(member)
	}
	err := c.carryOut(flags, present)
	return comm.Result{Flags: flags, Block: c.bytes, Wire: schedule.WireBytes(op.Kind, p, op.In, c.bytes, op.Align)}, err
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
	total := c.sharedBytes()
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
	if rd.many == nil {
		return rd.compareAll(op)
	}
	c := rd.many.compared.Load()
	if c == nil {
		c = &comparison{}
		c.flags, c.inline, c.same = rd.compareAll(op)
		rd.many.compared.Store(c)
	}
	return c.flags, c.inline, c.same
}

// A comparison is what compareAll returns, to every member the same.
type comparison struct {
	flags        comm.Flags
	inline, same bool
}

// compareAll is compare for a member that looks at all calls itself.
func (rd *round) compareAll(op *comm.Op) (flags comm.Flags, inline, same bool) {
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
			calls[i] = comm.SignedCall{Desc: op.Desc, Kind: op.Kind, Where: g.state.members[i].endpoint.SourceLine(op.Where), Issued: rd.issued.Load(), Caught: g.state.members[i].endpoint.Caught()}
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
	bytes   int  // of the block on which the schedule depends, 0 if there is none
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

// move does the steps of the schedule. Meetings are kept whatever happens
// between them, for the sake of the others.
func (c *inprocCall) move() error {
	if c.reducesOnce() {
		return c.moveReduced()
	}
	steps := c.steps()
	var failed error
	for i := range steps {
		st := &steps[i]
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
func (c *inprocCall) own(st *schedule.Step, err error) {
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
	case c.inline: // all that there is to read is in the entries
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
	return c.group.scheduler.Direct(c.op.Kind, c.op.Desc.Root, c.op.Desc.Pairs, c.bytes)
}

// position returns the member's in the call.
func (c *inprocCall) position() schedule.Position {
	return schedule.Position{Rank: c.group.rank, Size: len(c.round.entries), Root: c.op.Desc.Root, Pairs: c.op.Desc.Pairs}
}

// bytesOf returns the length of the block that a member offers.
func (c *inprocCall) bytesOf(member int) int {
	if member == c.group.rank {
		return c.op.In[0].Len()
	}
	return c.round.entries[member].block(0).Len()
}

// step does one step other than a meeting.
func (c *inprocCall) step(st *schedule.Step) (err error) {
	defer comm.Recovered(c.op.Desc.Op, &err)
	if c.scratch.CombineRuns(st, c.run, c.op.Reduce) {
		return nil
	}
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

// run returns the bytes of a part, if that is a whole block of a few bytes in one run.
func (c *inprocCall) run(p *schedule.Part) ([]byte, bool) {
	if p.Parts != 0 {
		return nil, false
	}
	if p.Mem == schedule.MemIn {
		return c.round.entries[p.Member].run(p.Block)
	}
	if out := c.round.outs[p.Member]; out != nil {
		return out[p.Block].ShortRun()
	}
	return nil, false
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
