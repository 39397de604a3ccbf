package comm

import (
	"context"
	"fmt"
	"slices"
)

// A messageCall is a member's part in a collective on frames.
type messageCall struct {
	line  *wireLine
	where func() place // c.place
	op    *Op
	key   callKey
	call  *wireCall
	bytes int  // of the block that is broadcast or reduced
	ahead int  // how many steps of the schedule were done at the start
	sent  bool // whether all that this member sends has left with the contracts
	hash  uint64
	out   []Block
	slots [][]byte

	scratch scratch // kept for the next call

	pieces  bool // whether span and the numbers of messages are those of a piece
	current int  // the piece

	lane    *ownLane // for what this member sends, nil if it sends frames
	outs    []*laneOut
	puts    []transfer
	several *laneOut // among outs, nil if there is none

	sending []func() error // wait for what is being sent

	carries bool // whether this member is ready to have the call carried

	again  bool // whether nobody but its caller has known of the call
	failed bool // whether it had failed before it was called
	own    bool // whether the call is carried out on the rank's goroutine
}

// start makes op this member's part in the next call of the group: it sends
// the contract to every other member, and with or after it what the schedule
// sends first. In a call that has failed before it sends nothing. own says that
// the rank's goroutine carries the call out.
func (l *wireLine) start(op *Op, own bool) *messageCall {
	c := l.newCall()
	c.op, c.own = op, own
	if c.failed = c.enter(); !c.failed {
		c.announce()
	}
	return c
}

// newCall returns a call of which all but line is to be set.
func (l *wireLine) newCall() *messageCall {
	c := l.idle
	if c == nil {
		return &messageCall{line: l}
	}
	l.idle = nil
	return c
}

// enter gives the call its number, and reports whether it has failed already.
func (c *messageCall) enter() (failed bool) {
	l, st := c.line, c.line.station
	st.mu.Lock()
	defer st.mu.Unlock()
	c.key = callKey{l.hash, l.calls + 1}
	c.call = st.call(c.key)
	if c.where == nil {
		c.where = c.place
	}
	c.call.place = c.where
	l.calls++
	return c.call.verdict != nil
}

// write sends a message of the call to a rank.
func (c *messageCall) write(to int, f frame, payload []byte) {
	f.group, f.call = c.key.group, c.key.number
	c.line.station.write(to, f, payload)
}

// writeLater is write for a payload that stays as it is until the call ends. It
// reports false if it has sent nothing, since only write can.
func (c *messageCall) writeLater(to int, f frame, payload []byte) bool {
	o, ok := c.line.station.outlets[to].(*outlet)
	if !ok {
		return false
	}
	f.group, f.call, f.generation = c.key.group, c.key.number, c.line.station.number
	wait, ok := o.sendLater(f, payload)
	if ok {
		c.sending = append(c.sending, wait)
	}
	return ok
}

// place tells where the caller is.
func (c *messageCall) place() place {
	return place{
		c.op.Desc.Op,
		callText(&c.op.Desc, c.op.Kind) + in(c.line.name),
		c.line.endpoint.place(c.op.Where),
	}
}

// lengthOf returns the length of the block that is broadcast or reduced, 0
// where there is none.
func (c *messageCall) lengthOf(block func() int) int {
	switch c.op.Kind {
	case Broadcast, AllReduce, Reduce:
		return block()
	}
	return 0
}

func (c *messageCall) steps() []step {
	return c.line.scheduler.message(c.op.Kind, c.op.Desc.Root, c.op.Desc.Pairs, c.bytes)
}

// watcher returns a watcher for the contracts of the other members.
func (c *messageCall) watcher() *watcher {
	return &watcher{what: c.key, all: c.line.ranks, missing: c.missing, over: c.over, place: c.place}
}

// over reports whether every contract is there, or one will never come.
func (c *messageCall) over() (bool, error) {
	if c.call.verdict != nil {
		return true, c.call.verdict
	}
	if int(c.call.count.Load()) == len(c.line.others) {
		return true, nil
	}
	missing := c.missing()
	err := c.peerError(func(f lasting) bool { return f.lost || slices.Contains(missing, f.rank) })
	return err != nil, err
}

// missing returns the ranks that have not called, ascending.
func (c *messageCall) missing() []int {
	var ranks []int
	for _, r := range c.line.others {
		if !c.call.here[r] {
			ranks = append(ranks, r)
		}
	}
	slices.Sort(ranks)
	return ranks
}

