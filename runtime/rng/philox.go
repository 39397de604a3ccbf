package rng

import "math/bits"

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

// pair returns block b as two 64-bit words.
func (s *stream) pair(b uint64) (w0, w1 uint64) {
	x0, x1, x2, x3 := s.block(b)
	return uint64(x1)<<32 | uint64(x0), uint64(x3)<<32 | uint64(x2)
}

// each32 sets dst[i] to f of 32-bit word first+i.
func each32[T any](dst []T, s stream, first uint64, f func(w uint32) T) {
	for len(dst) > 0 {
		var w [4]uint32
		w[0], w[1], w[2], w[3] = s.block(first / 4)
		n := min(len(dst), 4-int(first%4))
		for i := range n {
			dst[i] = f(w[int(first%4)+i])
		}
		dst = dst[n:]
		first += uint64(n)
	}
}

// each64 sets dst[i] to f of 64-bit word first+i.
func each64[T any](dst []T, s stream, first uint64, f func(w uint64) T) {
	for len(dst) > 0 {
		var w [2]uint64
		w[0], w[1] = s.pair(first / 2)
		n := min(len(dst), 2-int(first%2))
		for i := range n {
			dst[i] = f(w[int(first%2)+i])
		}
		dst = dst[n:]
		first += uint64(n)
	}
}

// below returns a number in [0, n) from a block of the draw, n > 0: the upper
// 64 bits of the 192-bit product of n and the block's 128 bits. No number is
// more likely than another by more than 2^-64 of its share.
func (s *stream) below(b, n uint64) uint64 {
	lo, hi := s.pair(b)
	h1, l1 := bits.Mul64(hi, n)
	h0, _ := bits.Mul64(lo, n)
	_, carry := bits.Add64(l1, h0, 0)
	return h1 + carry
}
