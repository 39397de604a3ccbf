package peak

import "tpsh/runtime/kernel/vec"

// fma256 does n rounds of chains multiply-adds of 8 float32 each.
//
//go:noescape
func fma256(n int)

// fma512 does n rounds of chains multiply-adds of 16 float32 each.
//
//go:noescape
func fma512(n int)

// rounds does n rounds with the instructions of a set.
func rounds(s vec.Set, n int) (operations int) {
	switch s {
	case vec.AVX512, vec.AMX:
		fma512(n)
		return 2 * 16 * chains * n
	case vec.AVX2:
		fma256(n)
		return 2 * 8 * chains * n
	}
	return scalar(n)
}
