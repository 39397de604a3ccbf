//go:build !amd64

package gemm

// nearBytes is the size of an operand up to which its rows are read where they lie.
func nearBytes() int { return firstLevel }
