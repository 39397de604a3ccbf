package main

import (
	"os"
	"strconv"
	"strings"
)

// resetPeak begins to watch the most memory that this process has resident, and
// returns the bytes that it has now; not ok if the system does not tell.
func resetPeak() (now int, ok bool) {
	if os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) != nil {
		return 0, false
	}
	now = statusBytes("VmRSS")
	return now, now > 0
}

// peakMemory returns the most bytes that were resident since resetPeak.
func peakMemory() int { return statusBytes("VmHWM") }

// statusBytes returns a field of /proc/self/status; 0 if it is not there.
func statusBytes(name string) int {
	data, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(data)) {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return n << 10
		}
	}
	return 0
}
