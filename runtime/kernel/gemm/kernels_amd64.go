package gemm

import "tpsh/runtime/kernel/vec"

// vectorKernels returns the kernels of s, which has vectors.
func vectorKernels(s vec.Set) (*kernels[float32], *kernels[float64]) {
	switch s {
	case vec.AVX2:
		return &avx2F32, &avx2F64
	case vec.AVX512:
		return &avx512F32, &avx512F64
	default:
		return &amxF32, &avx512F64
	}
}

// The kernels of AMX are those of AVX-512 but for products of bfloat16.
var (
	amxF32  = withBF16(avx512F32, &amxBF16)
	amxBF16 = withTiles(avx512BF16, &amxTiles)
)

// amxTiles are the functions of AMX.
var amxTiles = amxFuncs{
	tiles:       [2][2]amxFunc{{amxTiles1x1, amxTiles1x2}, {amxTiles2x1, amxTiles2x2}},
	lines:       amxLines,
	linesTurned: amxLinesTurned,
	pairs:       amxPairs,
	pairsTurned: amxPairsTurned,
}

// withTiles returns ks with the products of tiles, that ks completes.
func withTiles(ks kernels[float32], f *amxFuncs) kernels[float32] {
	ks.tiled = multiplyTiled(f, &avx512BF16)
	return ks
}
