// Package peak measures what a core can compute at most: it multiplies and adds
// in registers alone, as the kernels would if memory took no time. Benchmarks
// compare with it.
//
// Multiply does n rounds with the widest instructions that the kernels may use (see
// package vec) and returns how many operations that were: a fused multiply-add is two.
// The result is a limit, not a goal: a kernel that reads memory stays below. For example
//
//	start := time.Now()
//	operations := peak.Multiply(1 << 20)
//	perSecond := float64(operations) / time.Since(start).Seconds()
package peak

import "tpsh/runtime/kernel/vec"

// Multiply does n rounds of independent fused multiply-adds of float32, with the
// widest instructions of the set in use, and returns how many operations these
// were: a multiply-add of a lane counts as two.
func Multiply(n int) (operations int) {
	return rounds(vec.Active(), n)
}

// MultiplyBFloat16 does n rounds of what products of bfloat16 are made of: the tiles
// of AMX, if these are in use, and else the multiply-adds of Multiply. It returns how
// many operations these were.
func MultiplyBFloat16(n int) (operations int) {
	return pairRounds(vec.Active(), n)
}

// chains is how many multiply-adds of a round do not wait for each other: more
// than any processor has under way.
const chains = 12