// peerError returns the error of a call on a group with failed members: it tells
// of the first that counts.
func (c *messageCall) peerError(counts func(lasting) bool) error {
	return c.line.station.failedMember(c.line.ranks, c.op.Desc.Op, counts)
}

// block waits for the call as the rank itself does, until done is closed.
func (c *messageCall) block(ctx context.Context, done <-chan struct{}) error {
	w := c.watcher()
	w.program = true
	w.missing = func() []int { // nobody, while the call does the rest by itself
		if over, _ := c.over(); over {
			return nil
		}
		return c.missing()
	}
	w.over = func() (bool, error) {
		select {
		case <-done:
			return true, nil
		default:
			return false, nil
		}
	}
	return c.line.station.await(ctx, w)
}

// abandon lets the call go on whose caller has gone.
func (c *messageCall) abandon() {
	st := c.line.station
	st.mu.Lock()
	defer st.mu.Unlock()
	there := c.place()
	c.call.place = func() place { return there }
	op := *c.op
	op.Where = func() string { return there.where }
	c.op = &op
	c.own = false
	c.line.left.Add(1)
	st.fabric.tasks.Go(func() {
		defer c.line.left.Done()
		c.finish(st.await(context.Background(), c.watcher()), false)
	})
}

// finish carries the call on from where every contract is there, or has failed
// to come: it compares them, prepares the blocks for the results if the caller
// is there to have them, and moves the data.
func (c *messageCall) finish(err error, present bool) (Result, error) {
	defer c.leave()
	if err == nil && !c.agreed() {
		err = c.mismatch()
	}
	if err != nil {
		return Result{}, err
	}
	if c.line.local {
		c.line.station.shared.try() // all are there
	}
	members, flags := c.members()
	if c.op.Kind == Broadcast {
		c.bytes = c.bytesOf(c.op.Desc.Root)
	}
	if present {
		err = c.prepare(members, flags)
	}
	if moved := c.moveAll(); err == nil {
		err = moved
	}
	s := seat{c.line.rank, len(c.line.ranks), c.op.Desc.Root, c.op.Desc.Pairs}
	return Result{flags, wireBytes(c.op.Kind, s, c.op.In, c.bytes, c.op.Align)}, err
}

// moveAll does what is left of the schedule.
func (c *messageCall) moveAll() error {
	if done, err := c.moveShort(); done || err != nil {
		return err
	}
	if c.staged() {
		return c.moveStaged()
	}
	if c.carried() {
		return c.carry()
	}
	steps := c.steps()
	if c.out == nil {
		return c.move(withoutOut(steps), c.ahead)
	}
	return c.move(steps, c.ahead)
}

