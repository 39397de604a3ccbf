//go:build !linux

package tensor

// machineMemory returns 0: the memory of this machine is not known.
func machineMemory() int { return 0 }

// adviseHuge does nothing.
func adviseHuge(r []byte) {}

// discard does nothing: what is discarded goes back when it is unmapped.
func discard(r []byte) {}
