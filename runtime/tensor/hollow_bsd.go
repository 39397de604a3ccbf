//go:build unix && !linux

package tensor

// noReserve is nothing: what is never touched takes no memory.
const noReserve = 0
