package comm

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

const (
	// mostStaged is how many members a group may have that uses lanes.
	mostStaged = 32
	// ringCarries is how long data may be that go with a contract through
	// shared memory. Longer ones go through lanes.
	ringCarries = 8 << 10
)

// offer acquires a lane for what this member sends, if that is worth it. most is
// the length of its longest block.
func (c *messageCall) offer(most int) {
	l := c.line
	if !l.local || len(l.ranks) < 2 || len(l.ranks) > mostStaged {
		return
	}
	l.station.shared.try() // though it has nothing to send, others may
	if most <= ringCarries {
		return
	}
	if c.lane = l.station.shared.lanes.acquire(); c.lane != nil {
		c.openChannels()
	}
}

// sends reports whether this member offers blocks that others need.
func (c *messageCall) sends() bool {
	root := c.op.Desc.Root == c.line.rank
	switch c.op.Kind {
	case Barrier:
		return false
	case Broadcast, Scatter:
		return root
	case Gather:
		return !root
	case Permute:
		return slices.ContainsFunc(c.op.Desc.Pairs, func(p [2]int) bool { return p[0] == c.line.rank && p[1] != p[0] })
	}
	return true
}

// longest returns the length of the longest block that this member offers to
// others. For what is reduced every member comes to the same.
func (c *messageCall) longest() int {
	most := 0
	if c.sends() {
		for _, b := range c.op.In {
			most = max(most, b.Len())
		}
	}
	return most
}

// openChannels opens the channels of the lane for what this member sends.
func (c *messageCall) openChannels() {
	all := part{mem: memIn, member: c.line.rank}
	size := len(c.line.ranks)
	switch c.op.Kind {
	case Broadcast, AllGather:
		src := c.op.In[0].all()
		if c.lends(src, c.line.otherMembers()) {
			c.openSeveral(src.len(), c.line.otherMembers(), &src)
			return
		}
		c.openSeveral(src.len(), c.line.otherMembers(), nil)
		c.puts = append(c.puts, &putting{c.several, src})
	case Gather:
		c.openFor(c.op.Desc.Root, all)
	case Permute:
		for _, p := range c.op.Desc.Pairs {
			if p[0] == c.line.rank && p[1] != p[0] {
				c.openFor(p[1], all)
			}
		}
	case Scatter, AllToAll, ReduceScatter:
		for _, m := range c.line.otherMembers() {
			all.block = m
			c.openFor(m, all)
		}
	case AllReduce, Reduce:
		for _, m := range c.line.otherMembers() {
			c.openFor(m, all.chunk(m, size))
		}
		mine := chunkLen(c.op.In[0].Len(), c.op.Align, c.line.rank, size)
		if c.op.Kind == AllReduce {
			c.openSeveral(mine, c.line.otherMembers(), nil)
		} else if c.op.Desc.Root != c.line.rank {
			c.openSeveral(mine, []int{c.op.Desc.Root}, nil)
		}
	}
}

// openFor opens the channel for a member, and has a part put into it.
func (c *messageCall) openFor(member int, p part) {
	src := c.span(p)
	out := &laneOut{own: c.lane, channel: member, length: src.len()}
	out.read(c.line.place(member), false)
	if !c.reduces() && c.lends(src, []int{member}) {
		c.puts = append(c.puts, newLending(out, src))
		c.openChannel(out)
		return
	}
	c.openChannel(out)
	c.puts = append(c.puts, &putting{out, src})
}

// openSeveral opens the channel for several members, to which src is lent if it
// is not nil.
func (c *messageCall) openSeveral(length int, members []int, src *span) {
	c.several = &laneOut{own: c.lane, channel: c.line.rank, length: length}
	for _, m := range members {
		c.several.read(c.line.place(m), true)
	}
	if src != nil {
		c.puts = append(c.puts, newLending(c.several, *src))
	}
	c.openChannel(c.several)
}

func (c *messageCall) openChannel(o *laneOut) {
	o.open(c.op.Align, len(c.line.ranks))
	if m := c.line.station.meter; m != nil {
		m.memory.Add(int64(o.length))
	}
	c.outs = append(c.outs, o)
}

// place returns the place of a member in the segment.
func (l *wireLine) place(member int) int { return l.station.shared.places[l.ranks[member]] }

// otherMembers lists the group ranks of the others, as seat.others does.
func (l *wireLine) otherMembers() []int { return seat{rank: l.rank, size: len(l.ranks)}.others() }

// stages reports whether what a member sends goes through a lane.
func (c *messageCall) stages(member int) bool {
	if member == c.line.rank {
		return c.lane != nil
	}
	return c.call.contracts[c.line.ranks[member]].lane != 0
}

