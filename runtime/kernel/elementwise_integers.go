package kernel

import "tpsh/runtime/dtype"

// The rows of functions of integers.
var (
	// Gcd is GcdTo, Lcm LcmTo.
	Gcd = Binary{I64: GcdTo[int64], I32: GcdTo[int32], U8: GcdTo[uint8]}
	Lcm = Binary{I64: LcmTo[int64], I32: LcmTo[int32], U8: LcmTo[uint8]}
	// ShiftLeft is ShiftLeftTo, ShiftRight ShiftRightTo.
	ShiftLeft  = Binary{I64: ShiftLeftTo[int64], I32: ShiftLeftTo[int32], U8: ShiftLeftTo[uint8]}
	ShiftRight = Binary{I64: ShiftRightTo[int64], I32: ShiftRightTo[int32], U8: ShiftRightTo[uint8]}
)

// GcdTo is
//
//	for i := range dst {
//		dst[i] = the greatest common divisor of |x[i]| and |y[i]|
//	}
//
// by Euclid's algorithm; that of 0 and 0 is 0. It panics if the lengths differ. dst
// may be x or y.
func GcdTo[T dtype.Integer](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	for i := range dst {
		dst[i] = gcd(x[i], y[i])
	}
}

func gcd[T dtype.Integer](x, y T) T {
	for y != 0 {
		x, y = y, x%y
	}
	if x < 0 {
		return -x
	}
	return x
}

// LcmTo is GcdTo for the least common multiple, 0 where one of the two is 0.
func LcmTo[T dtype.Integer](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	for i := range dst {
		if x[i] == 0 || y[i] == 0 {
			dst[i] = 0
			continue
		}
		v := x[i] / gcd(x[i], y[i]) * y[i]
		if v < 0 {
			v = -v
		}
		dst[i] = v
	}
}

// ShiftLeftTo is
//
//	for i := range dst {
//		dst[i] = x[i] << y[i]
//	}
//
// and 0 where y[i] is negative, or no less than the number of bits. It panics if the
// lengths differ. dst may be x or y.
func ShiftLeftTo[T dtype.Integer](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	for i := range dst {
		if n := y[i]; n >= 0 {
			dst[i] = x[i] << n
		} else {
			dst[i] = 0
		}
	}
}

// ShiftRightTo is ShiftLeftTo for x[i] >> y[i], which keeps the sign: where y[i] is
// negative, or no less than the number of bits, it is 0, or -1 where x[i] is negative.
func ShiftRightTo[T dtype.Integer](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	for i := range dst {
		if n := y[i]; n >= 0 {
			dst[i] = x[i] >> n
		} else if x[i] < 0 {
			dst[i] = ^T(0)
		} else {
			dst[i] = 0
		}
	}
}