// leave forgets the call at the station.
func (c *messageCall) leave() {
	for _, wait := range c.sending {
		wait() // who does not get it notices that
	}
	st := c.line.station
	if c.lane != nil {
		c.withdrawAll()
		st.shared.lanes.release(c.lane)
	}
	if len(c.call.berths) > 0 {
		c.abandonBerths()
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.forget(c.key, c.call, c.again)
}

// bytesOf returns the length of the block that a member offers.
func (c *messageCall) bytesOf(member int) int {
	if member == c.line.rank {
		return c.op.In[0].Len()
	}
	return c.call.contracts[c.line.ranks[member]].bytes
}

// agreed reports whether all contracts have one hash.
func (c *messageCall) agreed() bool {
	for _, r := range c.line.others {
		if c.call.contracts[r].hash != c.hash {
			return false
		}
	}
	return true
}

// members returns what Op.Prepare is given.
func (c *messageCall) members() ([]Member, Flags) {
	var members []Member
	if c.own {
		members = c.line.scratch.draft[:0]
	}
	var flags Flags
	for _, r := range c.line.ranks {
		if r == c.line.station.rank {
			members = append(members, Member{c.op.Desc.free(), c.op.Meta})
			flags |= c.op.Desc.Flags
			continue
		}
		k := &c.call.contracts[r]
		members = append(members, Member{k.free, k.meta})
		flags |= k.flags
	}
	if c.own {
		members = c.line.scratch.keep(members)
	}
	return members, flags
}

// mismatch returns the report on calls that do not agree, for which members
// send each other the whole of what they called.
func (c *messageCall) mismatch() error {
	mine := &signed{c.op.Desc, c.op.Kind, c.line.endpoint.place(c.op.Where)}
	payload := appendSigned(nil, mine)
	for _, r := range c.line.others {
		c.write(r, frame{typ: frameDesc}, payload)
	}
	calls := make([]signed, len(c.line.ranks))
	for i, r := range c.line.ranks {
		theirs := mine
		if r != c.line.station.rank {
			err := c.await(func() bool {
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
	return mismatch(c.line.name, c.line.ranks, calls)
}

// await waits for what a member sends after its contract. It fails if a member
// is lost.
func (c *messageCall) await(there func() bool) error {
	st, come := c.line.station, c.locked(there)
	if come() || !c.line.local && c.own && st.linger(c.line.others, come) {
		return nil
	}
	return st.await(context.Background(), c.waitFor(there))
}

// locked returns what asks there with the station locked.
func (c *messageCall) locked(there func() bool) func() bool {
	return func() bool {
		c.line.station.mu.Lock()
		defer c.line.station.mu.Unlock()
		return there()
	}
}

// waitFor returns the watcher of await.
func (c *messageCall) waitFor(there func() bool) *watcher {
	w := &watcher{what: c.key, own: c.own}
	w.over = func() (bool, error) {
		if there() {
			return true, nil
		}
		err := c.peerError(func(f lasting) bool { return f.lost })
		return err != nil, err
	}
	return w
}

// prepare sets the blocks for this member's results.
func (c *messageCall) prepare(members []Member, flags Flags) (err error) {
	if c.op.Prepare == nil {
		return nil
	}
	defer recovered(c.op.Desc.Op, &err)
	c.out, err = c.op.Prepare(members, flags)
	return err
}

// receive does a step that receives.
func (c *messageCall) receive(st step) error {
	key, dst := c.dataKey(st), st.dst[0]
	data, err := c.data(key)
	if err != nil {
		return err
	}
	if dst.mem == memSlot {
		c.setSlot(dst.block, data)
		return nil
	}
	to := c.span(dst)
	if to.len() >= leastBerth && sameMemory(to.run(0), data) {
		return nil // it was read to where it belongs
	}
	if to.len() != len(data) {
		return c.reject(key.source, fmt.Errorf("%s: got %d bytes, want %d", c.op.Desc.Op, len(data), to.len()))
	}
	copySpan(to, Whole(data).all())
	return nil
}

// data returns what has been sent under key, when it is there. What has come with
// a contract is, and stays as it is.
func (c *messageCall) data(key dataKey) ([]byte, error) {
	if data, there := c.call.carried(key); there {
		return data, nil
	}
	return c.awaitData(key)
}

// awaitData is data for what does not come with a contract.
func (c *messageCall) awaitData(key dataKey) (data []byte, err error) {
	err = c.await(func() (there bool) { data, there = c.call.find(key); return there })
	return data, err
}

// reject ends a call in which a member has sent what cannot be used. No rank
// may rely on it any more.
func (c *messageCall) reject(rank int, cause error) error {
	c.line.station.lose(rank, cause)
	return c.await(func() bool { return false })
}

// combine does a step that copies or reduces.
func (c *messageCall) combine(st step) (err error) {
	defer recovered(c.op.Desc.Op, &err)
	s := &c.scratch
	defer s.clear()
	for _, p := range st.src {
		s.src = append(s.src, c.span(p))
	}
	if dst := st.dst[0]; dst.mem == memSlot {
		c.setSlot(dst.block, make([]byte, s.src[0].len()))
	}
	s.dst = append(s.dst, c.span(st.dst[0]))
	switch {
	case st.do == doCopy:
		copySpan(s.dst[0], s.src[0])
	case !s.reduceRuns(c.op.Reduce, c.op.Align):
		reduceSpans(s.dst, s.src, c.op.Reduce, c.op.Align)
	}
	return nil
}

func (c *messageCall) setSlot(i int, data []byte) {
	if i >= len(c.slots) {
		c.slots = append(c.slots, make([][]byte, i+1-len(c.slots))...)
	}
	c.slots[i] = data
}

// reset makes c as good as new for another call of its group, and keeps what holds
// no memory of others.
func (c *messageCall) reset() {
	clear(c.slots)
	*c = messageCall{line: c.line, where: c.where, slots: c.slots, scratch: c.scratch}
}
