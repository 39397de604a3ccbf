package alike

import (
	"context"
	"encoding/binary"
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
	c := &call{log: s, op: op, entry: entryOf(op), group: m.group}
	j := m.job
	j.mu.Lock()
	defer j.mu.Unlock()
	c.n = s.made
	s.made++
	if c.n == len(s.calls) {
		c.entry.wave = j.wave
		s.calls = append(s.calls, c.entry)
		s.kind.moved()
	} else if was := s.calls[c.n]; !was.agrees(c.entry) || !was.same(c.entry) {
		j.fail(&UnlikeError{"a call of " + op.Desc.Op})
	}
	if j.failure != nil {
		return nil, ErrEnded
	}
	return c, nil
}

// entryOf returns the blocks and the contract of op.
func entryOf(op *comm.Op) *entry {
	e := &entry{desc: op.Desc, kind: op.Kind, meta: op.Meta, where: op.Where}
	if _, sizing := op.Kind.Sizing(schedule.Position{}); sizing && len(op.In) > 0 {
		e.first = op.In[0].Len()
	}
	if !op.Hollow {
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

// same reports whether e and o put in the same.
func (e *entry) same(o *entry) bool {
	return e == o || e.sum == o.sum && e.desc.Flags == o.desc.Flags && e.desc.FreeSize() == o.desc.FreeSize() && e.first == o.first &&
		slices.Equal(e.meta, o.meta) && slices.EqualFunc(e.data, o.data, slices.Equal[[]byte])
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
	entries, err := c.meet()
	if err != nil {
		return res, err
	}
	members := make([]comm.Member, c.group.Size())
	for i, rank := range c.group.Members() {
		e := entries(rank)
		res.Flags |= e.desc.Flags
		members[i] = comm.Member{Free: e.desc.FreeSize(), Meta: e.meta}
	}
	var out []comm.Block
	if c.op.Prepare != nil {
		defer comm.Recovered(c.op.Desc.Op, &err)
		if out, err = c.op.Prepare(members, res.Flags); err != nil {
			return res, err
		}
	}
	if !c.op.Hollow {
		if err := c.move(entries, out); err != nil {
			return res, err
		}
	}
	res.Block, res.Wire = c.wire(entries)
	return res, nil
}

// meet waits until every kind in the groups of the caller's has come to the call, and
// returns the entry of each member of the stand-in's group. Where the groups of the
// kind differ in that, they are told apart.
func (c *call) meet() (entries func(rank int) *entry, err error) {
	s := c.log
	for {
		a, err := c.come()
		if err != nil {
			return nil, err
		}
		if a.alike {
			return func(int) *entry { return c.entry }, nil
		}
		Ask(s.kind, func(rank int) string { return a.texts[s.lines.Index(rank)] })
		if list := c.still(a); list != nil {
			return func(rank int) *entry { return list[rank] }, nil
		}
	}
}

// An arrival is what kinds have put into a call to which every one has come.
type arrival struct {
	alike   bool             // whether all put in the same
	of      map[*Kind]*entry // unless they do
	texts   map[int]string   // likewise: of texts
	version int              // of the kinds
}

// come waits until every kind has come to the call.
func (c *call) come() (a arrival, err error) {
	j := c.log.kind.job
	j.mu.Lock()
	defer j.mu.Unlock()
	cohort, err := c.gather()
	if err == nil && j.failure != nil {
		err = ErrEnded // others go on already, so nobody knows any more where they were in the call
	}
	if err == nil {
		err = c.compare(cohort)
	}
	if err != nil {
		return a, err
	}
	differs := func(other *groupLog) bool { return !other.calls[c.n].same(c.entry) }
	if !slices.ContainsFunc(cohort, differs) {
		return arrival{alike: true}, nil
	}
	a = arrival{of: make(map[*Kind]*entry, len(cohort)), version: j.version}
	for _, other := range cohort {
		a.of[other.kind] = other.calls[c.n]
	}
	a.texts = c.texts(a.of)
	return a, nil
}

// still returns the entry of each member of the stand-in's group, nil if kinds have been told apart
// since they met.
func (c *call) still(a arrival) map[int]*entry {
	j := c.log.kind.job
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.version != a.version {
		return nil
	}
	list := make(map[int]*entry, c.group.Size())
	for _, rank := range c.group.Members() {
		list[rank] = a.of[j.of[rank]]
	}
	return list
}

// gather waits until every kind in the groups has come to the call. If none ever will unless some of
// the groups go on, their ranks are told apart. The caller holds mu.
func (c *call) gather() ([]*groupLog, error) {
	s, j := c.log, c.log.kind.job
	for {
		cohort, lacks := s.find()
		for _, other := range cohort {
			if len(other.calls) <= c.n {
				lacks = other.kind
				break
			}
		}
		if lacks == nil && c.waitsForWave() {
			lacks = s.kind
		}
		if lacks == nil {
			return cohort, nil
		}
		w := &waiting{function: c.op.Desc.Op, text: comm.CallText(&c.op.Desc, c.op.Kind) + comm.InGroup(c.group.String()), where: c.where, missing: []int{lacks.Rank()}, divided: func() bool { return len(c.whole()) > 0 }}
		if err := s.kind.wait(c.ctx, lacks, w); err != nil {
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
			other := s.kind.job.of[r].logOf(s, r)
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

// compare ends the job unless all calls agree. The caller holds mu.
func (c *call) compare(cohort []*groupLog) error {
	j := c.log.kind.job
	for _, other := range cohort {
		if c.entry.agrees(other.calls[c.n]) {
			continue
		}
		of := map[*Kind]*entry{}
		for _, o := range cohort {
			of[o.kind] = o.calls[c.n]
		}
		ranks := c.group.Members()
		if !slices.ContainsFunc(ranks, func(r int) bool { return j.of[r] == other.kind }) {
			continue // in another group of the kind, whose own members tell of it
		}
		calls := make([]comm.SignedCall, len(ranks))
		for i, r := range ranks {
			k := j.of[r]
			e := of[k]
			calls[i] = comm.SignedCall{Desc: e.desc, Kind: e.kind, Where: j.fabric.Endpoint(k.Rank()).SourceLine(e.where)}
		}
		err := comm.NewMismatch(c.group.String(), ranks, calls)
		j.fail(err)
		return err
	}
	return nil
}

// texts returns, for each list of the log's lines that holds a rank of the kind,
// the entries of its members. The caller holds mu.
func (c *call) texts(of map[*Kind]*entry) map[int]string {
	s, j := c.log, c.log.kind.job
	type numbered struct {
		*entry
		n uint64
	}
	distinct := make(map[uint64][]numbered) // by sum
	number, next := make(map[*Kind]uint64, len(of)), uint64(0)
	for k, e := range of {
		some := distinct[e.sum]
		i := slices.IndexFunc(some, func(o numbered) bool { return e.same(o.entry) })
		if i < 0 {
			i = len(some)
			some = append(some, numbered{e, next})
			distinct[e.sum], next = some, next+1
		}
		number[k] = some[i].n
	}
	texts := map[int]string{}
	for _, rank := range s.kind.members {
		n := s.lines.Index(int(rank))
		if _, ok := texts[n]; ok {
			continue
		}
		var b []byte
		for _, r := range s.lines.lists[n] {
			b = binary.AppendUvarint(b, number[j.of[r]])
		}
		texts[n] = string(b)
	}
	return texts
}

// place returns the place of the stand-in in the call.
func (c *call) place() schedule.Position {
	ranks := c.group.Members()
	return schedule.Position{Rank: slices.Index(ranks, c.group.Endpoint().Rank()), Size: len(ranks), Root: c.op.Desc.Root, Pairs: c.op.Desc.Pairs}
}

// wire returns the bytes of the block that is broadcast or reduced, and those that the
// stand-in would send.
func (c *call) wire(entries func(rank int) *entry) (block, wire int) {
	p := c.place()
	if from, ok := c.op.Kind.Sizing(p); ok {
		block = entries(c.group.Members()[from]).first
	}
	return block, schedule.WireBytes(c.op.Kind, p, c.op.In, block, c.op.Align)
}

// move copies the members' blocks to out, the blocks for the stand-in's results, as the
// direct schedule says. Sums are of shapes alone.
func (c *call) move(entries func(rank int) *entry, out []comm.Block) error {
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
			comm.Copy(out[st.Dst[0].Block], comm.Whole(entries(ranks[src.Member]).data[src.Block]))
		}
	}
	return nil
}
