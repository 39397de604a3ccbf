package process

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tpsh/comm"
	"tpsh/comm/process/shm"
	"tpsh/comm/process/spin"
	"tpsh/comm/schedule"
)

const (
	// mostStaged is how many members a group may have that uses staging buffers.
	mostStaged = 32
	// ringCarries is how long data may be that go with a contract through
	// shared memory. Longer ones go through staging buffers.
	ringCarries = 8 << 10
)

// acquireStaging acquires a staging buffer for the data that this member sends, if there is one
// for it.
func (c *wireCall) acquireStaging() {
	g := c.group
	if len(g.ranks) < 2 || len(g.ranks) > mostStaged || !c.exchange().Passable {
		return
	}
	if c.staging = g.wireRank.shared.staging.Acquire(); c.staging != nil {
		c.openSlots()
	}
}

// exchange returns the parts that members read of each other in the call.
func (c *wireCall) exchange() *schedule.Exchange {
	if c.passed == nil {
		c.passed = c.group.scheduler.Exchange(c.op.Kind, c.op.Desc.Root, c.op.Desc.Pairs)
	}
	return c.passed
}

// openSlots opens the slots of the staging buffer for the parts that others read of this
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
			c.outgoing = append(c.outgoing, shm.NewExposing(w, src))
		} else {
			c.outgoing = append(c.outgoing, &shm.CopyIn{StagingWriter: w, Src: src})
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

// newStagingWriter returns a writer of so many bytes for the members that read o: to the
// slot of the one reader, or to this member's own for several.
func (c *wireCall) newStagingWriter(o *schedule.Outgoing, length int) *shm.StagingWriter {
	w := &shm.StagingWriter{Own: c.staging, Slot: o.To[0], Length: length}
	if o.Shared() {
		w.Slot = c.group.rank
	}
	for _, m := range o.To {
		w.AddReader(c.group.segmentIndex(m), o.Shared())
	}
	return w
}

func (c *wireCall) openSlot(o *shm.StagingWriter) {
	o.Open(c.op.Align, len(c.group.ranks))
	if m := c.group.wireRank.meter; m != nil {
		m.memory.Add(int64(o.Length))
	}
	c.writers = append(c.writers, o)
}

// segmentIndex returns the index of a member in the segment.
func (g *wireGroup) segmentIndex(member int) int { return g.wireRank.shared.indexes[g.ranks[member]] }

// stages reports whether a member's data go through a staging buffer.
func (c *wireCall) stages(member int) bool {
	if member == c.group.rank {
		return c.staging != nil
	}
	return c.call.contracts[c.group.ranks[member]].Staging != 0
}

// staged reports whether staging buffers have a part in the call. Data that are reduced go
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

// moveStaged moves the data of a call in which staging buffers have a part. steps are
// those of the message schedule, of which the ones ahead are done: for members that
// send frames, because their blocks are short, for example.
func (c *wireCall) moveStaged(steps []schedule.Step) error {
	list, err := c.transfers()
	if err != nil {
		return err
	}
	if c.staging != nil {
		for _, o := range c.writers {
			o.MarkPending()
		}
	}
	var before, after []schedule.Step // none where all goes through staging buffers, or nothing
	if !c.op.Kind.Reduces() && !c.op.Kind.FromRoot() {
		before, after = schedule.Beside(steps, c.position(), c.stages)
	}
	if err := c.move(before, min(c.ahead, len(before))); err != nil {
		return err
	}
	if err := c.transferAll(list); err != nil {
		if slices.ContainsFunc(list, unfinished) && errors.As(err, new(*comm.PanicError)) {
			c.group.wireRank.giveUp(err)
		}
		return err
	}
	return c.move(after, 0)
}

// transfers returns the transfers through staging buffers, and those that the member
// copies.
func (c *wireCall) transfers() ([]shm.Transfer, error) {
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

// newCopyOut returns the transfer of the part that is read of another member.
func (c *wireCall) newCopyOut(in schedule.Incoming) (*shm.CopyOut, error) {
	r, err := c.openReader(in.From, in.Shared)
	if err != nil {
		return nil, err
	}
	t := &shm.CopyOut{StagingReader: r, Drop: c.out == nil}
	if !t.Drop {
		t.Dst = c.span(in.Part)
		if t.Dst.Len() != t.Length && !t.Stale {
			return nil, c.reject(c.group.ranks[in.From], fmt.Errorf("%s: got %d bytes, want %d", c.op.Desc.Op, t.Length, t.Dst.Len()))
		}
	}
	return t, nil
}

// appendCopies appends the member's copies of its own blocks.
func (c *wireCall) appendCopies(list []shm.Transfer) []shm.Transfer {
	for _, st := range c.steps() {
		if st.Do == schedule.DoCopy {
			list = append(list, &shm.LocalCopy{Dst: c.span(st.Dst[0]), Src: c.span(st.Src[0]), Piece: c.copyPiece()})
		}
	}
	return list
}

const (
	// shortPiece is how much is copied at a time where the bytes written find room
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
	return shm.LongPiece
}

// crossRead returns a transfer like t from the memory that a member exposes; t if that puts
// its data into the slot.
func (c *wireCall) crossRead(t *shm.CopyOut, member int) shm.Transfer {
	if t.Exposed.Address == 0 || t.Stale {
		return t
	}
	sl, rank := c.group.wireRank.shared, c.group.ranks[member]
	lose := func(err error) {
		if !errors.Is(err, shm.ErrNoProcess) { // of a death the supervisor tells
			c.group.wireRank.lose(rank, fmt.Errorf("its memory cannot be read: %w", err))
		}
	}
	process := sl.segment.Process(sl.indexes[rank])
	return &shm.CrossReading{StagingReader: t.StagingReader, Process: process, Dst: t.Dst, Drop: t.Drop, Piece: c.copyPiece(), Lose: lose}
}

// openReader opens the slot from a member, which is rejected if its number, length or address
// cannot be.
func (c *wireCall) openReader(member int, several bool) (shm.StagingReader, error) {
	sl, r := c.group.wireRank.shared, c.group.ranks[member]
	k, index := &c.call.contracts[r], sl.indexes[r]
	if k.Staging > shm.StagingEach {
		return shm.StagingReader{}, c.reject(r, fmt.Errorf("%s: got staging buffer %d, want 1..%d", c.op.Desc.Op, k.Staging, shm.StagingEach))
	}
	in := shm.StagingReader{
		Buffer:  sl.segment.StagingBuffer(index, int(k.Staging-1)),
		Use:     k.Use,
		Slot:    c.group.rank,
		Index:   sl.indexes[c.group.wireRank.rank],
		Several: several,
		Futex:   sl.segment.Futex(index),
	}
	if several {
		in.Slot = member
	}
	in.Open(c.op.Align, len(c.group.ranks))
	if !in.Stale && (in.Length < 0 || in.Exposed.Address != 0 && !in.Exposed.Valid(in.Length)) {
		return in, c.reject(r, fmt.Errorf("%s: got %d bytes at %+v, want what can be", c.op.Desc.Op, in.Length, in.Exposed))
	}
	return in, nil
}

// newReduction returns the transfer of a step that reduces, of parts of all members.
func (c *wireCall) newReduction(step *schedule.Step) (*shm.Reduction, error) {
	rank, size := c.group.rank, len(c.group.ranks)
	t := &shm.Reduction{Own: c.span(c.ownPart(step.Src)), Index: rank, Out: c.result, Reduce: c.op.Reduce, Name: c.op.Desc.Op}
	if t.Drop = c.out == nil || !slices.ContainsFunc(step.Dst, c.isOwn); !t.Drop {
		t.Dst = c.span(c.ownPart(step.Dst))
	}
	for m, r := range c.group.ranks {
		if m == rank {
			continue
		}
		in, err := c.openReader(m, false)
		if err != nil {
			return nil, err
		}
		if in.Length != t.Own.Len() && !in.Stale {
			return nil, c.reject(r, fmt.Errorf("%s: got %d bytes, want %d", c.op.Desc.Op, in.Length, t.Own.Len()))
		}
		t.Ins = append(t.Ins, in)
	}
	t.Length = t.Own.Len()
	plan := shm.PlanSlot(shm.StagingBytes(c.group.wireRank.shared.segment.Size()), rank, size, t.Length, c.op.Align)
	t.Piece, t.Pieces = plan.Piece, plan.Pieces
	return t, nil
}

// transferAll moves all that is on the list, a piece of each at a time.
func (c *wireCall) transferAll(list []shm.Transfer) (err error) {
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
		list = slices.DeleteFunc(list, shm.Transfer.IsDone)
		if !moved && len(list) > 0 {
			if err := c.awaitPiece(list); err != nil {
				return err
			}
		}
	}
	return err
}

// unfinished reports whether others still wait for t, or may. A transfer that was over has
// left the list, as nil.
func unfinished(t shm.Transfer) bool { return t != nil && !t.IsDone() }

// failedReduction returns the error of a reduction on the list that has failed,
// and whether others need its result.
func failedReduction(list []shm.Transfer) (err error, needed bool) {
	for _, t := range list {
		if r, ok := t.(*shm.Reduction); ok && r.Err != nil {
			return r.Err, r.Out != nil
		}
	}
	return nil, false
}

// awaitedLooks is how often a call that goes on beside its rank looks in vain for a piece while the rank
// waits for the call.
const awaitedLooks = 20

// awaitPiece waits until a transfer is ready. It fails if a member is lost. A call that goes on
// beside its rank sleeps at once until the rank waits for it, and soon then: what it looks for in
// vain is time in which ranks compute, its own and those with which that shares the core.
func (c *wireCall) awaitPiece(list []shm.Transfer) error {
	ready := func() bool {
		return slices.ContainsFunc(list, func(t shm.Transfer) bool { return t.CanStep() })
	}
	sl := c.group.wireRank.shared
	looks, pause := sl.policy.spins+sl.policy.yields, sl.policy.pause
	if !c.own {
		looks, pause = awaitedLooks, spin.Yield
	}
	var limit spin.Limit
	for i := 0; i < looks && !limit.Passed(i) && (c.own || c.awaited.Load()); i++ {
		if ready() {
			return nil
		}
		pause(i)
	}
	w := c.conditionWait(ready)
	w.piece = true
	return c.group.wireRank.waitUntilOver(context.Background(), w)
}