// staged reports whether lanes have a part in the call. What is reduced goes
// through lanes if every member has one.
func (c *messageCall) staged() bool {
	if !c.line.local {
		return false
	}
	staged := 0
	for m := range c.line.ranks {
		if c.stages(m) {
			staged++
		}
	}
	if c.reduces() {
		return staged == len(c.line.ranks)
	}
	return staged > 0
}

func (c *messageCall) reduces() bool {
	return c.op.Kind == AllReduce || c.op.Kind == Reduce || c.op.Kind == ReduceScatter
}

// moveStaged moves the data of a call in which lanes have a part.
func (c *messageCall) moveStaged() error {
	list, err := c.transfers()
	if err != nil {
		return err
	}
	if c.lane != nil {
		for _, o := range c.outs {
			o.owe()
		}
	} else if c.op.Kind != Broadcast {
		if err := c.moveUnstaged(doSend, func(step) bool { return true }); err != nil {
			return err
		}
	}
	if err := c.transferAll(list); err != nil {
		if slices.ContainsFunc(list, unfinished) && errors.As(err, new(*PanicError)) {
			c.line.station.giveUp(err)
		}
		return err
	}
	if c.reduces() || c.op.Kind == Broadcast {
		return nil
	}
	return c.moveUnstaged(doRecv, func(st step) bool { return !c.stages(st.peer) })
}

// moveUnstaged does those of the steps that are left which send, or receive, and
// are chosen.
func (c *messageCall) moveUnstaged(do action, chosen func(step) bool) error {
	steps := c.steps()
	if c.out == nil {
		steps = withoutOut(steps)
	}
	var left []step
	ahead := 0 // of those that are left
	for i, st := range steps {
		if i == c.ahead {
			ahead = len(left)
		}
		if st.do == do && chosen(st) {
			left = append(left, st)
		}
	}
	if len(steps) == c.ahead {
		ahead = len(left)
	}
	return c.move(left, ahead)
}

// transfers returns what is moved through lanes, and what the member copies.
func (c *messageCall) transfers() ([]transfer, error) {
	list := slices.Clone(c.puts)
	if c.reduces() {
		t, err := c.reduction()
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	} else if c.out != nil {
		list = c.appendCopies(list)
	}
	for _, m := range c.line.otherMembers() {
		if p, several, ok := c.takes(m); ok && c.stages(m) {
			in, err := c.openIn(m, several)
			if err != nil {
				return nil, err
			}
			t := &taking{laneIn: in, drop: c.out == nil}
			if !t.drop {
				t.dst = c.span(p)
				if t.dst.len() != t.length && !t.stale {
					return nil, c.reject(c.line.ranks[m], fmt.Errorf("%s: got %d bytes, want %d", c.op.Desc.Op, t.length, t.dst.len()))
				}
			}
			list = append(list, c.pulls(t, m))
		}
	}
	return list, nil
}

// appendCopies appends what the member copies of its own blocks.
func (c *messageCall) appendCopies(list []transfer) []transfer {
	for _, st := range c.steps() {
		if st.do == doCopy {
			list = append(list, &copying{dst: c.span(st.dst[0]), src: c.span(st.src[0]), piece: c.copyPiece()})
		}
	}
	return list
}

const (
	// shortPiece is how much is copied at a time where what is written finds room
	// in a cache.
	shortPiece = 256 << 10
	// longPiece is how much is copied at a time where it does not. From there on
	// copy writes past the caches.
	longPiece = 1 << 20
	// mostCached is how much may be written in a call for it to find room.
	mostCached = 32 << 20
)

// copyPiece returns how much the member copies at a time.
func (c *messageCall) copyPiece() int {
	written := 0
	for _, b := range c.out {
		written += b.Len()
	}
	if written*len(c.line.ranks) < mostCached {
		return shortPiece
	}
	return longPiece
}

// pulls returns what does the same as t, of what a member lends; t if that puts
// it into the channel.
func (c *messageCall) pulls(t *taking, member int) transfer {
	if t.lent.address == 0 || t.stale {
		return t
	}
	sl, rank := c.line.station.shared, c.line.ranks[member]
	lose := func(err error) {
		if !errors.Is(err, errNoProcess) { // of a death the supervisor tells
			c.line.station.lose(rank, fmt.Errorf("its memory cannot be read: %w", err))
		}
	}
	process := sl.segment.process(sl.places[rank])
	return &pulling{laneIn: t.laneIn, process: process, dst: t.dst, drop: t.drop, piece: c.copyPiece(), lose: lose}
}

