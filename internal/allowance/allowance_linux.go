package allowance

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A group names the files of a control group that hold its limit and its use.
type group struct{ limit, use string }

var groups = []group{
	{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
	{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"},
}

// Memory returns how many bytes of memory the machine or the container has.
func Memory() int {
	var si unix.Sysinfo_t
	if unix.Sysinfo(&si) != nil {
		return 0
	}
	total := int(si.Totalram) * int(si.Unit)
	for _, g := range groups {
		if n, ok := number(g.limit); ok && n < total {
			total = n
		}
	}
	return total
}

// Available returns how many bytes of memory nobody uses.
func Available() int {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	free := meminfo(text, "MemAvailable:")
	for _, g := range groups {
		limit, ok := number(g.limit)
		if use, ok2 := number(g.use); ok && ok2 && limit-use < free {
			free = max(0, limit-use)
		}
	}
	return free
}

// number returns the number that a file holds, if it holds one.
func number(path string) (int, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return n, err == nil // "max" is none
}

// meminfo returns the bytes that the line with the given name tells.
func meminfo(text []byte, name string) int {
	for line := range bytes.Lines(text) {
		words := strings.Fields(string(line))
		if len(words) >= 2 && words[0] == name {
			kib, _ := strconv.Atoi(words[1]) // the kernel writes numbers
			return kib << 10
		}
	}
	return 0
}
