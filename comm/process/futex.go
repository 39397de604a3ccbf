package process

import (
	"sync/atomic"
	"time"
)

// A futex is where the goroutines of one process sleep until another process,
// or one of their own, has something for them. It lies in shared memory.
//
// Who sleeps first says so (beginWait), then looks once more for what it waits
// for, and sleeps only if nobody has woken it since. Who has something makes it
// visible first and then wakes; it costs a system call only if someone sleeps.
type futex struct {
	sequence *atomic.Uint32 // how often the futex was woken
	waiters  *atomic.Uint32
}

// beginWait announces a sleeper, who looks once more and then calls wait or cancelWait.
func (x futex) beginWait() (ticket uint32) {
	x.waiters.Add(1)
	return x.sequence.Load()
}

// cancelWait ends what beginWait began.
func (x futex) cancelWait() { x.waiters.Add(^uint32(0)) }

// wait returns when the futex has been woken since ticket was given, or after
// timeout.
func (x futex) wait(ticket uint32, timeout time.Duration) {
	futexWait((*uint32)(wordOf(x.sequence)), ticket, timeout)
}

// wake wakes those who sleep.
func (x futex) wake() {
	if x.waiters.Load() > 0 {
		x.wakeAll()
	}
}

// wakeAll wakes those who sleep, though they have not announced it.
func (x futex) wakeAll() {
	x.sequence.Add(1)
	futexWake((*uint32)(wordOf(x.sequence)))
}
