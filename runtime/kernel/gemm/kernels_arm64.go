package gemm

import "tpsh/runtime/kernel/vec"

// vectorKernels returns the kernels of NEON, the only set of vectors.
func vectorKernels(vec.Set) (*kernels[float32], *kernels[float64]) { return &neonF32, &neonF64 }
