package comm

import (
	"runtime/debug"
	"slices"
)

// finish carries the call of meeting m on from where every member has arrived:
// it compares the calls, prepares the blocks for the results if the caller is
// there to have them, and moves the data.
func (a *attendee) finish(m *meeting, op *Op, s *scratch, present bool) (Result, error) {
	flags, inline, same := m.compare(op)
	if !same {
		m.wake()
		return Result{}, a.mismatch(m)
	}
	c := &directCall{attendee: a, meeting: m, op: op, inline: inline, scratch: s}
	err := c.carryOut(flags, present)
	return Result{flags, a.wire(m, op)}, err
}

// carryOut makes the member's result, if it is there to have it, and does its part
// of those of the others.
func (c *directCall) carryOut(flags Flags, present bool) (err error) {
	total := c.meeting.commonBytes(c.op)
	if total == 0 || total >= aloneBytes {
		c.meeting.wake()
	}
	if total > 0 {
		if shared, err := c.share(total, flags, present); shared {
			return err
		}
		c.meeting.wake()
	}
	if present {
		err = c.prepare(flags)
	}
	if moved := c.move(); err == nil {
		err = moved
	}
	return err
}

// compare reports whether every call of the meeting agrees with op, and if so
// returns the OR of their flags, and whether no member's blocks need to stay.
func (m *meeting) compare(op *Op) (flags Flags, inline, same bool) {
	inline = true
	for i := range m.entries {
		e := &m.entries[i]
		other := e.op.Load()
		if other != op && !(agree(&other.Desc, &op.Desc) && other.Kind == op.Kind) {
			return 0, false, false
		}
		flags |= other.Desc.Flags
		inline = inline && e.copied()
	}
	return flags, inline, true
}

// mismatch returns the report on calls that do not agree. It returns when
// every member has it, since their lines are told while they are in the call.
func (a *attendee) mismatch(m *meeting) error {
	mo := a.room.transport.monitor
	mo.mu.Lock()
	if m.mismatch == nil {
		calls := make([]signed, len(m.entries))
		for i := range calls {
			op := m.entries[i].op.Load()
			calls[i] = signed{op.Desc, op.Kind, a.room.attendees[i].endpoint.place(op.Where)}
		}
		m.mismatch = mismatch(a.room.name, a.room.ranks, calls)
	}
	mo.mu.Unlock()
	m.done.enter(m.size())
	m.done.pass(m.size(), a.room.transport.patience)
	return m.mismatch
}

// A directCall is a member's part in moving the data of a meeting.
type directCall struct {
	attendee *attendee
	meeting  *meeting
	op       *Op
	inline   bool // whether all that is read is in the entries
	scratch  *scratch
}

// scratch is memory that calls use one after another.
type scratch struct {
	dst, src []span
	runs     [][]byte
}

// clear lets go of what is in s.
func (s *scratch) clear() {
	clear(s.dst)
	clear(s.src)
	clear(s.runs)
	s.dst, s.src, s.runs = s.dst[:0], s.src[:0], s.runs[:0]
}

// reduceRuns reduces src to dst[0] as reduceSpans does, if they are short and each
// is a run. It reports false if they are not, and has done nothing.
func (s *scratch) reduceRuns(reduce Reducer, align int) bool {
	n := s.dst[0].len()
	if n == 0 || n > pieceBytes || len(s.dst[0].run(0)) < n {
		return false
	}
	checkReduce(n, s.dst, s.src, align)
	for _, src := range s.src {
		run := src.run(0)
		if len(run) < n {
			return false
		}
		s.runs = append(s.runs, run)
	}
	reduce(s.dst[0].run(0), s.runs)
	return true
}

// prepare sets the blocks for this member's results.
func (c *directCall) prepare(flags Flags) (err error) {
	if c.op.Prepare == nil {
		return nil
	}
	defer recovered(c.op.Desc.Op, &err)
	out, err := c.op.Prepare(c.meeting.members, flags)
	if err == nil {
		c.meeting.outs[c.attendee.rank] = out
	}
	return err
}

// recovered makes an error of a panic.
func recovered(function string, err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{function, v, debug.Stack()}
	}
}

