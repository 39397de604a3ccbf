package kernel

import (
	"math"
	"math/bits"
)

// A superaccumulator holds a sum of float64 numbers without error, whatever their sizes: a
// fixed-point number that reaches from the least of them, 2^-1074, to beyond 2^31 times the
// largest.
//
// Kulisch, "Computer Arithmetic and Validity", de Gruyter, 2nd ed. 2013, section 8.
type superaccumulator struct {
	digits  [superDigits]int64 // digit i counts 2^(32i-1074); one may be over 2^32 or negative
	nan     bool
	inf     [2]bool // whether +Inf and -Inf were added
	nonzero bool    // whether anything was added but -0
}

// superDigits are those of 2^1024 in units of 2^-1074, and two for carries.
const superDigits = (1074+1024+31)/32 + 2

// add adds x. It may be called 2^31 times.
func (s *superaccumulator) add(x float64) {
	b := math.Float64bits(x)
	m, e := b&(1<<52-1), int(b>>52&0x7ff)
	switch {
	case e == 0x7ff && m != 0:
		s.nan = true
		return
	case e == 0x7ff:
		s.inf[b>>63] = true
		return
	case b == 1<<63:
		return
	}
	s.nonzero = true
	if e > 0 {
		m |= 1 << 52
		e--
	}
	at, shift := e/32, uint(e%32)
	high, low := bits.Mul64(m, 1<<shift)
	parts := [3]int64{int64(low & 0xffffffff), int64(low >> 32), int64(high)}
	for i, p := range parts {
		if b>>63 == 1 {
			p = -p
		}
		s.digits[at+i] += p
	}
}

// carry makes every digit one of 0..2^32-1, and returns what is left over: -1 of a negative
// number, else 0.
func (s *superaccumulator) carry() (over int64) {
	for i := range s.digits {
		d := s.digits[i] + over
		s.digits[i], over = d&0xffffffff, d>>32
	}
	return over
}

// sum returns the sum, rounded by round: of all numbers that are 2^e times an integer below 2^53,
// or beyond the largest of them. A sum that is 0 is -0 if only such were added.
func (s *superaccumulator) sum(round func(m uint64, half, rest bool) uint64) float64 {
	switch {
	case s.nan || s.inf[0] && s.inf[1]:
		return math.NaN()
	case s.inf[0]:
		return math.Inf(1)
	case s.inf[1]:
		return math.Inf(-1)
	case !s.nonzero:
		return math.Copysign(0, -1)
	}
	sign := 1.0
	if s.carry() < 0 {
		for i := range s.digits {
			s.digits[i] = -s.digits[i]
		}
		s.digits[superDigits-1] += 1 << 32
		s.carry()
		s.digits[superDigits-1] &= 0xffffffff
		sign = -1
	}
	top := superDigits - 1
	for top > 0 && s.digits[top] == 0 {
		top--
	}
	length := 32*top + bits.Len64(uint64(s.digits[top]))
	if length <= 53 {
		return sign * math.Ldexp(float64(s.from(0)), -1074)
	}
	cut := length - 53
	m := round(s.from(cut)&(1<<53-1), s.bit(cut-1), s.below(cut-1))
	return sign * math.Ldexp(float64(m), cut-1074)
}

// from returns the bits from one on, of which there are 64 or fewer that count.
func (s *superaccumulator) from(bit int) (m uint64) {
	for i := bit / 32; i < superDigits && 32*i-bit < 64; i++ {
		if at := 32*i - bit; at >= 0 {
			m |= uint64(s.digits[i]) << at
		} else {
			m |= uint64(s.digits[i]) >> -at
		}
	}
	return m
}

func (s *superaccumulator) bit(i int) bool { return s.digits[i/32]>>(i%32)&1 == 1 }

// below reports whether a bit below one is set.
func (s *superaccumulator) below(bit int) bool {
	for i := range bit / 32 {
		if s.digits[i] != 0 {
			return true
		}
	}
	return s.digits[bit/32]&(1<<(bit%32)-1) != 0
}

// toNearest rounds m and what is behind it to the nearest integer, of two the even one.
func toNearest(m uint64, half, rest bool) uint64 {
	if half && (rest || m&1 == 1) {
		m++
	}
	return m
}

// toOdd leaves m if that is all there is, and else makes it odd: rounding the result to
// nearest at 51 bits or fewer gives what rounding the exact number would.
//
// Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using
// rounding to odd", IEEE Transactions on Computers 57(4), 2008.
func toOdd(m uint64, half, rest bool) uint64 {
	if half || rest {
		m |= 1
	}
	return m
}
