package comm

import (
	"sync/atomic"
	"time"
)

// A bell is where the goroutines of one process sleep until another process,
// or one of their own, has something for them. It lies in shared memory.
//
// Who sleeps first says so (watch), then looks once more for what it waits
// for, and sleeps only if nobody has rung since. Who has something makes it
// visible first and then rings; it costs a system call only if someone sleeps.
type bell struct {
	rung     *atomic.Uint32 // how often the bell was rung for sleepers
	sleepers *atomic.Uint32
}

// watch announces a sleeper, who looks once more and then calls sleep or leave.
func (b bell) watch() (ticket uint32) {
	b.sleepers.Add(1)
	return b.rung.Load()
}

// leave ends what watch began.
func (b bell) leave() { b.sleepers.Add(^uint32(0)) }

// sleep returns when the bell has been rung since ticket was given, or after
// timeout.
func (b bell) sleep(ticket uint32, timeout time.Duration) {
	futexWait((*uint32)(wordOf(b.rung)), ticket, timeout)
}

// ring wakes those who sleep.
func (b bell) ring() {
	if b.sleepers.Load() > 0 {
		b.alarm()
	}
}

// alarm wakes those who sleep, though they have not announced it.
func (b bell) alarm() {
	b.rung.Add(1)
	futexWake((*uint32)(wordOf(b.rung)))
}
