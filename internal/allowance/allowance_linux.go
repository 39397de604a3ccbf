package allowance

import (
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func thisMachine() *machine {
	m := machineWith(nil)
	m.findGroups()
	return m
}

// machineWith returns this machine with groups that may hold the process to some memory.
func machineWith(groups []string) *machine {
	m := &machine{root: os.DirFS("/"), total: totalMemory, memoryGroups: groups}
	m.free = func() int {
		text, _ := fs.ReadFile(m.root, "proc/meminfo")
		return meminfo(string(text), "MemAvailable:")
	}
	m.findLimits()
	return m
}

// totalMemory returns how many bytes of memory the machine has.
func totalMemory() int {
	var si unix.Sysinfo_t
	if unix.Sysinfo(&si) != nil {
		return 0
	}
	return int(si.Totalram) * int(si.Unit)
}

// meminfo returns the bytes that the line with the given name tells.
func meminfo(text, name string) int {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) >= 2 && words[0] == name {
			kib, _ := strconv.Atoi(words[1]) // the kernel writes numbers
			return kib << 10
		}
	}
	return 0
}

// resident returns the bytes of memory that this process has to itself; 0 if that is not told.
func resident() int {
	text, _ := os.ReadFile("/proc/self/statm")
	return private(string(text)) * os.Getpagesize()
}

// private returns the pages of a process that no file and no other process has, given its statm,
// as proc_pid_statm(5) has it.
func private(statm string) int {
	words := strings.Fields(statm) // size, resident, shared, ...
	if len(words) < 3 {
		return 0
	}
	all, _ := strconv.Atoi(words[1]) // the kernel writes numbers
	shared, _ := strconv.Atoi(words[2])
	return max(0, all-shared)
}
