package gemm

import (
	"unsafe"

	"tpsh/runtime/kernel/vec"
)

//go:generate go -C gen run .

// vectorKernels returns the kernels of s, which has vectors.
func vectorKernels(s vec.Set) (*kernels[float32], *kernels[float64]) {
	if s == vec.AVX2 {
		return &avx2F32, &avx2F64
	}
	return &avx512F32, &avx512F64
}

// widenBy returns a function that widens vectors of so many lanes by vector
// and the rest by scalar.
func widenBy[H half](vector func(dst *float32, src *uint16, n int), lanes int, scalar func(dst []float32, src []H)) func(dst []float32, src []H) {
	return func(dst []float32, src []H) {
		n := len(src) &^ (lanes - 1)
		if n > 0 {
			_ = dst[n-1]
			vector(&dst[0], (*uint16)(unsafe.Pointer(&src[0])), n)
		}
		scalar(dst[n:], src[n:])
	}
}
