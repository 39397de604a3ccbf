package process

import (
	"context"
	"slices"
	"sync/atomic"

	"tpsh/comm"
	"tpsh/comm/deadlock"
	"tpsh/comm/process/shm"
	"tpsh/comm/process/stream"
	"tpsh/comm/schedule"
	"tpsh/comm/wire"
)

// A wireCall is a member's part in a collective on frames.
type wireCall struct {
	group   *wireGroup
	site    func() callSite // c.callSite, made once
	op      *comm.Op
	key     deadlock.CallKey
	call    *callState
	bytes   int             // of the block that is broadcast or reduced
	ahead   int             // how many steps of the schedule were done at the start
	sent    bool            // whether all that this member sends has left with the contracts
	plan    []schedule.Step // the message schedule, once planned
	planned bool            // whether the length is known on which it depends
	relayed bool            // whether it is an AllGather of which hosts get some blocks once
	chained int             // how much of a block is reduced at a time along a chain of hosts; 0 if there is none
	hash    uint64
	out     []comm.Block
	slots   [][]byte

	scratch schedule.Scratch // kept for the next call

	pieces  bool // whether span and the numbers of messages are those of a piece
	current int  // the piece

	passed   *schedule.Exchange    // by staging buffers, once it is known
	staging  *shm.OwnStagingBuffer // for this member's data, nil if it sends frames
	writers  []*shm.StagingWriter
	outgoing []shm.Transfer
	result   *shm.StagingWriter // among writers, for the part that this member reduces; nil if nobody else needs it

	sending []func() error // wait for data being sent

	carries bool // whether this member is ready to have the call carried

	again  bool // whether nobody but its caller has known of the call
	failed bool // whether it had failed before it was called
	own    bool // whether the call is carried out on the rank's goroutine

	awaited atomic.Bool // whether the rank waits for a call that goes on beside it

	relays bool      // whether this member relays contracts
	swaps  bool      // whether its blocks go from member to member if those of the others do
	relay  callRelay // how far the contracts have come
}

// start makes op this member's part in the next call of the group: it sends
// the contract to every other member, and with or after it the data that the schedule
// sends first. In a call that has failed before it sends nothing. own says that
// the rank's goroutine carries the call out.
func (g *wireGroup) start(op *comm.Op, own bool) *wireCall {
	c := g.newCall()
	c.op, c.own = op, own
	if c.failed = c.enter(); !c.failed {
		c.announce()
	}
	return c
}

// newCall returns a call of which all but the group is to be set.
func (g *wireGroup) newCall() *wireCall {
	c := g.spareCall
	if c == nil {
		return &wireCall{group: g}
	}
	g.spareCall = nil
	return c
}

// enter gives the call its number, and reports whether it has failed already.
func (c *wireCall) enter() (failed bool) {
	g, wr := c.group, c.group.wireRank
	wr.mu.Lock()
	defer wr.mu.Unlock()
	c.key, c.call = g.nextCall()
	for c.call.leftOut {
		wr.forget(c.key, c.call, true)
		c.key, c.call = g.nextCall()
	}
	if c.site == nil {
		c.site = c.callSite
	}
	c.call.site = c.site
	if !c.own {
		wr.tellCalls(g)
	}
	return c.call.verdict != nil
}

// nextCall counts a call and returns it.
func (g *wireGroup) nextCall() (deadlock.CallKey, *callState) {
	key := deadlock.CallKey{Group: g.hash, Number: g.calls + 1}
	call := g.wireRank.call(key)
	g.calls++
	return key, call
}

// write sends a message of the call to a rank.
func (c *wireCall) write(to int, f wire.Frame, payload []byte) {
	f.Group, f.Call = c.key.Group, c.key.Number
	c.group.wireRank.write(to, f, payload)
}

// writeLater is write for a payload that stays as it is until the call ends. It
// reports false if it has sent nothing, since only write can.
func (c *wireCall) writeLater(to int, f wire.Frame, payload []byte) bool {
	o, ok := c.group.wireRank.writers[to].(*stream.Writer)
	if !ok {
		return false
	}
	f.Group, f.Call, f.Generation = c.key.Group, c.key.Number, c.group.wireRank.number
	wait, ok := o.SendLater(f, payload)
	if ok {
		c.sending = append(c.sending, wait)
	}
	return ok
}

// callSite tells where the caller is.
func (c *wireCall) callSite() callSite {
	return callSite{
		c.op.Desc.Op,
		comm.CallText(&c.op.Desc, c.op.Kind) + comm.InGroup(c.group.name),
		c.group.endpoint.SourceLine(c.op.Where),
	}
}

