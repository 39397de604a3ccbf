package mpi

import (
	goruntime "runtime"
	"sync/atomic"
)

// An operation is something that MPI has begun and not ended. It holds the
// memory that MPI uses meanwhile.
type operation struct {
	request request
	posted  bool // a receive, for which perhaps nothing comes
	pins    goruntime.Pinner
	keep    [][]byte
	shared  *collective            // that it carries out, nil if it is none
	then    func(n int, err error) // is called when it has ended, by a goroutine that holds World.mu; nil if nobody minds
	wake    chan struct{}          // is closed when it has ended; nil if nobody waits

	over atomic.Bool // whether n and err are there
	n    int         // bytes that were received
	err  error
}

// hold keeps memory in its place until the operation has ended.
func (o *operation) hold(b []byte) {
	if len(b) > 0 {
		o.pins.Pin(&b[0])
	}
	o.keep = append(o.keep, b)
}

// finish tells the waiting goroutines that the operation has ended. Only the first call
// counts.
func (o *operation) finish(n int, err error) {
	if o.over.Load() {
		return
	}
	o.n, o.err = n, err
	o.over.Store(true)
	if o.then != nil {
		o.then(n, err)
	}
	if o.wake != nil {
		close(o.wake)
	}
}
