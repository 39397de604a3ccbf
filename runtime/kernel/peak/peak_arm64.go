package peak

import "tpsh/runtime/kernel/vec"

// fma128 does n rounds of chains multiply-adds of 4 float32 each.
//
//go:noescape
func fma128(n int)

// rounds does n rounds with the instructions of a set.
func rounds(s vec.Set, n int) (operations int) {
	if s == vec.NEON {
		fma128(n)
		return 2 * 4 * chains * n
	}
	return scalar(n)
}

// pairRounds does n rounds: there are no tiles.
func pairRounds(s vec.Set, n int) (operations int) { return rounds(s, n) }
