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
	check   func(n int) error // says what is wrong with so many bytes that were received; nil if nothing can be
	then    func()            // is called when it has ended, by a goroutine that holds World.mu; nil if nobody minds
	wake    chan struct{}     // is closed when it has ended; nil if nobody waits

	over atomic.Bool // whether err is there, which does not change any more
	err  error
}

// hold keeps memory in its place until the operation has ended.
func (o *operation) hold(b []byte) {
	if len(b) > 0 {
		o.pins.Pin(&b[0])
	}
	o.keep = append(o.keep, b)
}

// finish tells the waiting goroutines that the operation has ended, and has received n bytes
// unless err is set. Only the first call counts.
func (o *operation) finish(n int, err error) {
	if o.over.Load() {
		return
	}
	if err == nil && o.check != nil {
		err = o.check(n)
	}
	o.err = err
	o.over.Store(true) // whoever looks now finds err
	if o.then != nil {
		o.then()
	}
	if o.wake != nil {
		close(o.wake)
	}
}
