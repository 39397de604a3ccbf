//go:build !linux

package tensor

// adviseHuge does nothing.
func adviseHuge(r []byte) {}

// discard does nothing: what is discarded goes back when it is unmapped.
func discard(r []byte) {}
