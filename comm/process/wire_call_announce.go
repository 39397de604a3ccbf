package process

import (
	"slices"

	"tpsh/comm"
	"tpsh/comm/mailbox"
	"tpsh/comm/process/stream"
	"tpsh/comm/schedule"
	"tpsh/comm/wire"
)

// A callScratch is memory for the contracts that a member sends; calls use
// it one after another.
type callScratch struct {
	first   []int // by member: one more than the step that goes with its contract, or 0
	payload []byte
	packed  []byte
	desc    comm.Desc // of the last call
	hash    uint64
	hashed  bool          // whether there was a call
	members []comm.Member // of the last call, given again to the next if that is alike and has no Meta
	draft   []comm.Member // memory for those of a call
}

// hashOf returns wire.HashDesc(d), which is mostly that of the last call.
func (a *callScratch) hashOf(d *comm.Desc) uint64 {
	if !a.hashed || !comm.Agree(&a.desc, d) {
		a.hash, a.desc, a.hashed = wire.HashDesc(d), *d, true
	}
	return a.hash
}

// announce sends the contract to every other member, and does the sends with
// which the schedule begins. Short data go with the contract.
func (c *wireCall) announce() {
	most := c.longest()
	c.group.try() // though it has nothing to stage, others may
	if c.group.local && most > ringCarries {
		c.acquireStaging()
	}
	c.carries = c.group.carrier != nil && c.canCarry()
	c.pieces = most > stream.EagerBytes // below there is one piece, which is all
	defer func() { c.pieces = false }()
	ahead, later := c.aheadSteps()
	c.pieces = c.pieces || c.chained > 0
	c.sent = !c.pieces && c.staging == nil && !slices.ContainsFunc(later, sends)
	if c.staging != nil || c.pieces && c.bulky(ahead) || c.carries && most >= carryBytes {
		ahead, c.sent = nil, false
	}
	c.ahead = len(ahead)
	g := c.group
	each := g.relays && c.tellsEach(ahead)
	if c.swaps = each && c.swapsShort(ahead); c.swaps {
		c.ahead, c.sent = 0, false
		ahead = nil
	}
	if c.relays = g.relays && (!each || c.swaps); c.relays {
		if !c.relayAhead(ahead) {
			c.sendAll(ahead)
		}
		return
	}
	c.tellAll(ahead)
}

// tellAll sends the contract to every other member by itself, and does the steps ahead.
func (c *wireCall) tellAll(ahead []schedule.Step) {
	g, wr := c.group, c.group.wireRank
	first := g.scratch.assign(ahead, len(g.ranks))
	k := c.contract()
	for i := 1; i < len(g.ranks); i++ { // each begins with the member behind it, and not all with one
		member := (g.rank + i) % len(g.ranks)
		r := g.ranks[member]
		if ahead := i + dialsAhead; ahead <= len(g.ranks)/2 { // the others dial this one
			wr.prepare(g.ranks[(g.rank+ahead)%len(g.ranks)])
		}
		k.First, k.Data = 0, nil
		if i := first[member] - 1; i >= 0 && c.span(ahead[i].Src[0]).Len() <= wr.eager(r) {
			k.First, k.Data = ahead[i].Tag+1, g.scratch.pack(c.span(ahead[i].Src[0]))
		} else {
			first[member] = 0
		}
		g.scratch.payload = wire.AppendContract(g.scratch.payload[:0], &k)
		if g.relays {
			c.write(r, wire.Frame{Type: wire.FrameContracts, Step: toEach}, g.scratch.payload)
			continue
		}
		wr.sent[r]++
		c.write(r, wire.Frame{Type: wire.FrameContract}, g.scratch.payload)
	}
	for i, s := range ahead {
		if first[s.Peer] != i+1 {
			c.send(s)
		}
	}
}

// relayAhead begins to relay this member's contract, and reports whether the data of the steps ahead
// go with it.
func (c *wireCall) relayAhead(ahead []schedule.Step) (carried bool) {
	k := c.contract()
	if carried = c.relaysData(ahead); carried {
		k.First, k.Data = ahead[0].Tag+1, c.group.scratch.pack(c.span(ahead[0].Src[0]))
	}
	r := &c.relay
	r.begin(c.group.rank, len(c.group.ranks), &k)
	if c.key.Number == 1 { // its peers are connected at the same time
		for hop := range r.Hops() {
			c.group.wireRank.prepare(c.group.ranks[r.To(hop)])
		}
	}
	c.sendHop()
	return carried
}

// tellsEach reports whether every member has other data for each in the steps ahead, with which the
// contract goes.
func (c *wireCall) tellsEach(ahead []schedule.Step) bool {
	return len(ahead) == len(c.group.others) && c.op.Kind.Mutual() && !c.relaysData(ahead)
}

// relaysData reports whether the data that the steps ahead send are alike, and short enough to go
// with the contract to all.
func (c *wireCall) relaysData(ahead []schedule.Step) bool {
	if len(ahead) == 0 {
		return false
	}
	for _, s := range ahead[1:] {
		if s.Src[0] != ahead[0].Src[0] || s.Tag != ahead[0].Tag {
			return false
		}
	}
	size, n := len(c.group.ranks), c.span(ahead[0].Src[0]).Len()
	if c.group.local {
		return n*size <= ringCarries
	}
	return n <= mostRelayed && len(ahead) == size-1 || n*size <= mostAside
}

// sendHop sends what is due in a hop of the relay.
func (c *wireCall) sendHop() {
	if to, list, ok := c.relay.due(); ok {
		c.write(c.group.ranks[to], wire.Frame{Type: wire.FrameContracts, Step: c.relay.hop}, list)
	}
}

