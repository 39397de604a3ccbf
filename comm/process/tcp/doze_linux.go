package tcp

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// doze is wait for a short time, of which Go's scheduler is not told. Told of it, it has
// another thread see after some ten microseconds that the system call goes on, and again and
// again while calls follow each other: with several processes for each core that takes longer
// than all the rest. A goroutine that is to stop for a collection is interrupted.
func (l pollList) doze(timeout time.Duration) {
	t := unix.NsecToTimespec(timeout.Nanoseconds())
	unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(l))), uintptr(len(l)), uintptr(unsafe.Pointer(&t)), 0, 0, 0)
}
