//go:build !amd64

package gemm

import "tpsh/runtime/kernel"

// vectorKernels is not called: kernel.Set has nothing but Portable here.
func vectorKernels(kernel.Set) (*kernels[float32], *kernels[float64]) {
	return &portableF32, &portableF64
}
