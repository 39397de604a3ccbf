package shm

import (
	"sync/atomic"
	"time"
)

// A Futex is where the goroutines of one process sleep until another process,
// or one of their own, has something for them. It lies in shared memory.
//
// Who sleeps first says so (beginWait), then looks once more for what it waits
// for, and sleeps only if nobody has woken it since. Who has something makes it
// visible first and then wakes; it costs a system call only if someone sleeps.
type Futex struct {
	Sequence *atomic.Uint32 // how often the futex was woken
	waiters  *atomic.Uint32
}

// BeginWait announces a sleeper, who looks once more and then calls wait or cancelWait.
func (x Futex) BeginWait() (ticket uint32) {
	x.waiters.Add(1)
	return x.Sequence.Load()
}

// CancelWait ends what beginWait began.
func (x Futex) CancelWait() { x.waiters.Add(^uint32(0)) }

// Wait returns when the futex has been woken since ticket was given, or after
// timeout.
func (x Futex) Wait(ticket uint32, timeout time.Duration) {
	futexWait((*uint32)(wordOf(x.Sequence)), ticket, timeout)
}

// Wake wakes those who sleep.
func (x Futex) Wake() {
	if x.waiters.Load() > 0 {
		x.WakeAll()
	}
}

// WakeAll wakes those who sleep, though they have not announced it.
func (x Futex) WakeAll() {
	x.Sequence.Add(1)
	futexWake((*uint32)(wordOf(x.Sequence)))
}
