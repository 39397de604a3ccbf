package dtype

import "math"

// F16 is an IEEE 754 half-precision number as it is stored.
type F16 uint16

// BF16 is a bfloat16 number as it is stored: the upper half of a float32.
type BF16 uint16

// Float is the constraint of the floating-point types that kernels compute in.
type Float interface{ float32 | float64 }

// Integer is the constraint of the integer types: those that kernels compute in,
// int64, int32 and uint8, and those that are kept alone.
type Integer interface {
	int64 | int32 | uint8 | int16 | int8 | uint16 | uint32 | uint64
}

// Number is the constraint of all types of Go's that hold elements which are numbers.
type Number interface{ Float | Integer }

// Float32 widens h exactly. The bits of h, moved to their places in a float32,
// are those of its value times 2^-112, subnormal or not; only infinities and
// NaN then need their exponent.
func (h F16) Float32() float32 {
	b := math.Float32bits(math.Float32frombits(uint32(h&0x7fff)<<13) * 0x1p112)
	if h&0x7c00 == 0x7c00 {
		b |= 0x7f800000
	}
	return math.Float32frombits(b | uint32(h&0x8000)<<16)
}

// ToF16 rounds f to the nearest F16, ties to even.
func ToF16(f float32) F16 {
	b := math.Float32bits(f)
	sign := F16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000: // NaN stays a quiet NaN
		return sign | 0x7e00 | F16(b>>13&0x3ff)
	case b >= 0x477ff000: // rounds to 2^16 or beyond: infinity
		return sign | 0x7c00
	case b < 0x38800000: // below 2^-14: subnormal, counted in units of 2^-24
		// Adding 0.5 leaves the count, rounded to even, in the low bits.
		return sign | F16(math.Float32bits(math.Float32frombits(b)+0.5)-math.Float32bits(0.5))
	}
	odd := b >> 13 & 1
	return sign | F16((b+0xfff+odd)>>13-112<<10)
}

// Float32 widens h exactly.
func (h BF16) Float32() float32 { return math.Float32frombits(uint32(h) << 16) }

// ToBF16 rounds f to the nearest BF16, ties to even.
func ToBF16(f float32) BF16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 { // NaN stays a quiet NaN
		return BF16(b>>16) | 0x40
	}
	return BF16((b + 0x7fff + b>>16&1) >> 16)
}
