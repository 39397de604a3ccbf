//go:build !amd64

package vec

// Best returns the only set that kernels are written in for this machine.
func Best() Set { return Portable }