// steps returns the member's message schedule, which is kept once the length is known
// on which it depends.
func (c *wireCall) steps() []schedule.Step {
	if c.planned {
		return c.plan
	}
	if c.group.scheduler.Hosts != nil {
		call := c.hostCall()
		if steps := c.group.scheduler.AcrossHosts(&call); steps != nil {
			c.useHosts(&call)
			return steps
		}
	}
	return c.group.scheduler.Message(c.op.Kind, c.op.Desc.Root, c.op.Desc.Pairs, c.bytes)
}

// longest returns the length of the longest block that this member offers to
// others. For blocks that are reduced every member comes to the same.
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

// newWait returns a wireWait for the contracts of the other members.
func (c *wireCall) newWait() *wireWait {
	w := &wireWait{what: c.key, relayed: c.group.relays, lacks: c.lacks, all: c.group.ranks, missing: c.missing, outcome: c.outcome, site: c.callSite}
	if c.relays {
		w.advance = c.relayOn
	}
	return w
}

// outcome reports whether every contract is there, or one will never come.
func (c *wireCall) outcome() (bool, error) {
	if c.call.verdict != nil {
		return true, c.call.verdict
	}
	if int(c.call.count.Load()) == len(c.group.others) {
		return true, nil
	}
	if len(c.group.wireRank.failures) == 0 {
		return false, nil // to list who is missing of many takes longer than a look
	}
	missing := c.missing()
	err := c.peerError(func(f lasting) bool { return f.lost || slices.Contains(missing, f.rank) && !f.called(c.key) })
	return err != nil, err
}

// missing returns the ranks that have not called, ascending.
func (c *wireCall) missing() []int {
	ranks := make([]int, 0, len(c.group.others)-int(c.call.count.Load()))
	for _, r := range c.group.others {
		if !c.call.here[r] {
			ranks = append(ranks, r)
		}
	}
	slices.Sort(ranks)
	return ranks
}

// lacks reports whether a rank has not called.
func (c *wireCall) lacks() bool { return int(c.call.count.Load()) < len(c.group.others) }

// peerError returns the error of a call on a group with failed members: it tells
// of the first that counts.
func (c *wireCall) peerError(counts func(lasting) bool) error {
	return c.group.wireRank.failedMember(c.group.ranks, c.op.Desc.Op, counts)
}

// block waits for the call as the rank itself does, until done is closed.
func (c *wireCall) block(ctx context.Context, done <-chan struct{}) error {
	c.awaited.Store(true)
	defer c.awaited.Store(false)
	w := c.newWait()
	w.program, w.advance = true, nil
	w.lacks = func() bool { // nobody, while the call does the rest by itself
		over, _ := c.outcome()
		return !over
	}
	w.missing = func() []int {
		if !w.lacks() {
			return nil
		}
		return c.missing()
	}
	w.outcome = func() (bool, error) {
		select {
		case <-done:
			return true, nil
		default:
			return false, nil
		}
	}
	return c.group.wireRank.waitUntilOver(ctx, w)
}

// abandon lets the call go on whose caller has gone.
func (c *wireCall) abandon() {
	wr := c.group.wireRank
	wr.mu.Lock()
	defer wr.mu.Unlock()
	there := c.callSite()
	c.call.site = func() callSite { return there }
	op := *c.op
	op.Where = func() string { return there.where }
	c.op = &op
	c.own = false
	c.group.detached.Add(1)
	wr.tellCalls(c.group)
	wr.fabric.Go(func() {
		defer c.group.detached.Done()
		c.finish(wr.waitUntilOver(context.Background(), c.newWait()), false)
	})
}

// finish carries the call on from where every contract is there, or has failed
// to come: it compares them, prepares the blocks for the results if the caller
// is there to have them, and moves the data.
func (c *wireCall) finish(err error, present bool) (comm.Result, error) {
	defer c.leave()
	if err == nil && c.relays {
		c.tellEach() // the last contract may be the one that came by itself
	}
	if err == nil && !c.agreed() {
		err = c.mismatch()
	}
	if err != nil {
		return comm.Result{}, err
	}
	c.group.try() // all are there
	members, flags := c.members()
	p := c.position()
	if member, ok := c.op.Kind.Sizing(p); ok {
		c.bytes = c.bytesOf(member)
	}
	if c.gathers() {
		c.replan(c.bytesOf)
	}
	if present {
		err = c.prepare(members, flags)
	}
	if moved := c.moveAll(); err == nil {
		err = moved
	}
	return comm.Result{Flags: flags, Block: c.bytes, Wire: schedule.WireBytes(c.op.Kind, p, c.op.In, c.bytes, c.op.Align)}, err
}

