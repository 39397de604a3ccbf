package comm

import (
	"fmt"
	"slices"
)

// A Carrier carries out whole collectives of all ranks of a fabric. All ranks
// call its methods in the same order, with the same roots and counts; a method
// returns when this rank's part is done.
type Carrier interface {
	// Broadcast fills b, as long on every rank, with the root's.
	Broadcast(root int, b []byte) error

	// AllGather fills all with the blocks of the ranks, one after another, of
	// which mine is this rank's. counts are their lengths, by rank. mine does
	// not overlap all.
	AllGather(mine, all []byte, counts []int) error

	// Gather is AllGather for the root. On others all is nil.
	Gather(root int, mine, all []byte, counts []int) error
}

const (
	// carryBytes is the length from which blocks are worth carrying, all
	// together.
	carryBytes = 256 << 10
	// mostCarried is how long they may be, all together: MPI counts their bytes
	// in 31 bits.
	mostCarried = 1<<31 - 1
	// carryLane is, in a contract, the lane of a member that is ready to have the
	// call carried. Groups with a Carrier have no lanes.
	carryLane = 1<<32 - 1
)

// carrierOf returns the carrier for a group, nil if there is none: it carries
// for all ranks in their order. Two ranks do not need it: what one sends to the
// other takes as long whoever sends it.
func (st *station) carrierOf(ranks []int) Carrier {
	if len(ranks) < 3 || len(ranks) != len(st.received) || !slices.IsSorted(ranks) {
		return nil
	}
	return st.carrier
}

// ready reports whether this member is ready to have its call carried. Calls
// that go on beside the rank are not, since nothing says in which order ranks
// would come to them.
func (c *messageCall) ready() bool {
	if c.line.carrier == nil || !c.own {
		return false
	}
	return c.op.Kind == Broadcast || c.op.Kind == AllGather || c.op.Kind == Gather
}

// carried reports whether the call is carried. Every member comes to the same.
func (c *messageCall) carried() bool {
	if !c.carries {
		return false
	}
	for _, r := range c.line.others {
		if c.call.contracts[r].lane != carryLane {
			return false
		}
	}
	sum := 0
	for _, n := range c.carriedCounts() {
		if sum += n; n > mostCarried || sum > mostCarried {
			return false
		}
	}
	return sum >= carryBytes
}

// carriedCounts returns the lengths of the blocks that the members offer.
func (c *messageCall) carriedCounts() []int {
	if c.op.Kind == Broadcast {
		return []int{c.bytes}
	}
	counts := make([]int, len(c.line.ranks))
	for m := range counts {
		counts[m] = c.bytesOf(m)
	}
	return counts
}

// carry has the call carried. A member whose carrier fails is of no use to the
// others any more.
func (c *messageCall) carry() error {
	if c.own {
		c.line.left.Wait() // what was called before is carried before
	}
	move := c.carryBlocks
	if c.op.Kind == Broadcast {
		move = c.carryBroadcast
	}
	err := move()
	if err != nil {
		err = fmt.Errorf("%s: %w", c.op.Desc.Op, err)
		c.line.station.giveUp(err)
	}
	return err
}

// carryBroadcast carries a Broadcast, from and to the blocks if they are runs.
func (c *messageCall) carryBroadcast() error {
	var b []byte
	switch {
	case c.op.Desc.Root == c.line.rank:
		b = packed(c.op.In[0])
	case len(c.out) > 0 && c.out[0].contiguous() && c.out[0].Len() == c.bytes:
		b = c.out[0].run(0, c.bytes)
	default:
		b = make([]byte, c.bytes)
	}
	if err := c.line.carrier.Broadcast(c.op.Desc.Root, b); err != nil {
		return err
	}
	return c.settle(c.out, b, []int{c.bytes})
}

// carryBlocks carries an AllGather or Gather.
func (c *messageCall) carryBlocks() error {
	counts, mine := c.carriedCounts(), packed(c.op.In[0])
	if c.op.Kind == Gather && c.op.Desc.Root != c.line.rank {
		return c.line.carrier.Gather(c.op.Desc.Root, mine, nil, counts)
	}
	all := c.together(counts)
	move := func() error { return c.line.carrier.AllGather(mine, all, counts) }
	if c.op.Kind == Gather {
		move = func() error { return c.line.carrier.Gather(c.op.Desc.Root, mine, all, counts) }
	}
	if err := move(); err != nil {
		return err
	}
	return c.settle(c.out, all, counts)
}

// together returns memory for blocks of the given lengths, one after another:
// that of the results, if they are there and lie so.
func (c *messageCall) together(counts []int) []byte {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	if len(c.out) != len(counts) || cap(c.out[0].Data) < sum {
		return make([]byte, sum)
	}
	all, at := c.out[0].Data[:sum], 0
	for m, n := range counts {
		b := c.out[m]
		if b.Len() != n || n > 0 && (!b.contiguous() || &b.Data[0] != &all[at]) {
			return make([]byte, sum)
		}
		at += n
	}
	return all
}

// settle copies blocks of the given lengths, which lie one after another, to the
// results, unless they are there or there are none.
func (c *messageCall) settle(out []Block, all []byte, counts []int) error {
	for m, b := range out {
		if b.Len() != counts[m] {
			return fmt.Errorf("got %d bytes of member %d, want %d", counts[m], m, b.Len())
		}
		if !sameMemory(b.Data, all) {
			Copy(b, Whole(all[:counts[m]]))
		}
		all = all[counts[m]:]
	}
	return nil
}

// packed returns the bytes of a block in one run.
func packed(b Block) []byte {
	if b.Len() == 0 || b.contiguous() {
		return b.run(0, b.Len())
	}
	return b.all().appendTo(nil)
}
