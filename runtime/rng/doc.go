// Package rng draws random numbers by position.
//
// A draw is a sequence of numbers without end, named by a seed and a draw
// number. Its element i is a function of (seed, draw, i) alone, so that
// whoever holds a block of a tensor computes that block, and gets the same
// bits as who computes the whole.
//
// The numbers come from Philox4x32-10, a counter-based generator: the key is
// the seed, the counter is (block, draw), and each counter gives a block of
// four 32-bit words, which one element or several neighbours share. All that
// follows is integer arithmetic or float64 arithmetic whose every step is
// rounded, so the bits do not depend on the machine either.
//
//	x := make([]float32, 8)
//	rng.Uniform32(x, seed, draw, 0)
//	rng.Uniform32(x[4:], seed, draw, 4) // changes nothing
package rng