// moveAll does the rest of the schedule.
func (c *wireCall) moveAll() error {
	steps := c.steps()
	if c.out == nil {
		steps = schedule.WithoutOut(steps)
	}
	switch {
	case c.swaps && c.swapsWith():
		return c.moveSwapped(steps)
	case c.isShort(steps[c.ahead:]):
		return c.movePiece(steps, c.ahead, len(steps))
	case c.staged():
		return c.moveStaged(steps)
	case c.carries && c.carried():
		return c.carry()
	}
	return c.move(steps, c.ahead)
}

// leave forgets the call at the rank.
func (c *wireCall) leave() {
	for _, wait := range c.sending {
		wait() // a member that does not get it notices
	}
	wr := c.group.wireRank
	if c.staging != nil {
		c.withdrawAll()
		wr.shared.staging.Release(c.staging)
	}
	if len(c.call.recvBuffers) > 0 {
		c.withdrawBuffers()
	}
	wr.mu.Lock()
	defer wr.mu.Unlock()
	wr.forget(c.key, c.call, c.again)
}

// bytesOf returns the length of the block that a member offers.
func (c *wireCall) bytesOf(member int) int {
	if member == c.group.rank {
		return c.op.In[0].Len()
	}
	return c.call.contracts[c.group.ranks[member]].Bytes
}

// agreed reports whether all contracts have one hash.
func (c *wireCall) agreed() bool {
	for _, r := range c.group.others {
		if c.call.contracts[r].Hash != c.hash {
			return false
		}
	}
	return true
}

// members returns the arguments of Op.Prepare.
func (c *wireCall) members() ([]comm.Member, comm.Flags) {
	var members []comm.Member
	if c.own {
		members = c.group.scratch.draft[:0]
	}
	var flags comm.Flags
	for _, r := range c.group.ranks {
		if r == c.group.wireRank.rank {
			members = append(members, comm.Member{Free: c.op.Desc.FreeSize(), Meta: c.op.Meta})
			flags |= c.op.Desc.Flags
			continue
		}
		k := &c.call.contracts[r]
		members = append(members, comm.Member{Free: k.Free, Meta: k.Meta})
		flags |= k.Flags
	}
	if c.own {
		members = c.group.scratch.keep(members)
	}
	return members, flags
}

// mismatch returns the report on calls that do not agree, for which members
// send each other the whole descriptions of their calls.
func (c *wireCall) mismatch() error {
	mine := &comm.SignedCall{Desc: c.op.Desc, Kind: c.op.Kind, Where: c.group.endpoint.SourceLine(c.op.Where), Issued: !c.own, Caught: c.group.endpoint.Caught()}
	payload := wire.AppendSigned(nil, mine)
	if c.group.relays {
		return c.mismatchRelayed(payload)
	}
	for _, r := range c.group.others {
		c.write(r, wire.Frame{Type: wire.FrameDesc}, payload)
	}
	calls := make([]comm.SignedCall, len(c.group.ranks))
	for i, r := range c.group.ranks {
		theirs := mine
		if r != c.group.wireRank.rank {
			err := c.awaitCondition(func() bool {
				if c.call.descs != nil {
					theirs = c.call.descs[r]
				}
				return theirs != mine && theirs != nil
			})
			if err != nil {
				return err
			}
		}
		calls[i] = *theirs
	}
	return comm.NewMismatch(c.group.name, c.group.ranks, calls)
}

// awaitCondition waits for data that a member sends after its contract. It fails if a member
// is lost.
func (c *wireCall) awaitCondition(there func() bool) error {
	wr, come := c.group.wireRank, c.locked(there)
	if come() || !c.group.local && c.own && wr.spin(c.group.inbounds, c.group.others, come) {
		return nil
	}
	return wr.waitUntilOver(context.Background(), c.conditionWait(there))
}

// locked returns a function that asks there with the rank locked.
func (c *wireCall) locked(there func() bool) func() bool {
	return func() bool {
		c.group.wireRank.mu.Lock()
		defer c.group.wireRank.mu.Unlock()
		return there()
	}
}

// conditionWait returns the wireWait of awaitCondition.
func (c *wireCall) conditionWait(there func() bool) *wireWait {
	w := &wireWait{what: c.key, own: c.own}
	w.outcome = func() (bool, error) {
		if there() {
			return true, nil
		}
		err := c.peerError(func(f lasting) bool { return f.lost })
		return err != nil, err
	}
	return w
}

// prepare sets the blocks for this member's results.
func (c *wireCall) prepare(members []comm.Member, flags comm.Flags) (err error) {
	if c.op.Prepare == nil {
		return nil
	}
	defer comm.Recovered(c.op.Desc.Op, &err)
	c.out, err = c.op.Prepare(members, flags)
	return err
}

// reset makes c as good as new for another call of its group, and keeps slices that hold
// no memory of others.
func (c *wireCall) reset() {
	clear(c.slots)
	*c = wireCall{group: c.group, site: c.site, slots: c.slots, scratch: c.scratch, relay: c.relay.reset()}
}
