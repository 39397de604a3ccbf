package process

import (
	"fmt"
	"slices"

	"tpsh/comm"
	"tpsh/comm/schedule"
)

// A Carrier carries out whole collectives of all ranks of a fabric: broadcasts,
// which gain by it. All ranks call it in the same order, with the same roots and
// lengths; it returns when this rank's part is done.
type Carrier interface {
	// Broadcast fills b, as long on every rank, with the root's.
	Broadcast(root int, b []byte) error
}

const (
	// carryBytes is the length from which a block is worth carrying.
	carryBytes = 256 << 10
	// mostCarried is how long it may be: MPI counts its bytes in 31 bits.
	mostCarried = 1<<31 - 1
	// carryStaging is, in a contract, the staging buffer of a member that is ready to have the
	// call carried. Groups with a Carrier have no staging buffers.
	carryStaging = 1<<32 - 1
)

// carrierOf returns the carrier for a group, nil if there is none: it carries
// for all ranks in their order. Two ranks do not need it: a message of one to the
// other takes as long whoever sends it.
func (wr *wireRank) carrierOf(ranks []int) Carrier {
	if len(ranks) < 3 || len(ranks) != len(wr.received) || !slices.IsSorted(ranks) {
		return nil
	}
	return wr.carrier
}

// canCarry reports whether this member is ready to have its call carried. Calls
// that go on beside the rank are not, since nothing says in which order ranks
// would come to them.
func (c *wireCall) canCarry() bool {
	return c.own && c.op.Kind == comm.Broadcast
}

// carried reports whether a call is carried that this member is ready to have carried.
// Every member comes to the same.
func (c *wireCall) carried() bool {
	for _, r := range c.group.others {
		if c.call.contracts[r].Staging != carryStaging {
			return false
		}
	}
	return c.bytes >= carryBytes && c.bytes <= mostCarried
}

// carry has the call carried. A member whose carrier fails is of no use to the
// others any more.
func (c *wireCall) carry() error {
	if c.own {
		c.group.detached.Wait() // earlier calls are carried before
	}
	err := c.carryBroadcast()
	if err != nil {
		err = fmt.Errorf("%s: %w", c.op.Desc.Op, err)
		c.group.wireRank.giveUp(err)
	}
	return err
}

// carryBroadcast carries a Broadcast, from and to the blocks if they are runs.
func (c *wireCall) carryBroadcast() error {
	var b []byte
	switch {
	case c.op.Desc.Root == c.group.rank:
		b = packed(c.op.In[0])
	case len(c.out) > 0 && c.out[0].Contiguous() && c.out[0].Len() == c.bytes:
		b = c.out[0].Run(0, c.bytes)
	default:
		b = make([]byte, c.bytes)
	}
	if err := c.group.carrier.Broadcast(c.op.Desc.Root, b); err != nil {
		return err
	}
	return c.settle(b)
}

// settle copies the block that was broadcast to the result, unless it is there or there is
// none.
func (c *wireCall) settle(all []byte) error {
	if len(c.out) == 0 {
		return nil
	}
	b := c.out[0]
	if b.Len() != len(all) {
		return fmt.Errorf("got %d bytes, want %d", len(all), b.Len())
	}
	if !schedule.SameMemory(b.Data, all) {
		comm.Copy(b, comm.Whole(all))
	}
	return nil
}

// packed returns the bytes of a block in one run.
func packed(b comm.Block) []byte {
	if b.Len() == 0 || b.Contiguous() {
		return b.Run(0, b.Len())
	}
	return b.All().AppendTo(nil)
}
