package main

import (
	"os"
	"strconv"
	"strings"
)

// residentMemory returns the bytes of this process that are resident.
func residentMemory() int { return statusBytes("VmRSS") }

// resetPeak begins to watch the most memory that is resident. It reports
// whether the system lets it.
func resetPeak() bool { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil }

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

// totalMemory returns the bytes of memory that the machine has; 0 if it does not say.
func totalMemory() int {
	data, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(data)) {
		if rest, found := strings.CutPrefix(line, "MemTotal:"); found {
			n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return n << 10
		}
	}
	return 0
}
