package dtype

import "math"

// F8E4M3 is a number of float8_e4m3fn as it is stored: 4 bits of exponent, 3 of
// fraction, no infinity, one NaN of each sign, and 448 as the greatest. Micikevicius
// et al., "FP8 formats for deep learning", arXiv 2209.05433, 2022.
type F8E4M3 uint8

// F8E5M2 is a number of float8_e5m2 as it is stored: the upper half of an F16.
type F8E5M2 uint8

// Float32 widens h exactly: its exponent and fraction, moved to their places in a
// float32, are those of its value times 2^-120, subnormal or not.
func (h F8E4M3) Float32() float32 {
	if h&0x7f == 0x7f {
		return float32(math.NaN())
	}
	v := math.Float32frombits(uint32(h&0x7f)<<20) * 0x1p120
	return math.Float32frombits(math.Float32bits(v) | uint32(h&0x80)<<24)
}

// ToF8E4M3 rounds f to the nearest F8E4M3, ties to even. What is beyond 448, infinities
// included, becomes 448 of its sign, as in PyTorch 2.15.
func ToF8E4M3(f float32) F8E4M3 {
	b := math.Float32bits(f)
	sign := F8E4M3(b >> 24 & 0x80)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000: // NaN
		return sign | 0x7f
	case b >= 0x43e00000: // 448 or beyond
		return sign | 0x7e
	case b < 0x3c800000: // below 2^-6: subnormal, counted in units of 2^-9
		// Adding 2^14 leaves the count, rounded to even, in the low bits.
		return sign | F8E4M3(math.Float32bits(math.Float32frombits(b)+0x1p14)-math.Float32bits(0x1p14))
	}
	odd := b >> 20 & 1
	return sign | F8E4M3((b+0x7ffff+odd)>>20-120<<3)
}

// Float32 widens h exactly.
func (h F8E5M2) Float32() float32 { return (F16(h) << 8).Float32() }

// ToF8E5M2 rounds f to the nearest F8E5M2, ties to even. What would round beyond 57344
// is an infinity.
func ToF8E5M2(f float32) F8E5M2 {
	b := math.Float32bits(f)
	sign := F8E5M2(b >> 24 & 0x80)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000: // NaN
		return sign | 0x7f
	case b >= 0x47700000: // rounds to 2^16 or beyond: infinity
		return sign | 0x7c
	case b < 0x38800000: // below 2^-14: subnormal, counted in units of 2^-16
		return sign | F8E5M2(math.Float32bits(math.Float32frombits(b)+0x1p7)-math.Float32bits(0x1p7))
	}
	odd := b >> 21 & 1
	return sign | F8E5M2((b+0xfffff+odd)>>21-112<<2)
}
