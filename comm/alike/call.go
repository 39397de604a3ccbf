package alike

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"

	"tpsh/comm"
	"tpsh/comm/schedule"
)

// A call is one collective of a stand-in.
type call struct {
	log   *groupLog
	n     int // its number
	op    *comm.Op
	entry *entry
	group *comm.Group
	ctx   context.Context

	over   bool
	result comm.Result
	err    error
}

// begin notes the call.
func (m *member) begin(op *comm.Op) (*call, error) {
	s := m.bound()
	c := &call{log: s, op: op, entry: entryOf(op, s.kind.members), group: m.group}
	j := m.job
	j.mu.Lock()
	defer j.mu.Unlock()
	c.n = s.made
	s.made++
	if c.n == len(s.calls) {
		c.entry.wave = j.wave
		s.calls = append(s.calls, c.entry)
		s.kind.moved()
	} else if was := s.calls[c.n]; !was.agrees(c.entry) || !s.repeats(c.entry, was) {
		j.fail(&UnlikeError{"a call of " + op.Desc.Op})
	}
	if j.failure != nil {
		return nil, ErrEnded
	}
	return c, nil
}

// entryOf returns the blocks and the contract of op, which is called for ranks.
func entryOf(op *comm.Op, ranks []int32) *entry {
	e := &entry{desc: op.Desc, kind: op.Kind, meta: op.Meta, where: op.Where}
	if _, sizing := op.Kind.Sizing(schedule.Position{}); sizing && len(op.In) > 0 {
		e.first = op.In[0].Len()
	}
	if op.InOf != nil {
		e.each = map[int][][]byte{}
		for _, rank := range ranks {
			if blocks := op.InOf(int(rank)); blocks != nil {
				e.each[int(rank)] = blocks
			}
		}
	} else if !op.Hollow {
		for _, b := range op.In {
			data := make([]byte, b.Len())
			comm.Copy(comm.Whole(data), b)
			e.data = append(e.data, data)
		}
	}
	var h maphash.Hash
	h.SetSeed(seed)
	h.Write(e.meta)
	for _, b := range e.data {
		h.Write(b)
	}
	e.sum = h.Sum64()
	return e
}

// seed is that of the sums of entries.
var seed = maphash.MakeSeed()

// agrees reports whether two members that put in e and o call the same.
func (e *entry) agrees(o *entry) bool { return e.kind == o.kind && comm.Agree(&e.desc, &o.desc) }

// same reports whether e and o put in the same, whichever rank it is of their kinds.
func (e *entry) same(o *entry) bool {
	return e == o || e.each == nil && o.each == nil && e.sum == o.sum && e.like(o) && slices.EqualFunc(e.data, o.data, slices.Equal[[]byte])
}

// like reports whether e and o put in the same but for the bytes.
func (e *entry) like(o *entry) bool {
	return e.desc.Flags == o.desc.Flags && e.desc.FreeSize() == o.desc.FreeSize() && e.first == o.first && slices.Equal(e.meta, o.meta)
}

// repeats reports whether the kind puts in the same by e as by o, by which it was told apart from others. Where the root alone
// puts anything in, what others offer does not count.
func (s *groupLog) repeats(e, o *entry) bool {
	counts := s.kind.members
	if e.kind.Rooted() && e.kind.RootName() == "src" {
		counts = slices.DeleteFunc(slices.Clone(counts), func(rank int32) bool { return s.lines.Place(int(rank)) != e.desc.Root })
	}
	switch {
	case len(counts) == 0:
		return e.desc.Flags == o.desc.Flags && e.desc.FreeSize() == o.desc.FreeSize()
	case e.each == nil && o.each == nil:
		return e.same(o)
	}
	return e.like(o) && !slices.ContainsFunc(counts, func(rank int32) bool {
		return !slices.EqualFunc(e.blocks(int(rank)), o.blocks(int(rank)), slices.Equal[[]byte])
	})
}

// Run implements comm.GroupTransport.
func (m *member) Run(ctx context.Context, op *comm.Op) (comm.Result, error) {
	c, err := m.begin(op)
	if err != nil {
		return comm.Result{}, err
	}
	return c.Wait(ctx)
}

// Issue implements comm.GroupTransport. The call ends when it is waited for.
func (m *member) Issue(op *comm.Op) comm.Work {
	c, err := m.begin(op)
	if err != nil {
		return &call{over: true, err: err}
	}
	return c
}

// Done implements comm.Work: of calls that are issued nobody knows when they end.
func (c *call) Done() bool { return true }

// Wait implements comm.Work.
func (c *call) Wait(ctx context.Context) (comm.Result, error) {
	if !c.over {
		c.ctx = ctx
		c.result, c.err = c.complete()
		c.over = true
	}
	return c.result, c.err
}

// complete waits for all members, and makes the result.
func (c *call) complete() (res comm.Result, err error) {
	seats, err := c.meet()
	if err != nil {
		return res, err
	}
	res.Flags = seats.flags
	var out []comm.Block
	if c.op.Prepare != nil {
		defer comm.Recovered(c.op.Desc.Op, &err)
		if out, err = c.op.Prepare(seats.members, res.Flags); err != nil {
			return res, err
		}
	}
	if !c.op.Hollow {
		if err := c.move(&seats, out); err != nil {
			return res, err
		}
	}
	res.Block, res.Wire = c.wire(&seats)
	return res, nil
}

