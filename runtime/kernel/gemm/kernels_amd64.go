package gemm

import "tpsh/runtime/kernel/vec"

// vectorKernels returns the kernels of s, which has vectors.
func vectorKernels(s vec.Set) (*kernels[float32], *kernels[float64]) {
	if s == vec.AVX2 {
		return &avx2F32, &avx2F64
	}
	return &avx512F32, &avx512F64
}
