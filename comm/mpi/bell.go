package mpi

import (
	goruntime "runtime"
	"time"
)

// A bell is where the owner of an engine pauses until somebody has work for it.
type bell interface {
	// yield lets others go on for a moment.
	yield()
	// sleep returns after a time, or at once if ring was called since the last
	// sleep or is called meanwhile.
	sleep(d time.Duration)
	ring()
	// doze lets some ten microseconds pass, on any thread.
	doze()
}

// A timerBell is a bell for an owner that is a goroutine like others. Go's
// timers are coarse: they may round up to a millisecond.
type timerBell chan struct{}

// leastTimer is the shortest time for which a timerBell sleeps, and leastSleep what it asks for
// where it is to be shorter, so that others have the processor.
const (
	leastTimer = 200 * time.Microsecond
	leastSleep = 10 * time.Microsecond
)

func newTimerBell() timerBell { return make(timerBell, 1) }

func (timerBell) yield() { goruntime.Gosched() }

func (timerBell) doze() { time.Sleep(leastSleep) }

func (b timerBell) sleep(d time.Duration) {
	if d < leastTimer {
		time.Sleep(leastSleep)
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-b:
	case <-timer.C:
	}
}

func (b timerBell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}
