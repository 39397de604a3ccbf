package vec

import (
	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

// hasAMX reports whether the processor has tiles of bfloat16 and the kernel lets this process
// use them: it asks before a process may since what it saves of a thread becomes larger by the
// tiles. That is so only while tiles are in use, which no function leaves them.
func hasAMX() bool {
	const (
		requestPermission = 0x1023 // ARCH_REQ_XCOMP_PERM
		tileData          = 18     // the component of the processor's state
	)
	if !cpu.X86.HasAMXTile || !cpu.X86.HasAMXBF16 {
		return false
	}
	_, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return errno == 0
}