// relayOn takes in the contracts that have come, hop by hop, and sends on what follows from
// them. It is for the goroutine that carries the call out.
func (c *wireCall) relayOn() {
	c.tellEach()
	r := &c.relay
	for r.hop < r.Hops() && c.call.hops.has(r.hop) {
		from := c.group.ranks[r.From(r.hop)]
		if err := c.signHop(); err != nil {
			c.group.wireRank.lose(from, err)
			return
		}
		c.sendHop()
	}
}

// tellEach sends the contract to each other member by itself, once, if one has done so that might
// have relayed it: others may wait for this one by a way that goes through that member.
func (c *wireCall) tellEach() {
	r := &c.relay
	if !c.call.toEach.Load() || r.told {
		return
	}
	r.told = true
	list := wire.Listed(r.list[:r.runs[0].end]) // its own contract
	for _, rank := range c.group.others {
		c.write(rank, wire.Frame{Type: wire.FrameContracts, Step: toEach}, list)
	}
}

// signHop takes in the contracts of a hop.
func (c *wireCall) signHop() error {
	wr, call := c.group.wireRank, c.call
	wr.mu.Lock()
	defer wr.mu.Unlock()
	return c.relay.take(call.hops.lists[c.relay.hop], func(member int, k *wire.Contract) {
		rank := c.group.ranks[member]
		if !call.here[rank] {
			call.contracts[rank], call.here[rank] = *k, true
			call.count.Add(1)
		}
	})
}

// sendAll does steps that send.
func (c *wireCall) sendAll(steps []schedule.Step) {
	for _, s := range steps {
		c.send(s)
	}
}

// assign sets first for the steps ahead.
func (a *callScratch) assign(ahead []schedule.Step, size int) []int {
	if a.first == nil {
		a.first = make([]int, size)
	}
	clear(a.first)
	for i, s := range ahead {
		if a.first[s.Peer] == 0 {
			a.first[s.Peer] = i + 1
		}
	}
	return a.first
}

// keep returns the members of draft, which is to be used again. They are those of
// the last call if they are alike.
func (a *callScratch) keep(draft []comm.Member) []comm.Member {
	a.draft = draft
	plain := func(x, y comm.Member) bool { return x.Free == y.Free && x.Meta == nil && y.Meta == nil }
	if !slices.EqualFunc(a.members, draft, plain) {
		a.members = slices.Clone(draft)
		clear(draft) // so that no Meta stays in memory for it
	}
	return a.members
}

// envelopeHead returns the bytes before the data of a message, which stay there
// until the next use.
func (a *callScratch) envelopeHead(e *mailbox.Envelope) []byte {
	a.payload = wire.AppendEnvelopeHead(a.payload[:0], e)
	return a.payload
}

// pack returns the bytes of s, which stay there until the next pack.
func (a *callScratch) pack(s schedule.Span) []byte {
	if s.Len() == 0 || s.Block.Contiguous() {
		return s.Block.Run(s.Lo, s.Hi)
	}
	a.packed = s.AppendTo(a.packed[:0])
	return a.packed
}

// contract returns the part of this member's call that all others are to know.
func (c *wireCall) contract() wire.Contract {
	d := &c.op.Desc
	k := wire.Contract{Hash: c.hash, Flags: d.Flags, Free: d.FreeSize(), Meta: c.op.Meta}
	if len(c.op.In) > 0 {
		k.Bytes = c.op.In[0].Len()
	}
	if len(c.op.In) > 1 && c.op.Kind.Mutual() && !c.op.Kind.Even() {
		k.Bytes = c.longest()
	}
	if c.staging != nil {
		k.Staging, k.Use = uint32(c.staging.Number+1), c.staging.Use
	} else if c.carries {
		k.Staging = carryStaging
	}
	return k
}

// aheadSteps returns the sends with which the schedule begins, and the steps
// after them; none if the schedule depends on what is not known yet: a member that does not
// offer the block that is broadcast does not know its length.
func (c *wireCall) aheadSteps() (ahead, later []schedule.Step) {
	c.hash = c.group.scratch.hashOf(&c.op.Desc)
	if member, ok := c.op.Kind.Sizing(c.position()); ok {
		if member != c.group.rank {
			return nil, nil
		}
		c.bytes = c.op.In[0].Len()
	}
	if c.gathers() {
		c.replan(func(member int) int {
			if member == c.group.rank {
				return c.op.In[0].Len()
			}
			return 0 // it is not known yet
		})
	}
	steps := c.steps()
	c.plan, c.planned = steps, true
	n := 0
	for n < len(steps) && steps[n].Do == schedule.DoSend && steps[n].Src[0].Mem == schedule.MemIn {
		n++
	}
	return steps[:n], steps[n:]
}

// bulky reports whether data that are sent ahead would come before the others
// are ready for them, and be copied for that.
func (c *wireCall) bulky(ahead []schedule.Step) bool {
	if !c.group.postsAny() {
		return false
	}
	for _, s := range ahead {
		if c.span(s.Src[0]).Len() > stream.EagerBytes {
			return true
		}
	}
	return false
}

// spinForContracts waits for a moment for the contracts, and reports whether all are
// there.
func (c *wireCall) spinForContracts() bool {
	if c.failed {
		return false
	}
	want := int32(len(c.group.others))
	return c.group.wireRank.spin(c.group.inbounds, c.group.others, func() bool {
		if c.relays {
			c.relayOn()
		}
		return c.call.count.Load() == want
	})
}
