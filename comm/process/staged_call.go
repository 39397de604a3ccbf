package process

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tpsh/comm"
	"tpsh/comm/schedule"
)

const (
	// mostStaged is how many members a group may have that uses staging buffers.
	mostStaged = 32
	// ringCarries is how long data may be that go with a contract through
	// shared memory. Longer ones go through staging buffers.
	ringCarries = 8 << 10
)

// acquireStaging acquires a staging buffer for what this member sends, if that is worth it. most is
// the length of its longest block.
func (c *wireCall) acquireStaging(most int) {
	g := c.group
	if !g.local || len(g.ranks) < 2 || len(g.ranks) > mostStaged {
		return
	}
	g.wireRank.shared.try() // though it has nothing to send, others may
	if most <= ringCarries {
		return
	}
	if c.staging = g.wireRank.shared.staging.acquire(); c.staging != nil {
		c.openSlots()
	}
}

// longest returns the length of the longest block that this member offers to
// others. For what is reduced every member comes to the same.
func (c *wireCall) longest() int {
	most := 0
	if c.op.Kind.Offers(c.position()) {
		for _, b := range c.op.In {
			most = max(most, b.Len())
		}
	}
	return most
}

// position returns the member's in the call.
func (c *wireCall) position() schedule.Position {
	return schedule.Position{Rank: c.group.rank, Size: len(c.group.ranks), Root: c.op.Desc.Root, Pairs: c.op.Desc.Pairs}
}

// exchange returns what members read of each other in the call.
func (c *wireCall) exchange() *schedule.Exchange {
	return c.group.scheduler.Exchange(c.op.Kind, c.op.Desc.Root, c.op.Desc.Pairs)
}

// openSlots opens the slots of the staging buffer for what others read of this
// member.
func (c *wireCall) openSlots() {
	x := c.exchange()
	for i := range x.Out {
		o := &x.Out[i]
		if o.Result {
			c.result = c.newStagingWriter(o, c.span(c.ownPart(x.Reduce.Src)).Len())
			c.openSlot(c.result)
			continue
		}
		src := c.span(o.Part)
		w := c.newStagingWriter(o, src.Len())
		if !c.op.Kind.Reduces() && c.canExpose(src, o.To, len(x.In) > 0) {
			c.outgoing = append(c.outgoing, newExposing(w, src))
		} else {
			c.outgoing = append(c.outgoing, &copyIn{w, src})
		}
		c.openSlot(w)
	}
}

// ownPart returns the part that is this member's of those of all.
func (c *wireCall) ownPart(parts []schedule.Part) schedule.Part {
	return parts[slices.IndexFunc(parts, c.isOwn)]
}

// isOwn reports whether a part is of this member's blocks.
func (c *wireCall) isOwn(p schedule.Part) bool { return p.Member == c.group.rank }

// newStagingWriter returns a writer of so many bytes for those who read o: to the
// slot of the one reader, or to this member's own for several.
func (c *wireCall) newStagingWriter(o *schedule.Outgoing, length int) *stagingWriter {
	w := &stagingWriter{own: c.staging, slot: o.To[0], length: length}
	if o.Shared() {
		w.slot = c.group.rank
	}
	for _, m := range o.To {
		w.addReader(c.group.segmentIndex(m), o.Shared())
	}
	return w
}

func (c *wireCall) openSlot(o *stagingWriter) {
	o.open(c.op.Align, len(c.group.ranks))
	if m := c.group.wireRank.meter; m != nil {
		m.memory.Add(int64(o.length))
	}
	c.writers = append(c.writers, o)
}

// segmentIndex returns the index of a member in the segment.
func (g *wireGroup) segmentIndex(member int) int { return g.wireRank.shared.indexes[g.ranks[member]] }

// stages reports whether what a member sends goes through a staging buffer.
func (c *wireCall) stages(member int) bool {
	if member == c.group.rank {
		return c.staging != nil
	}
	return c.call.contracts[c.group.ranks[member]].Staging != 0
}

// staged reports whether staging buffers have a part in the call. What is reduced goes
// through staging buffers if every member has one.
func (c *wireCall) staged() bool {
	if !c.group.local {
		return false
	}
	staged := 0
	for m := range c.group.ranks {
		if c.stages(m) {
			staged++
		}
	}
	if c.op.Kind.Reduces() {
		return staged == len(c.group.ranks)
	}
	return staged > 0
}

