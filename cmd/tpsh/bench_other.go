//go:build !linux

package main

// Resident memory is told on Linux alone.

func residentMemory() int { return 0 }
func resetPeak() bool     { return false }
func peakMemory() int     { return 0 }
func totalMemory() int    { return 0 }
