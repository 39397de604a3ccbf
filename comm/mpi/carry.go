package mpi

import (
	"tpsh/comm/process"
	"tpsh/comm/process/stream"
)

var (
	_ process.Carrier   = (*World)(nil)
	_ stream.PollStream = (*Stream)(nil)
)

// A collective is a broadcast from and to the memory of all ranks.
type collective struct {
	root  int
	bytes []byte
}

// Broadcast does as process.Carrier says, by MPI_Ibcast.
func (w *World) Broadcast(root int, b []byte) error {
	return w.collect(&collective{root, b})
}

// collect carries out a collective.
func (w *World) collect(c *collective) error {
	o := &operation{wake: make(chan struct{})}
	o.hold(c.bytes)
	w.mu.Lock()
	w.submit(o, func() (request, error) { return w.engine.collect(c) })
	w.mu.Unlock()
	w.wait(o, w.done)
	if !o.over.Load() {
		return errClosed
	}
	return o.err
}
