//go:build native

package mpi

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A threadBell is a bell for an owner that has a thread, and a processor of
// Go's, of its own: it pauses without Go knowing of it.
type threadBell struct{ rung atomic.Uint32 }

// The operations of futex(2), with FUTEX_PRIVATE_FLAG: the word is of one process.
const (
	futexPrivate = 128
	futexWait    = 0 | futexPrivate
	futexWake    = 1 | futexPrivate
)

func (b *threadBell) yield() { unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

func (b *threadBell) sleep(d time.Duration) {
	limit := unix.NsecToTimespec(int64(d))
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&b.rung)), futexWait, 0, uintptr(unsafe.Pointer(&limit)), 0, 0)
	b.rung.Store(0)
}

func (b *threadBell) ring() {
	if b.rung.Swap(1) == 0 {
		unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&b.rung)), futexWake, 1, 0, 0, 0)
	}
}

func (b *threadBell) doze() {
	pause := unix.NsecToTimespec(int64(dozeTime))
	unix.Nanosleep(&pause, nil)
}

// dozeTime is the sleep that the system is asked for, to which it adds some 50 us.
const dozeTime = 5 * time.Microsecond

// sharpen makes the sleeps of this thread end when they are to, and not 50 us
// later.
func sharpen() { unix.Prctl(unix.PR_SET_TIMERSLACK, 1000, 0, 0, 0) }
