package shm

import (
	"sync/atomic"
	"time"
)

// A Futex is where the goroutines of one process sleep until another process,
// or one of their own, has something for them. It lies in shared memory.
//
// A waiting process first announces itself (BeginWait), then looks once more for what it waits
// for, and sleeps only if nobody has woken it since. A process that has something makes it
// visible first and then wakes; it costs a system call only if someone sleeps.
//
// A goroutine of the process that has nothing to wait for, and only helps those out that can
// do no more, dozes: what others wait for does not disturb it, only a call to Rouse.
type Futex struct {
	Sequence *atomic.Uint32 // how often the futex was woken
	waiters  *atomic.Uint32
	Bell     *atomic.Uint32 // how often who dozes was roused
}

// BeginWait announces a sleeper, which looks once more and then calls Wait or CancelWait.
func (x Futex) BeginWait() (ticket uint32) {
	x.waiters.Add(1)
	return x.Sequence.Load()
}

// CancelWait takes back a BeginWait.
func (x Futex) CancelWait() { x.waiters.Add(^uint32(0)) }

// Wait returns when the futex has been woken since ticket was given, or after
// timeout.
func (x Futex) Wait(ticket uint32, timeout time.Duration) {
	futexWait((*uint32)(wordOf(x.Sequence)), ticket, timeout)
}

// Doze returns when the futex has been roused since Bell was rung, or after timeout. Who
// dozes reads Bell before it looks for what there is to do, and who rouses has made that
// visible before: so the one sees it or the other's ring.
func (x Futex) Doze(rung uint32, timeout time.Duration) {
	futexWait((*uint32)(wordOf(x.Bell)), rung, timeout)
}

// Rouse wakes who dozes.
func (x Futex) Rouse() {
	x.Bell.Add(1)
	futexWake((*uint32)(wordOf(x.Bell)))
}

// Wake wakes the processes that sleep.
func (x Futex) Wake() {
	if x.waiters.Load() > 0 {
		x.WakeAll()
	}
}

// WakeAll wakes the processes that sleep, though they have not announced it.
func (x Futex) WakeAll() {
	x.Sequence.Add(1)
	futexWake((*uint32)(wordOf(x.Sequence)))
}
