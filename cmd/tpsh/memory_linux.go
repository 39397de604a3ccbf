package main

import (
	"golang.org/x/sys/unix"

	"tpsh/lang"
)

// dataSlack is what a process may have beside the hard limit of its watch: what
// the collector maps and does not use, threads, buffers.
const dataSlack = 1 << 30

// boundMemory has the kernel refuse the process more private memory than its
// programs may ever use, if that was asked for: behind the watch, for what grows
// faster than that looks. The process then ends, and its launcher says of what.
func boundMemory(w *lang.Watch) {
	var limit unix.Rlimit
	if w.Room != nil || unix.Getrlimit(unix.RLIMIT_DATA, &limit) != nil {
		return
	}
	private := procBytes("/proc/self/status", "VmData") // which is what RLIMIT_DATA limits
	if most := uint64(private + w.HardLimit() + dataSlack); most < limit.Max {
		limit.Cur = most
		unix.Setrlimit(unix.RLIMIT_DATA, &limit) // else the watch is alone
	}
}
