// Package spin is how a wait of a rank passes the time while it polls. A rank that
// waits for a message looks whether it has come, again and again, before it sleeps:
// to sleep and to be woken costs more than most messages take. Between two looks it
// lets others run, since the rank that is to send the message may need the core.
//
// For example, a wait that looks at a connection:
//
//	for i := range spin.Rounds {
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

import "runtime"

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
