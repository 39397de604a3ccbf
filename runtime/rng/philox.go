package rng

import (
	"math/bits"

	"tpsh/runtime/kernel/vec"
)

// The constants of Philox4x32: Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", SC'11, and Random123's philox.h.
const (
	mul0  = 0xD2511F53
	mul1  = 0xCD9E8D57
	bump0 = 0x9E3779B9 // added to the key before each round but the first
	bump1 = 0xBB67AE85
)

// philox returns the block of words at counter (c0, c1, c2, c3) under key
// (k0, k1): ten rounds of Philox4x32.
func philox(c0, c1, c2, c3, k0, k1 uint32) (w0, w1, w2, w3 uint32) {
	for range 10 {
		p0, p1 := uint64(c0)*mul0, uint64(c2)*mul1
		c0, c1, c2, c3 = uint32(p1>>32)^c1^k0, uint32(p1), uint32(p0>>32)^c3^k1, uint32(p0)
		k0 += bump0
		k1 += bump1
	}
	return c0, c1, c2, c3
}

// A stream is the words of one draw: word 4b+j is word j of block b.
type stream struct{ k0, k1, d0, d1 uint32 }

func newStream(seed, draw uint64) stream {
	return stream{uint32(seed), uint32(seed >> 32), uint32(draw), uint32(draw >> 32)}
}

// block returns the four words of block b.
func (s *stream) block(b uint64) (w0, w1, w2, w3 uint32) {
	return philox(uint32(b), uint32(b>>32), s.d0, s.d1, s.k0, s.k1)
}

// batch is how many blocks are made at a time.
const batch = 128

// planes are the words of some blocks: word j of all lies together.
type planes [4][batch]uint32

// make sets x to the words of n blocks, at most batch, from block b on.
func (s *stream) make(x *planes, n int, b uint64) {
	if uint64(uint32(b))+uint64(n) > 1<<32 { // the upper half of the counter changes
		for i := range n {
			x[0][i], x[1][i], x[2][i], x[3][i] = s.block(b + uint64(i))
		}
		return
	}
	for i := range n {
		x[0][i] = uint32(b) + uint32(i)
	}
	vec.Philox(x[0][:n], x[1][:n], x[2][:n], x[3][:n], uint32(b>>32), s.d0, s.d1, s.k0, s.k1)
}

// fill sets w to the words of len(w)/4 blocks, at most batch, from block b on.
func (s *stream) fill(w []uint32, b uint64) {
	var x planes
	n := len(w) / 4
	s.make(&x, n, b)
	for i, first := range x[0][:n] {
		w := w[4*i:][:4]
		w[0], w[1], w[2], w[3] = first, x[1][i], x[2][i], x[3][i]
	}
}

// each32 sets dst to what f makes, part by part, of the 32-bit words from first
// on.
func each32[T any](dst []T, s stream, first uint64, f func(dst []T, w []uint32)) {
	var w [4 * batch]uint32
	for len(dst) > 0 {
		skip := int(first % 4)
		n := min(len(dst), len(w)-skip)
		s.fill(w[:(skip+n+3)/4*4], first/4)
		f(dst[:n], w[skip:skip+n])
		dst = dst[n:]
		first += uint64(n)
	}
}

// each64 is each32 of 64-bit words.
func each64[T any](dst []T, s stream, first uint64, f func(dst []T, w []uint64)) {
	var w [4 * batch]uint32
	var pairs [2 * batch]uint64
	for len(dst) > 0 {
		skip := int(first % 2)
		n := min(len(dst), len(pairs)-skip)
		blocks := (skip + n + 1) / 2
		s.fill(w[:4*blocks], first/2)
		for i := range 2 * blocks {
			pairs[i] = uint64(w[2*i+1])<<32 | uint64(w[2*i])
		}
		f(dst[:n], pairs[skip:skip+n])
		dst = dst[n:]
		first += uint64(n)
	}
}

// eachBlocks calls f with the words of blocks first, first+1, ... of the draw, n of them, batch by
// batch: those of some, the first being number at.
func (s *stream) eachBlocks(first uint64, n int, f func(at, some int, x *planes)) {
	var x planes
	for at := 0; at < n; at += batch {
		some := min(batch, n-at)
		s.make(&x, some, first+uint64(at))
		f(at, some, &x)
	}
}

// of returns the two 64-bit words of block i.
func (x *planes) of(i int) (lo, hi uint64) {
	return uint64(x[1][i])<<32 | uint64(x[0][i]), uint64(x[3][i])<<32 | uint64(x[2][i])
}

// within returns a number in [0, n) of the 128 bits of a block, n > 0: the upper
// 64 bits of the 192-bit product of n and the block's 128 bits. No number is
// more likely than another by more than 2^-64 of its share.
func within(lo, hi, n uint64) uint64 {
	h1, l1 := bits.Mul64(hi, n)
	h0, _ := bits.Mul64(lo, n)
	_, carry := bits.Add64(l1, h0, 0)
	return h1 + carry
}