// moveStaged moves the data of a call in which staging buffers have a part.
func (c *wireCall) moveStaged() error {
	list, err := c.transfers()
	if err != nil {
		return err
	}
	if c.staging != nil {
		for _, o := range c.writers {
			o.markPending()
		}
	} else if !c.op.Kind.FromRoot() {
		if err := c.moveUnstaged(schedule.DoSend, func(schedule.Step) bool { return true }); err != nil {
			return err
		}
	}
	if err := c.transferAll(list); err != nil {
		if slices.ContainsFunc(list, unfinished) && errors.As(err, new(*comm.PanicError)) {
			c.group.wireRank.giveUp(err)
		}
		return err
	}
	if c.op.Kind.Reduces() || c.op.Kind.FromRoot() { // all goes through staging buffers, or nothing
		return nil
	}
	return c.moveUnstaged(schedule.DoRecv, func(st schedule.Step) bool { return !c.stages(st.Peer) })
}

// moveUnstaged does those of the steps that are left which send, or receive, and
// are chosen.
func (c *wireCall) moveUnstaged(do schedule.Action, chosen func(schedule.Step) bool) error {
	steps := c.steps()
	if c.out == nil {
		steps = schedule.WithoutOut(steps)
	}
	var left []schedule.Step
	ahead := 0 // of those that are left
	for i, st := range steps {
		if i == c.ahead {
			ahead = len(left)
		}
		if st.Do == do && chosen(st) {
			left = append(left, st)
		}
	}
	if len(steps) == c.ahead {
		ahead = len(left)
	}
	return c.move(left, ahead)
}

// transfers returns what is moved through staging buffers, and what the member
// copies.
func (c *wireCall) transfers() ([]transfer, error) {
	x, list := c.exchange(), slices.Clone(c.outgoing)
	if x.Reduce != nil {
		t, err := c.newReduction(x.Reduce)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	} else if c.out != nil {
		list = c.appendCopies(list)
	}
	for _, in := range x.In {
		if !c.stages(in.From) {
			continue
		}
		t, err := c.newCopyOut(in)
		if err != nil {
			return nil, err
		}
		list = append(list, c.crossRead(t, in.From))
	}
	return list, nil
}

// newCopyOut returns what takes in what is read of another member.
func (c *wireCall) newCopyOut(in schedule.Incoming) (*copyOut, error) {
	r, err := c.openReader(in.From, in.Shared)
	if err != nil {
		return nil, err
	}
	t := &copyOut{stagingReader: r, drop: c.out == nil}
	if !t.drop {
		t.dst = c.span(in.Part)
		if t.dst.Len() != t.length && !t.stale {
			return nil, c.reject(c.group.ranks[in.From], fmt.Errorf("%s: got %d bytes, want %d", c.op.Desc.Op, t.length, t.dst.Len()))
		}
	}
	return t, nil
}

// appendCopies appends what the member copies of its own blocks.
func (c *wireCall) appendCopies(list []transfer) []transfer {
	for _, st := range c.steps() {
		if st.Do == schedule.DoCopy {
			list = append(list, &localCopy{dst: c.span(st.Dst[0]), src: c.span(st.Src[0]), piece: c.copyPiece()})
		}
	}
	return list
}

const (
	// shortPiece is how much is copied at a time where what is written finds room
	// in a cache.
	shortPiece = 256 << 10
	// mostCached is how much may be written in a call for it to find room.
	mostCached = 32 << 20
)

// copyPiece returns how much the member copies at a time.
func (c *wireCall) copyPiece() int {
	written := 0
	for _, b := range c.out {
		written += b.Len()
	}
	if written*len(c.group.ranks) < mostCached {
		return shortPiece
	}
	return longPiece
}

// crossRead returns what does the same as t, of what a member exposes; t if that puts
// it into the slot.
func (c *wireCall) crossRead(t *copyOut, member int) transfer {
	if t.exposed.address == 0 || t.stale {
		return t
	}
	sl, rank := c.group.wireRank.shared, c.group.ranks[member]
	lose := func(err error) {
		if !errors.Is(err, errNoProcess) { // of a death the supervisor tells
			c.group.wireRank.lose(rank, fmt.Errorf("its memory cannot be read: %w", err))
		}
	}
	process := sl.segment.process(sl.indexes[rank])
	return &crossReading{stagingReader: t.stagingReader, process: process, dst: t.dst, drop: t.drop, piece: c.copyPiece(), lose: lose}
}

