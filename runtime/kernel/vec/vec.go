package vec

import (
	"fmt"
	"math"
)

// Lanes is the number of lanes of an accumulator: lane l takes elements l,
// l+Lanes, l+2*Lanes, ... in turn.
const Lanes = 16

// chunk is how many elements one call into assembly takes at most: the
// scheduler waits for no more. It is a multiple of Lanes.
const chunk = 1 << 15

// FarAngle is up to which absolute value Sin, Cos and Tan are right, FarQuotient up to which
// quotient Fmod and Remainder are.
const (
	FarAngle    = 1 << 22
	FarQuotient = 1 << 28
)

// check panics if the lengths of a kernel's arrays differ.
func check(n, m int) {
	if m != n {
		panic(fmt.Sprintf("vec: arrays of %d and %d elements", n, m))
	}
}

// pick returns a if m, else b.
func pick[T any](m bool, a, b T) T {
	if m {
		return a
	}
	return b
}

// fma returns a*b + c, rounded once.
//
// The product is exact in float64. The sum is made there, and if it was
// rounded, and to a number in the middle of two of float32, the number beside
// it towards the exact sum is taken in its place.
func fma(a, b, c float32) float32 {
	p, z := float64(a)*float64(b), float64(c)
	s := p + z
	bits := math.Float64bits(s)
	if bits&(1<<29-1) != 1<<28 && math.Abs(s) >= 0x1p-125 {
		return float32(s)
	}
	// The error of the sum, exactly: Knuth's TwoSum.
	v := s - p
	e := (p - (s - v)) + (z - v)
	if e != 0 && bits&1 == 0 { // round to odd
		if (e > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
	}
	return float32(math.Float64frombits(bits))
}

// scale returns m 2^n for a whole n, where that is a normal number. The product is rounded:
// left as it is, compilers may fuse it with a sum that it goes to.
func scale(m, n float32) float32 { return float32(m * math.Float32frombits(uint32(int32(n)+127)<<23)) }

// scale64 is scale in float64; where that is no normal number the product is rounded once.
func scale64(m, n float64) float64 {
	return float64(m * math.Float64frombits(uint64(int64(n)+1023)<<52))
}