// takes returns where this member takes what another sends, if it does, and
// whether it goes to several.
func (c *messageCall) takes(member int) (to part, several, ok bool) {
	s := seat{c.line.rank, len(c.line.ranks), c.op.Desc.Root, c.op.Desc.Pairs}
	switch c.op.Kind {
	case Broadcast:
		return s.out(0), true, member == s.root
	case AllGather:
		return s.out(member), true, true
	case Gather:
		return s.out(member), false, s.rank == s.root
	case Scatter:
		return s.out(0), false, member == s.root
	case AllToAll:
		return s.out(member), false, true
	case AllReduce:
		return s.out(0).chunk(member, s.size), true, true
	case Reduce:
		return s.out(0).chunk(member, s.size), true, s.rank == s.root
	case Permute:
		return s.out(0), false, slices.Contains(s.pairs, [2]int{member, s.rank})
	}
	return part{}, false, false
}

// openIn opens the channel from a member, which is rejected if what it says of it
// cannot be.
func (c *messageCall) openIn(member int, several bool) (laneIn, error) {
	sl, r := c.line.station.shared, c.line.ranks[member]
	k, place := &c.call.contracts[r], sl.places[r]
	if k.lane > lanesEach {
		return laneIn{}, c.reject(r, fmt.Errorf("%s: got lane %d, want 1..%d", c.op.Desc.Op, k.lane, lanesEach))
	}
	in := laneIn{
		lane:    sl.segment.lane(place, int(k.lane-1)),
		use:     k.use,
		channel: c.line.rank,
		place:   sl.places[c.line.station.rank],
		several: several,
		bell:    sl.segment.bell(place),
	}
	if several {
		in.channel = member
	}
	in.open(c.op.Align, len(c.line.ranks))
	if !in.stale && (in.length < 0 || in.lent.address != 0 && !in.lent.valid(in.length)) {
		return in, c.reject(r, fmt.Errorf("%s: got %d bytes at %+v, want what can be", c.op.Desc.Op, in.length, in.lent))
	}
	return in, nil
}

// reduction returns what reduces the part of the result that is this member's
// to make.
func (c *messageCall) reduction() (*reducing, error) {
	rank, size := c.line.rank, len(c.line.ranks)
	src, dst := part{mem: memIn, member: rank}, part{mem: memOut, member: rank}
	if c.op.Kind == ReduceScatter {
		src.block = rank
	} else {
		src, dst = src.chunk(rank, size), dst.chunk(rank, size)
	}
	t := &reducing{own: c.span(src), place: rank, out: c.several, reduce: c.op.Reduce, name: c.op.Desc.Op}
	if t.drop = c.out == nil || c.op.Kind == Reduce && c.op.Desc.Root != rank; !t.drop {
		t.dst = c.span(dst)
	}
	for m, r := range c.line.ranks {
		if m == rank {
			continue
		}
		in, err := c.openIn(m, false)
		if err != nil {
			return nil, err
		}
		if in.length != t.own.len() && !in.stale {
			return nil, c.reject(r, fmt.Errorf("%s: got %d bytes, want %d", c.op.Desc.Op, in.length, t.own.len()))
		}
		t.ins = append(t.ins, in)
	}
	t.length = t.own.len()
	plan := planChannel(laneBytes(c.line.station.shared.segment.size), rank, size, t.length, c.op.Align)
	t.piece, t.pieces = plan.piece, plan.pieces
	return t, nil
}

// transferAll moves all that is on the list, a piece of each at a time.
func (c *messageCall) transferAll(list []transfer) (err error) {
	defer recovered(c.op.Desc.Op, &err)
	for len(list) > 0 {
		moved := false
		for _, t := range list {
			if !t.over() && t.ready() {
				t.step()
				moved = true
			}
		}
		failed, needed := failedReduction(list)
		if needed {
			c.line.station.giveUp(failed)
			return failed
		}
		if err == nil {
			err = failed
		}
		list = slices.DeleteFunc(list, transfer.over)
		if !moved && len(list) > 0 {
			if err := c.awaitPiece(list); err != nil {
				return err
			}
		}
	}
	return err
}

// unfinished reports whether others still wait for t, or may. What was over has
// left the list, as nil.
func unfinished(t transfer) bool { return t != nil && !t.over() }

// failedReduction returns the error of a reduction on the list that has failed,
// and whether others need its result.
func failedReduction(list []transfer) (err error, needed bool) {
	for _, t := range list {
		if r, ok := t.(*reducing); ok && r.err != nil {
			return r.err, r.out != nil
		}
	}
	return nil, false
}

// awaitPiece waits until a transfer is ready. It fails if a member is lost.
func (c *messageCall) awaitPiece(list []transfer) error {
	ready := func() bool {
		return slices.ContainsFunc(list, func(t transfer) bool { return t.ready() })
	}
	sl := c.line.station.shared
	for i := range sl.patience.spins + sl.patience.yields {
		if ready() {
			return nil
		}
		sl.patience.pause(i)
	}
	w := c.waitFor(ready)
	w.piece = true
	return c.line.station.await(context.Background(), w)
}
