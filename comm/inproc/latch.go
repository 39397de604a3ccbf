package inproc

import (
	goruntime "runtime"
	"sync/atomic"

	"tpsh/internal/allowance"
)

// A latch is where the n members of a round wait for each other, once, when
// all of them are on their way.
type latch struct {
	arrived atomic.Int32 // how many have come
	event   event
}

// arrive counts a member in.
func (l *latch) arrive(n int32) {
	if l.arrived.Add(1) == n {
		l.event.set()
	}
}

// wait waits until all n members are in.
func (l *latch) wait(n int32, p spinPolicy) {
	l.event.await(p, func() bool { return l.arrived.Load() == n })
}

// An event lets ranks that have waited for long sleep until it is set.
type event struct {
	sleepers atomic.Pointer[chan struct{}] // nil while nobody sleeps
}

// subscribe returns a channel that is closed when the event is set the next time. The
// caller looks once more before it sleeps: the event may have come before it
// subscribed.
func (e *event) subscribe() chan struct{} {
	opened := make(chan struct{})
	for !e.sleepers.CompareAndSwap(nil, &opened) {
		if other := e.sleepers.Load(); other != nil {
			return *other
		}
	}
	return opened
}

// set wakes the sleepers, after the event that they wait for has come.
func (e *event) set() {
	if opened := e.sleepers.Swap(nil); opened != nil {
		close(*opened)
	}
}

// await returns when come reports true, as it does from before the event is set on. It looks as p says, and
// then sleeps.
func (e *event) await(p spinPolicy, come func() bool) {
	if p.spinUntil(come) {
		return
	}
	if opened := e.subscribe(); !come() {
		<-opened
	}
}

// A spinPolicy says how long a wait goes on before it gives up its goroutine.
type spinPolicy struct {
	looks    int // without a pause, before each yield
	yields   int // how often other goroutines are let run
	messages int // the same in a wait for a message, which takes a lock to look and so does it once a yield
}

// spinPolicyFor returns the patience of size ranks in this process. With a core for each, a
// wait is mostly for a rank that computes something else for some microseconds, and a goroutine
// that sleeps lets its thread sleep, which takes tens of microseconds to wake: the wait looks
// for as long. With fewer cores, a rank that looks keeps another from coming, and one that
// sleeps at once lets its thread sleep.
func spinPolicyFor(size int) spinPolicy {
	if size > allowance.Cores() {
		return spinPolicy{yields: 32, messages: 32}
	}
	return spinPolicy{looks: 2000, yields: 20, messages: 320}
}

// spinUntil looks for a moment whether something has come, and reports whether it
// has.
func (p spinPolicy) spinUntil(come func() bool) bool {
	if come() {
		return true
	}
	for range p.yields {
		for range p.looks {
			if come() {
				return true
			}
		}
		goruntime.Gosched()
		if come() {
			return true
		}
	}
	return false
}