// move does the steps of the schedule. Meetings are kept whatever happens
// between them, for the sake of the others.
func (c *directCall) move() error {
	if c.inline && c.op.Kind == AllReduce {
		return c.reduceInline()
	}
	steps := c.steps()
	var failed error
	for i, st := range steps {
		switch {
		case st.do == doMeet && i == len(steps)-1:
			if err := c.part(); failed == nil {
				failed = err
			}
		case st.do == doMeet:
			c.meet(&c.meeting.ready)
		case failed == nil:
			failed = c.step(st)
			c.own(st, failed)
		}
	}
	return failed
}

// meet waits until every member has come to a gate.
func (c *directCall) meet(g *gate) {
	g.enter(c.meeting.size())
	g.pass(c.meeting.size(), c.attendee.room.transport.patience)
}

// own owns up to an error in a step whose result others need too.
func (c *directCall) own(st step, err error) {
	rank := c.attendee.rank
	if err != nil && slices.ContainsFunc(st.dst, func(p part) bool { return p.member != rank }) {
		c.meeting.broken.CompareAndSwap(nil, &PeerError{c.op.Desc.Op, c.attendee.endpoint.rank, err})
	}
}

// part is the last meeting. It returns when nobody needs this member's blocks
// any more, with an error if another has failed to do its part.
func (c *directCall) part() error {
	m := c.meeting
	switch {
	case c.inline: // what there is to read is in the entries
	case m.entries[c.attendee.rank].copied():
		m.done.enter(m.size())
	default:
		c.meet(&m.done)
		if broken := m.broken.Load(); broken != nil {
			return broken
		}
	}
	return nil
}

// steps returns this member's direct schedule.
func (c *directCall) steps() []step {
	return c.attendee.scheduler.direct(c.op.Kind, c.op.Desc.Root, c.op.Desc.Pairs, c.meeting.bytes(c.op))
}

// bytes returns the length of the block that op broadcasts or reduces, 0 where
// there is none.
func (m *meeting) bytes(op *Op) int {
	switch op.Kind {
	case Broadcast:
		return m.entries[op.Desc.Root].block(0).Len()
	case AllReduce, Reduce:
		return op.In[0].Len()
	}
	return 0
}

// wire returns the bytes that this member would send.
func (a *attendee) wire(m *meeting, op *Op) int {
	s := seat{a.rank, len(m.entries), op.Desc.Root, op.Desc.Pairs}
	return wireBytes(op.Kind, s, op.In, m.bytes(op), op.Align)
}

// step does one step other than a meeting.
func (c *directCall) step(st step) (err error) {
	defer recovered(c.op.Desc.Op, &err)
	c.scratch.dst = c.spans(c.scratch.dst[:0], st.dst)
	c.scratch.src = c.spans(c.scratch.src[:0], st.src)
	dst, src := c.scratch.dst, c.scratch.src
	defer func() { // so that nothing stays in memory for it
		clear(dst)
		clear(src)
	}()
	if len(dst) == 0 {
		return nil
	}
	if st.do == doCopy {
		copySpan(dst[0], src[0])
		return nil
	}
	reduceSpans(dst, src, c.op.Reduce, c.op.Align)
	return nil
}

// spans appends the parts that are there: those of a member that has no blocks
// for results are not.
func (c *directCall) spans(list []span, parts []part) []span {
	for _, p := range parts {
		if p.mem == memIn {
			list = append(list, p.span(c.meeting.entries[p.member].block(p.block), c.op.Align))
		} else if out := c.meeting.outs[p.member]; out != nil {
			list = append(list, p.span(out[p.block], c.op.Align))
		}
	}
	return list
}

// reduceInline is the schedule of a small AllReduce: every member reduces what
// is in the entries.
func (c *directCall) reduceInline() (err error) {
	entries := c.meeting.entries
	out := c.meeting.outs[c.attendee.rank]
	if out == nil {
		return nil
	}
	defer recovered(c.op.Desc.Op, &err)
	srcs := c.scratch.runs[:0]
	for i := range entries {
		srcs = append(srcs, entries[i].block(0).Data)
	}
	c.scratch.runs = srcs
	defer clear(srcs) // so that no meeting stays in memory for it
	if out[0].contiguous() {
		c.op.Reduce(out[0].Data[:len(srcs[0])], srcs)
		return nil
	}
	var sum [inlineBytes]byte
	c.op.Reduce(sum[:len(srcs[0])], srcs)
	Copy(out[0], Whole(sum[:len(srcs[0])]))
	return nil
}
