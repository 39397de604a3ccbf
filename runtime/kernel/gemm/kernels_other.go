//go:build !amd64 && !arm64

package gemm

import "tpsh/runtime/kernel/vec"

// vectorKernels is not called: vec.Set has nothing but Portable here.
func vectorKernels(vec.Set) (*kernels[float32], *kernels[float64]) {
	return &portableF32, &portableF64
}
