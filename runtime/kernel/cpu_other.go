//go:build !amd64

package kernel

// best is the only set that kernels are written in for this machine.
const best = Portable
