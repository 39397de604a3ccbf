// Package vec is loops over float32 slices, and some float64, in vector
// instructions.
//
// Every kernel gives the same bits in AVX-512, in AVX2, in NEON and in plain Go, which
// the program in folder gen writes from one description: the same steps for
// each element, products fused with sums only where the description says so,
// sums in 16 lanes whatever the width of a register. Of a NaN only that it is
// one is the same.
//
// Kernels panic if the lengths of their arrays differ, which is a defect of
// the caller. A kernel reads and writes no element beyond its arrays. In AVX2
// and AVX-512 large results are stored past the caches, on AMD's processors those of few steps; see Past.
package vec

//go:generate go -C gen run . -set avx512 -out ../avx512_amd64.s -stubs ../avx512_amd64.go -pkg vec
//go:generate go -C gen run . -set avx2 -out ../avx2_amd64.s -stubs ../avx2_amd64.go -pkg vec
//go:generate go -C gen run . -set neon
//go:generate go -C gen run . -set go
