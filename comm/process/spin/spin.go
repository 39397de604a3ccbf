// Package spin is how a wait of a rank passes the time while it polls. A rank that
// waits for a message looks whether it has come, again and again, before it sleeps:
// to sleep and to be woken costs more than most messages take. Between two looks it
// lets others run, since the rank that is to send the message may need the core.
//
// For example, a wait that looks at a connection:
//
//	var limit spin.Limit
//	for i := 0; i < spin.Rounds && !limit.Passed(i); i++ {
//		if come() {
//			return true
//		}
//		spin.Yield(i)
//	}
//	sleep()
//
// Every transport of package process that is polled waits like this: shared memory,
// TCP and the streams of an MPI.
package spin

import (
	"runtime"
	"time"
)

// Rounds is how often a wait looks in vain at connections before it sleeps.
const Rounds = 300

// goYields is how many times other processes may run for one time that other
// goroutines may.
const goYields = 32

// Yield lets other processes run, and in one of some calls, which are numbered by i,
// other goroutines: that may wake a thread for them, which costs more.
func Yield(i int) {
	if i%goYields == goYields-1 {
		runtime.Gosched()
	}
	YieldCore()
}

// YieldAfterFirst yields after all looks but the first, which is numbered 0.
func YieldAfterFirst(i int) {
	if i > 0 {
		Yield(i)
	}
}

// longest is how long a wait polls, and looksBetween how many looks it does so without
// looking at the clock.
const (
	longest      = 4 * time.Millisecond
	looksBetween = 16
)

// A Limit ends a wait's polling where that takes long: with each yield on a busy machine
// others run for as long as the system lets them, and a wait that polls is heard by nobody,
// is not interrupted and tells no supervisor for whom it waits. It begins with its first use.
type Limit struct{ end time.Time }

// Passed reports, before look i, whether polling is to end.
func (l *Limit) Passed(i int) bool {
	if i%looksBetween != 0 {
		return false
	}
	now := time.Now()
	if l.end.IsZero() {
		l.end = now.Add(longest)
	}
	return now.After(l.end)
}