// meet waits until every kind in the groups of the caller's has come to the call, and
// returns the entries of the members of the stand-in's group. Where the groups of the
// kind differ in these, they are told apart.
func (c *call) meet() (seating, error) {
	s, j := c.log, c.log.kind.job
	m, err := c.gather()
	if err != nil {
		return seating{}, err
	}
	if !m.alike {
		Ask(s.kind, func(rank int) string { return m.texts[s.lines.Index(rank)] })
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return *m.seat(s.lines.Index(s.kind.Rank())), nil
}

// gather waits until every kind in the groups has come to the call. If none ever will unless some of
// the groups go on, their ranks are told apart.
func (c *call) gather() (*round, error) {
	s, j := c.log, c.log.kind.job
	j.mu.Lock()
	defer j.mu.Unlock()
	for {
		m := s.assemble().round(c.n)
		lacks := m.lacking()
		if lacks == nil && !c.waitsForWave() {
			if j.failure != nil { // others go on already, so nobody knows any more where they were in the call
				return nil, ErrEnded
			}
			return m, c.compare(m)
		}
		if lacks == nil {
			s.kind.watchers = append(s.kind.watchers, s.kind.resume)
		} else {
			m.waiters = append(m.waiters, s.kind)
			if !m.watches {
				m.watch()
			}
		}
		w := &waiting{function: c.op.Desc.Op, text: comm.CallText(&c.op.Desc, c.op.Kind) + comm.InGroup(c.group.String()), where: c.where,
			missing: func() int {
				if lacks := m.lacking(); lacks != nil {
					return lacks.Rank()
				}
				return s.kind.Rank()
			},
			divided: func() bool { return len(c.whole()) > 0 }}
		if err := s.kind.wait(c.ctx, w); err != nil {
			return nil, err
		}
		if w.divides {
			whole := c.whole()
			j.mu.Unlock()
			Ask(s.kind, func(rank int) bool { return whole[s.lines.Index(rank)] })
			j.mu.Lock()
		}
	}
}

// whole returns the lists of the log's lines of which all ranks have come to the call. The caller
// holds mu.
func (c *call) whole() map[int]bool {
	s, lists := c.log, map[int]bool{}
	for _, rank := range s.kind.members {
		n := s.lines.Index(int(rank))
		if _, known := lists[n]; known {
			continue
		}
		lists[n] = !c.crossed(n) && !slices.ContainsFunc(s.lines.lists[n], func(r int) bool {
			other := s.kind.job.of[r].logOf(s.logKey, r)
			return other == nil || len(other.calls) <= c.n
		})
	}
	maps.DeleteFunc(lists, func(_ int, whole bool) bool { return !whole })
	return lists
}

// crossed reports whether a wave under way comes to the ranks of list n at different times, and the call
// was made in it. The caller holds mu.
func (c *call) crossed(n int) bool {
	s := c.log
	w := s.kind.job.wave
	return w != nil && s.calls[c.n].wave == w && w.crosses(s.lines.lists[n])
}

// waitsForWave reports whether any list of the kind's ranks is crossed. The caller holds mu.
func (c *call) waitsForWave() bool {
	s := c.log
	return s.kind.job.wave != nil && slices.ContainsFunc(s.kind.members, func(r int32) bool { return c.crossed(s.lines.Index(int(r))) })
}

func (c *call) where() string { return c.group.Endpoint().SourceLine(c.op.Where) }

// compare ends the job unless all calls agree that members of a group of the caller's have made. The caller holds mu.
func (c *call) compare(m *round) error {
	if m.agreed {
		return nil
	}
	j, ranks := c.log.kind.job, c.group.Members()
	calls, agreed := make([]comm.SignedCall, len(ranks)), true
	for i, r := range ranks {
		k := j.of[r]
		e := k.logOf(m.logKey, r).calls[c.n]
		calls[i] = comm.SignedCall{Desc: e.desc, Kind: e.kind, Where: j.fabric.Endpoint(k.Rank()).SourceLine(e.where)}
		agreed = agreed && e.agrees(c.entry)
	}
	if agreed { // in another group of the kind, whose own members tell of it
		return nil
	}
	err := comm.NewMismatch(c.group.String(), ranks, calls)
	j.fail(err)
	return err
}

// place returns the place of the stand-in in the call.
func (c *call) place() schedule.Position {
	return schedule.Position{Rank: c.group.Place(), Size: c.group.Size(), Root: c.op.Desc.Root, Pairs: c.op.Desc.Pairs}
}

// wire returns the bytes of the block that is broadcast or reduced, and those that the
// stand-in would send.
func (c *call) wire(seats *seating) (block, wire int) {
	p := c.place()
	if from, ok := c.op.Kind.Sizing(p); ok {
		block = seats.at(from).first
	}
	return block, schedule.WireBytes(c.op.Kind, p, c.op.In, block, c.op.Align)
}

// move copies the members' blocks to out, the blocks for the stand-in's results, as the
// direct schedule says. Sums are of shapes alone.
func (c *call) move(seats *seating, out []comm.Block) error {
	switch {
	case len(out) == 0:
		return nil
	case c.op.Kind.Reduces():
		return noHollow(c.op)
	}
	ranks, p := c.group.Members(), c.place()
	if !c.op.Kind.Alike() {
		p.Rank = c.group.Rank() // on which the result depends: an observation
	}
	scheduler := schedule.Scheduler{Rank: p.Rank, Size: p.Size}
	for _, st := range scheduler.Direct(c.op.Kind, p.Root, p.Pairs, 0) {
		if st.Do == schedule.DoCopy {
			src := st.Src[0]
			comm.Copy(out[st.Dst[0].Block], comm.Whole(seats.at(src.Member).blocks(ranks[src.Member])[src.Block]))
		}
	}
	return nil
}
