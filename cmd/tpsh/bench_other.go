//go:build !linux

package main

// resetPeak would watch the resident memory, which only Linux tells.
func resetPeak() (now int, ok bool) { return 0, false }

func peakMemory() int { return 0 }