// openReader opens the slot from a member, which is rejected if what it says of it
// cannot be.
func (c *wireCall) openReader(member int, several bool) (stagingReader, error) {
	sl, r := c.group.wireRank.shared, c.group.ranks[member]
	k, index := &c.call.contracts[r], sl.indexes[r]
	if k.Staging > stagingEach {
		return stagingReader{}, c.reject(r, fmt.Errorf("%s: got lane %d, want 1..%d", c.op.Desc.Op, k.Staging, stagingEach))
	}
	in := stagingReader{
		buffer:  sl.segment.stagingBuffer(index, int(k.Staging-1)),
		use:     k.Use,
		slot:    c.group.rank,
		index:   sl.indexes[c.group.wireRank.rank],
		several: several,
		futex:   sl.segment.futex(index),
	}
	if several {
		in.slot = member
	}
	in.open(c.op.Align, len(c.group.ranks))
	if !in.stale && (in.length < 0 || in.exposed.address != 0 && !in.exposed.valid(in.length)) {
		return in, c.reject(r, fmt.Errorf("%s: got %d bytes at %+v, want what can be", c.op.Desc.Op, in.length, in.exposed))
	}
	return in, nil
}

// newReduction returns what does a step that reduces, of parts of all members.
func (c *wireCall) newReduction(step *schedule.Step) (*reduction, error) {
	rank, size := c.group.rank, len(c.group.ranks)
	t := &reduction{own: c.span(c.ownPart(step.Src)), index: rank, out: c.result, reduce: c.op.Reduce, name: c.op.Desc.Op}
	if t.drop = c.out == nil || !slices.ContainsFunc(step.Dst, c.isOwn); !t.drop {
		t.dst = c.span(c.ownPart(step.Dst))
	}
	for m, r := range c.group.ranks {
		if m == rank {
			continue
		}
		in, err := c.openReader(m, false)
		if err != nil {
			return nil, err
		}
		if in.length != t.own.Len() && !in.stale {
			return nil, c.reject(r, fmt.Errorf("%s: got %d bytes, want %d", c.op.Desc.Op, in.length, t.own.Len()))
		}
		t.ins = append(t.ins, in)
	}
	t.length = t.own.Len()
	plan := planSlot(stagingBytes(c.group.wireRank.shared.segment.Size()), rank, size, t.length, c.op.Align)
	t.piece, t.pieces = plan.piece, plan.pieces
	return t, nil
}

// transferAll moves all that is on the list, a piece of each at a time.
func (c *wireCall) transferAll(list []transfer) (err error) {
	defer comm.Recovered(c.op.Desc.Op, &err)
	for len(list) > 0 {
		moved := false
		for _, t := range list {
			if !t.IsDone() && t.CanStep() {
				t.Step()
				moved = true
			}
		}
		failed, needed := failedReduction(list)
		if needed {
			c.group.wireRank.giveUp(failed)
			return failed
		}
		if err == nil {
			err = failed
		}
		list = slices.DeleteFunc(list, transfer.IsDone)
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
func unfinished(t transfer) bool { return t != nil && !t.IsDone() }

// failedReduction returns the error of a reduction on the list that has failed,
// and whether others need its result.
func failedReduction(list []transfer) (err error, needed bool) {
	for _, t := range list {
		if r, ok := t.(*reduction); ok && r.err != nil {
			return r.err, r.out != nil
		}
	}
	return nil, false
}

// awaitPiece waits until a transfer is ready. It fails if a member is lost.
func (c *wireCall) awaitPiece(list []transfer) error {
	ready := func() bool {
		return slices.ContainsFunc(list, func(t transfer) bool { return t.CanStep() })
	}
	sl := c.group.wireRank.shared
	for i := range sl.spin.spins + sl.spin.yields {
		if ready() {
			return nil
		}
		sl.spin.pause(i)
	}
	w := c.conditionWait(ready)
	w.piece = true
	return c.group.wireRank.waitUntilOver(context.Background(), w)
}
