package inproc

import (
	"sync/atomic"

	"tpsh/comm"
	"tpsh/comm/schedule"
)

// mostReducedOnce is the length below which a block that is reduced in a group of many is
// reduced by one member, and copied by the others: each of n members that reduced n blocks
// would do n² of work. Longer ones are cut, or results that members have in common.
const mostReducedOnce = 32 << 10

// A onceReduced is a reduction that the first member to need it makes for all.
type onceReduced struct {
	begun atomic.Bool
	sum   atomic.Pointer[[]byte] // nil until it is there; to nil if it has failed
	there event
}

// get returns the bytes that make returns, which one caller calls.
func (o *onceReduced) get(p spinPolicy, make func() []byte) []byte {
	if o.begun.CompareAndSwap(false, true) {
		b := make()
		o.sum.Store(&b)
		o.there.set()
		return b
	}
	o.there.await(p, func() bool { return o.sum.Load() != nil })
	return *o.sum.Load()
}

// reducesOnce reports whether all members have the same reduction of the call, and one of
// them does the work.
func (c *inprocCall) reducesOnce() bool {
	k := c.op.Kind
	return k.Reduces() && k.Alike() && c.round.many != nil && c.bytes < mostReducedOnce
}

// moveReduced is move for such a call.
func (c *inprocCall) moveReduced() error {
	var failed error
	if out := c.round.outs[c.group.rank]; out != nil {
		sum := c.round.many.reduced.get(c.group.state.transport.spin, c.tryReduce)
		if sum != nil {
			comm.Copy(out[0], comm.Whole(sum))
		} else {
			_, failed = c.reduceAll() // each member's own call tells why not
		}
	}
	if err := c.part(); failed == nil {
		failed = err
	}
	return failed
}

// tryReduce returns what reduceAll does, nil if that fails.
func (c *inprocCall) tryReduce() []byte {
	sum, err := c.reduceAll()
	if err != nil {
		return nil
	}
	return sum
}

// reduceAll returns the reduction of the blocks of all members, in their order.
func (c *inprocCall) reduceAll() (sum []byte, err error) {
	defer comm.Recovered(c.op.Desc.Op, &err)
	srcs := make([]schedule.Span, len(c.round.entries))
	for i := range srcs {
		srcs[i] = c.round.entries[i].block(0).All()
	}
	sum = make([]byte, c.bytes)
	schedule.ReduceSpans([]schedule.Span{comm.Whole(sum).All()}, srcs, c.op.Reduce, c.op.Align)
	return sum, nil
}
