package rng

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// Uniform32 sets dst[i] to element first+i of the draw, uniform over the
// multiples of 2^-24 in [0, 1). Each takes the upper 24 bits of one word.
func Uniform32(dst []float32, seed, draw, first uint64) {
	each32(dst, newStream(seed, draw), first, func(dst []float32, w []uint32) {
		for i, w := range w {
			dst[i] = float32(w>>8) * 0x1p-24
		}
	})
}

// Uniform64 is Uniform32 in float64: multiples of 2^-53, from two words each.
func Uniform64(dst []float64, seed, draw, first uint64) {
	each64(dst, newStream(seed, draw), first, func(dst []float64, w []uint64) {
		for i, w := range w {
			dst[i] = float64(w>>11) * 0x1p-53
		}
	})
}

// UniformF16 is Uniform32 in float16: multiples of 2^-11, so that none rounds
// to 1.
func UniformF16(dst []dtype.F16, seed, draw, first uint64) {
	each32(dst, newStream(seed, draw), first, func(dst []dtype.F16, w []uint32) {
		for i, w := range w {
			dst[i] = dtype.ToF16(float32(w>>21) * 0x1p-11)
		}
	})
}

// UniformBF16 is Uniform32 in bfloat16: multiples of 2^-8, so that none rounds
// to 1.
func UniformBF16(dst []dtype.BF16, seed, draw, first uint64) {
	each32(dst, newStream(seed, draw), first, func(dst []dtype.BF16, w []uint32) {
		for i, w := range w {
			dst[i] = dtype.ToBF16(float32(w>>24) * 0x1p-8)
		}
	})
}

// Normal32 sets dst[i] to element first+i of the draw, from the standard
// normal distribution: the quantile of (w + 1/2) / 2^32 for one word w. The
// largest possible is 6.3.
func Normal32(dst []float32, seed, draw, first uint64) {
	each32(dst, newStream(seed, draw), first, normals)
}

// Normal64 is Normal32 in float64: the quantile of (w + 1/2) / 2^53 for the
// upper 53 bits w of two words. The largest possible is 8.3.
func Normal64(dst []float64, seed, draw, first uint64) {
	each64(dst, newStream(seed, draw), first, func(dst []float64, w []uint64) {
		for i, w := range w {
			dst[i] = normal(int64(w>>11)<<1-(1<<53-1), 0x1p-54)
		}
	})
}

// NormalF16 is Normal32 rounded to float16.
func NormalF16(dst []dtype.F16, seed, draw, first uint64) {
	var x [4 * batch]float32
	each32(dst, newStream(seed, draw), first, func(dst []dtype.F16, w []uint32) {
		normals(x[:len(w)], w)
		vec.NarrowF16(dst, x[:len(w)])
	})
}

// NormalBF16 is Normal32 rounded to bfloat16.
func NormalBF16(dst []dtype.BF16, seed, draw, first uint64) {
	var x [4 * batch]float32
	each32(dst, newStream(seed, draw), first, func(dst []dtype.BF16, w []uint32) {
		normals(x[:len(w)], w)
		vec.NarrowBF16(dst, x[:len(w)])
	})
}

// Exponential64 sets dst[i] to element first+i of the draw, from the
// exponential distribution of mean 1: minus the logarithm of (w + 1) / 2^53
// for the upper 53 bits w of two words. Zero is possible, infinity is not.
func Exponential64(dst []float64, seed, draw, first uint64) {
	each64(dst, newStream(seed, draw), first, func(dst []float64, w []uint64) {
		for i, w := range w {
			dst[i] = -ln(float64(w>>11+1) * 0x1p-53)
		}
	})
}

// Keep sets dst[i] to whether element first+i of the draw, uniform in [0, 1),
// is below p. It takes one word of 32 bits, so p is rounded to a multiple of
// 2^-32.
func Keep(dst []bool, seed, draw, first uint64, p float64) {
	limit := uint64(float64(p*(1<<32)) + 0.5)
	each32(dst, newStream(seed, draw), first, func(dst []bool, w []uint32) {
		for i, w := range w {
			dst[i] = uint64(w) < limit
		}
	})
}

// Ints sets dst[i] to element first+i of the draw, uniform in [low, high).
// Each takes a block of four words, which leaves no bias that could be
// measured. It panics unless low < high.
func Ints(dst []int64, seed, draw, first uint64, low, high int64) {
	if low >= high {
		panic("rng: Ints of an empty range")
	}
	s, n := newStream(seed, draw), uint64(high)-uint64(low)
	s.eachBlocks(first, len(dst), func(at, some int, x *planes) {
		for i := range dst[at : at+some] {
			lo, hi := x.of(i)
			dst[at+i] = int64(uint64(low) + within(lo, hi, n))
		}
	})
}

// Perm sets dst to a permutation of 0..len(dst)-1: the shuffle of Fisher and
// Yates, whose step for element i takes block i of the draw.
func Perm(dst []int64, seed, draw uint64) {
	for i := range dst {
		dst[i] = int64(i)
	}
	s := newStream(seed, draw)
	var to [batch]int
	for end := len(dst); end > 1; {
		start := max(1, end-batch)
		s.eachBlocks(uint64(start), end-start, func(at, some int, x *planes) {
			for i := range some {
				lo, hi := x.of(i)
				to[at+i] = int(within(lo, hi, uint64(start+at+i)+1))
			}
		})
		for i := end - 1; i >= start; i-- {
			j := to[i-start]
			dst[i], dst[j] = dst[j], dst[i]
		}
		end = start
	}
}
