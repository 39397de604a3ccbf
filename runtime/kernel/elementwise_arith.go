package kernel

import (
	"math"

	"tpsh/internal/libm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// The rows of arithmetic on two operands. Integers wrap around. What package
// vec has gives the same bits as the loop it stands for.
var (
	// Add is AddTo; of bools, OrTo.
	Add = Binary{vec.Add, vec.Add64, AddTo[int64], AddTo[int32], AddTo[uint8], OrTo[uint8]}
	// Sub is SubTo.
	Sub = Binary{vec.Sub, vec.Sub64, SubTo[int64], SubTo[int32], SubTo[uint8], nil}
	// Mul is MulTo; of bools, AndTo.
	Mul = Binary{vec.Mul, vec.Mul64, MulTo[int64], MulTo[int32], MulTo[uint8], AndTo[uint8]}
	// Div is x[i] / y[i], of floats.
	Div = Binary{F32: vec.Div, F64: vec.Div64}
	// FloorDiv is FloorDivFloatTo and FloorDivIntTo.
	FloorDiv = Binary{FloorDivFloatTo[float32], FloorDivFloatTo[float64], FloorDivIntTo[int64], FloorDivIntTo[int32], FloorDivIntTo[uint8], nil}
	// Mod is ModFloatTo and ModIntTo.
	Mod = Binary{mod32, ModFloatTo[float64], ModIntTo[int64], ModIntTo[int32], ModIntTo[uint8], nil}
	// Pow is PowFloatTo and PowIntTo; in float32 vec.Pow, within 1 ulp.
	Pow = Binary{vec.Pow, PowFloatTo[float64], PowIntTo[int64], PowIntTo[int32], PowIntTo[uint8], nil}
	// Maximum is MaximumTo.
	Maximum = Binary{vec.Maximum, vec.Maximum64, MaximumTo[int64], MaximumTo[int32], MaximumTo[uint8], MaximumTo[uint8]}
	// Minimum is MinimumTo.
	Minimum = Binary{vec.Minimum, vec.Minimum64, MinimumTo[int64], MinimumTo[int32], MinimumTo[uint8], MinimumTo[uint8]}
)

// AddTo is
//
//	for i := range dst {
//		dst[i] = x[i] + y[i]
//	}
//
// It panics if the lengths differ. dst may be x or y.
func AddTo[T dtype.Number](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = x[i] + y[i]
	}
}

// SubTo is
//
//	for i := range dst {
//		dst[i] = x[i] - y[i]
//	}
//
// It panics if the lengths differ. dst may be x or y.
func SubTo[T dtype.Number](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = x[i] - y[i]
	}
}

// MulTo is
//
//	for i := range dst {
//		dst[i] = x[i] * y[i]
//	}
//
// It panics if the lengths differ. dst may be x or y.
func MulTo[T dtype.Number](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = x[i] * y[i]
	}
}

// FloorDivIntTo is
//
//	for i := range dst {
//		dst[i] = ⌊x[i] / y[i]⌋
//	}
//
// It panics if the lengths differ or an element of y is 0. dst may be x or y.
func FloorDivIntTo[T dtype.Integer](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	for i, a := range x {
		b := y[i]
		q := a / b
		if (a < 0) != (b < 0) && q*b != a { // signs are foreseen more often than remainders
			q--
		}
		dst[i] = q
	}
}

// ModIntTo is
//
//	for i := range dst {
//		dst[i] = x[i] - ⌊x[i]/y[i]⌋*y[i]
//	}
//
// which is 0 or has the sign of y[i]. It panics if the lengths differ or an
// element of y is 0. dst may be x or y.
func ModIntTo[T dtype.Integer](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	for i, a := range x {
		b := y[i]
		r := a % b
		if (r < 0) != (b < 0) && r != 0 {
			r += b
		}
		dst[i] = r
	}
}

// FloorDivFloatTo is
//
//	for i := range dst {
//		dst[i] = ⌊x[i] / y[i]⌋
//	}
//
// for the exact quotient, as Python's // computes it; x[i]/0 is an infinity or
// NaN. It panics if the lengths differ. dst may be x or y.
func FloorDivFloatTo[T dtype.Float](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	for i, a := range x {
		dst[i] = T(floorDiv(float64(a), float64(y[i])))
	}
}

// floorDiv follows CPython's float_floor_div.
func floorDiv(a, b float64) float64 {
	if b == 0 {
		return a / b
	}
	r := math.Mod(a, b)
	q := (a - r) / b
	if r != 0 && (r < 0) != (b < 0) {
		q--
	}
	if q == 0 {
		return math.Copysign(0, a/b)
	}
	whole := math.Floor(q)
	if q-whole > 0.5 {
		whole++
	}
	return whole
}

// ModFloatTo is
//
//	for i := range dst {
//		dst[i] = x[i] - ⌊x[i]/y[i]⌋*y[i]
//	}
//
// for the exact quotient, as Python's % computes it: the result is 0 or has
// the sign of y[i]; modulo 0 it is NaN. It panics if the lengths differ. dst
// may be x or y.
func ModFloatTo[T dtype.Float](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	for i, a := range x {
		b := float64(y[i])
		r := math.Mod(float64(a), b)
		if r != 0 && (r < 0) != (b < 0) {
			r += b
		}
		dst[i] = T(r)
	}
}

// PowFloatTo is
//
//	for i := range dst {
//		dst[i] = x[i] to the power y[i]
//	}
//
// computed as libm.Pow does in float64, and rounded. It panics if the lengths
// differ. dst may be x or y.
func PowFloatTo[T dtype.Float](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	for i, a := range x {
		dst[i] = T(libm.Pow(float64(a), float64(y[i])))
	}
}

// PowIntTo is
//
//	for i := range dst {
//		dst[i] = x[i] to the power y[i], low bits only
//	}
//
// It panics if the lengths differ. No element of y is negative. dst may be x
// or y.
func PowIntTo[T dtype.Integer](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	for i, a := range x {
		p := T(1)
		for n := y[i]; n > 0; n /= 2 {
			if n%2 == 1 {
				p *= a
			}
			a *= a
		}
		dst[i] = p
	}
}

// MaximumTo is
//
//	for i := range dst {
//		dst[i] = max(x[i], y[i])
//	}
//
// with Go's max: NaN if either is. It panics if the lengths differ. dst may be
// x or y.
func MaximumTo[T dtype.Number](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = max(x[i], y[i])
	}
}

// MinimumTo is
//
//	for i := range dst {
//		dst[i] = min(x[i], y[i])
//	}
//
// with Go's min: NaN if either is. It panics if the lengths differ. dst may be
// x or y.
func MinimumTo[T dtype.Number](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = min(x[i], y[i])
	}
}
