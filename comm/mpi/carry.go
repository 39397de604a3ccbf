package mpi

import "tpsh/comm"

var (
	_ comm.Carrier    = (*World)(nil)
	_ comm.PollStream = (*Stream)(nil)
)

// A collective is one of all ranks: memory, and who has what part of it.
type collective struct {
	do   pattern
	root int
	mine []byte // what this rank offers; what is broadcast, on every rank
	all  []byte // the results, nil if there are none here
	// counts and starts are the lengths and places of the ranks' parts of all.
	counts, starts []int32
}

// A pattern is what a collective does.
type pattern int

const (
	broadcast pattern = iota
	allGather
	gather
)

// Broadcast does as comm.Carrier says, by MPI_Ibcast.
func (w *World) Broadcast(root int, b []byte) error {
	return w.collect(&collective{do: broadcast, root: root, mine: b})
}

// AllGather does as comm.Carrier says, by MPI_Iallgatherv.
func (w *World) AllGather(mine, all []byte, counts []int) error {
	c := &collective{do: allGather, mine: mine, all: all}
	c.layOut(counts)
	return w.collect(c)
}

// Gather does as comm.Carrier says, by MPI_Igatherv.
func (w *World) Gather(root int, mine, all []byte, counts []int) error {
	c := &collective{do: gather, root: root, mine: mine, all: all}
	c.layOut(counts)
	return w.collect(c)
}

// layOut has parts of the given lengths lie one after another.
func (c *collective) layOut(counts []int) {
	at := int32(0)
	for _, n := range counts {
		c.counts, c.starts = append(c.counts, int32(n)), append(c.starts, at)
		at += int32(n)
	}
}

// collect carries out a collective.
func (w *World) collect(c *collective) error {
	o := &operation{wake: make(chan struct{}), shared: c}
	o.hold(c.mine)
	o.hold(c.all)
	if len(c.counts) > 0 {
		o.pins.Pin(&c.counts[0])
		o.pins.Pin(&c.starts[0])
	}
	w.lock()
	w.submit(o, func() (request, error) { return w.engine.collect(c) })
	w.mu.Unlock()
	w.wait(o, w.done)
	if !o.over.Load() {
		return errClosed
	}
	return o.err
}
