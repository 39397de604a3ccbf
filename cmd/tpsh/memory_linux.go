package main

import (
	"os"
	"strconv"
	"strings"

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
	if most := uint64(dataBytes() + w.HardLimit() + dataSlack); most < limit.Max {
		limit.Cur = most
		unix.Setrlimit(unix.RLIMIT_DATA, &limit) // else the watch is alone
	}
}

// dataBytes returns the bytes of private memory that the process has mapped, which
// is what RLIMIT_DATA limits.
func dataBytes() int {
	text, _ := os.ReadFile("/proc/self/status")
	_, line, _ := strings.Cut(string(text), "\nVmData:")
	line, _, _ = strings.Cut(line, "kB")
	kib, _ := strconv.Atoi(strings.TrimSpace(line)) // the kernel writes numbers
	return kib << 10
}
