package main

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"tpsh/internal/allowance"
)

// systemChecks are those of what Linux gives to ranks that are processes.
func systemChecks() []check {
	return []check{
		{"memory", lookAtMemory},
		{"memfd", lookAtMemfd},
		{"/dev/shm", lookAtDevShm},
		{"futex", lookAtFutex},
		{"pidfd", lookAtPidfd},
		{"limits", lookAtLimits},
	}
}

// lookAtMemory reads what the machine has, and which control group leaves how much of it.
func lookAtMemory() finding {
	total, free := procBytes("/proc/meminfo", "MemTotal"), procBytes("/proc/meminfo", "MemAvailable")
	if total == 0 {
		return failure("/proc/meminfo does not say how much there is; is /proc mounted?")
	}
	return ok("%s, %s available%s", bytesText(uint64(total)), bytesText(uint64(free)), memoryAllowed(allowance.MemoryLimit(), allowance.Available()))
}

// shared maps a page of new shared memory.
func shared() (page []byte, unmap func(), err error) {
	fd, err := unix.MemfdCreate("tpsh-doctor", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, 4096); err != nil {
		return nil, nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		return nil, nil, err
	}
	page, err = unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return page, func() { unix.Munmap(page) }, err
}

func lookAtMemfd() finding {
	_, unmap, err := shared()
	if err != nil {
		return failure("shm needs it: %v", err)
	}
	unmap()
	return ok("shared memory is made, sealed and mapped")
}

// lookAtDevShm tells of a place that tpsh itself does not use, since memfd has
// no limit of its own.
func lookAtDevShm() finding {
	var s unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &s); err != nil {
		return none("%v (tpsh does not need it)", err)
	}
	unit := uint64(s.Bsize)
	return ok("%s free of %s (an MPI may need it, tpsh does not)", bytesText(s.Bavail*unit), bytesText(s.Blocks*unit))
}

// lookAtFutex waits for a word of shared memory that has another value, which
// ends at once.
func lookAtFutex() finding {
	const futexWait = 0
	page, unmap, err := shared()
	if err != nil {
		return failure("no shared memory to wait in: %v", err)
	}
	defer unmap()
	_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&page[0])), futexWait, 1, 0, 0, 0)
	if errno != syscall.EAGAIN {
		return failure("shm needs it: got %v, want %v", errno, syscall.EAGAIN)
	}
	return ok("processes can wait for each other in shared memory")
}

func lookAtPidfd() finding {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if errors.Is(err, unix.ENOSYS) {
		return none("the kernel has none; the ends of ranks are noticed all the same")
	}
	if err != nil {
		return none("%v; the ends of ranks are noticed all the same", err)
	}
	unix.Close(fd)
	return ok("the kernel tells of the ends and stops of ranks at once")
}

// lookAtLimits reads how many files and processes there may be. Over tcp, each
// rank has a file for each other, and the launcher some for each rank.
func lookAtLimits() finding {
	var files, processes unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return failure("%v", err)
	}
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &processes); err != nil {
		return failure("%v", err)
	}
	const perRank = 4
	return ok("%s open files (enough for about %d ranks that are processes), %s processes", limitText(files.Cur), min(files.Cur/perRank, maxRanks), limitText(processes.Cur))
}

func limitText(n uint64) string {
	if n == unix.RLIM_INFINITY {
		return "unlimited"
	}
	return strconv.FormatUint(n, 10)
}
