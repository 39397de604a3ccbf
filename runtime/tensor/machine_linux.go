package tensor

import "golang.org/x/sys/unix"

// machineMemory returns the bytes of memory of this machine.
func machineMemory() int {
	var si unix.Sysinfo_t
	if unix.Sysinfo(&si) != nil {
		return 0
	}
	return int(si.Totalram) * int(si.Unit)
}

// adviseHuge asks for huge pages where they help: fewer faults, fewer misses.
func adviseHuge(r []byte) {
	if len(r) >= 2<<20 {
		unix.Madvise(r, unix.MADV_HUGEPAGE)
	}
}
