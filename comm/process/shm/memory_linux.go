package shm

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// createMemory returns a file of size bytes that exists nowhere but in memory,
// and cannot change its size.
func createMemory(size int) (*os.File, error) {
	fd, err := unix.MemfdCreate("tpsh", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "shared memory")
	if err := f.Truncate(int64(size)); err != nil {
		f.Close()
		return nil, fmt.Errorf("%d bytes: %w%s", size, err, fileLimit(size))
	}
	const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		f.Close()
		return nil, os.NewSyscallError("fcntl", err)
	}
	return f, nil
}

// fileLimit says of a file of size bytes that is too large for the limit of the
// process (ulimit -f), which memory is subject to as if it lay on a disk, how
// large that is.
func fileLimit(size int) string {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) != nil || limit.Cur >= uint64(size) {
		return ""
	}
	return fmt.Sprintf(" (ulimit -f lets files have %d bytes; ranks on tcp need none)", limit.Cur)
}

// mapMemory maps a file that createMemory has made, here or in another process.
func mapMemory(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || seals&unix.F_SEAL_SHRINK == 0 {
		return nil, errors.New("got a file that can shrink, want memory of tpsh")
	}
	if info.Size() < 1 || info.Size() > 1<<46 {
		return nil, fmt.Errorf("got a file of %d bytes, want memory of tpsh", info.Size())
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return mem, os.NewSyscallError("mmap", err)
}

func unmapMemory(mem []byte) error { return unix.Munmap(mem) }

// The operations of futex(2) on words that several processes share.
const (
	futexWaitOp = 0
	futexWakeOp = 1
)

// futexWait sleeps until futexWake is called on word, unless word is not value
// to begin with, for at most timeout.
func futexWait(word *uint32, value uint32, timeout time.Duration) {
	limit := unix.NsecToTimespec(int64(timeout))
	syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWaitOp, uintptr(value),
		uintptr(unsafe.Pointer(&limit)), 0, 0)
}

// futexWake wakes all that sleep on word, in whatever process.
func futexWake(word *uint32) {
	syscall.RawSyscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWakeOp, 1<<30, 0, 0, 0)
}

// processID returns the process by which others can name this one.
func processID() int { return os.Getpid() }

// ErrNoProcess is the error of readRuns for a process that has ended.
const ErrNoProcess = unix.ESRCH

// mostRuns is how many runs of memory readRuns takes at most.
const mostRuns = 512

// readRuns reads runs of another process's memory, if the system lets this one:
// as many bytes as both lists have. It takes as long as a copy, and the scheduler
// does not hear of it: a rank that has much to read calls it several times.
func readRuns(process int, to []localRun, from []remoteRun) (int, error) {
	n, _, err := syscall.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(process),
		uintptr(unsafe.Pointer(unsafe.SliceData(to))), uintptr(len(to)),
		uintptr(unsafe.Pointer(unsafe.SliceData(from))), uintptr(len(from)), 0)
	if err != 0 {
		return 0, os.NewSyscallError("process_vm_readv", err)
	}
	return int(n), nil
}
