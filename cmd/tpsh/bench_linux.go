package main

import "os"

// residentMemory returns the bytes of this process that are resident.
func residentMemory() int { return procBytes("/proc/self/status", "VmRSS") }

// resetPeak begins to watch the most memory that is resident. It reports
// whether the system lets it.
func resetPeak() bool { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil }

// peakMemory returns the most bytes that were resident since resetPeak.
func peakMemory() int { return procBytes("/proc/self/status", "VmHWM") }

// totalMemory returns the bytes of memory that the machine has; 0 if it does not say.
func totalMemory() int { return procBytes("/proc/meminfo", "MemTotal") }
