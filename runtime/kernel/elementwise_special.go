package kernel

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"tpsh/internal/libm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// The rows of further functions of one and two operands. They are computed in
// float64, by package libm or gonum's mathext, and rounded, but for those that
// package vec has in float32.
var (
	// Log1p is the logarithm of 1+x[i], exact for small x[i].
	Log1p = Unary{F32: vec.Log1p, F64: map1[float64](libm.Log1p)}
	// Expm1 is e to the power x[i], less 1, exact for small x[i].
	Expm1 = Unary{F32: vec.Expm1, F64: map1[float64](libm.Expm1)}
	// Log2 and Log10 are logarithms, Exp2 is 2 to the power x[i].
	Log2  = mapped(libm.Log2)
	Log10 = mapped(libm.Log10)
	Exp2  = mapped(libm.Exp2)
	// Tan, Asin, Acos and Atan are of angles in radians.
	Tan  = Unary{F32: tan32, F64: map1[float64](libm.Tan)}
	Asin = mapped(libm.Asin)
	Acos = mapped(libm.Acos)
	Atan = mapped(libm.Atan)
	// Sinh, Cosh, Asinh, Acosh and Atanh are the hyperbolic functions.
	Sinh  = mapped(libm.Sinh)
	Cosh  = mapped(libm.Cosh)
	Asinh = mapped(libm.Asinh)
	Acosh = mapped(libm.Acosh)
	Atanh = mapped(libm.Atanh)
	// Erfc is 1 less the error function, Erfinv the inverse of that.
	Erfc   = mapped(libm.Erfc)
	Erfinv = Unary{F32: vec.Erfinv, F64: map1[float64](libm.Erfinv)}
	// Lgamma is the logarithm of the gamma function's absolute value, Digamma its
	// derivative; PolygammaTo has those of Digamma.
	Lgamma  = Unary{F32: vec.Lgamma, F64: map1[float64](lgamma)}
	Digamma = Unary{F32: vec.Digamma, F64: map1[float64](digamma)}
	// Trunc is x[i] without its fraction; integers stay as they are.
	Trunc = withIntegers(Unary{F32: vec.Trunc, F64: map1[float64](math.Trunc)})

	// Atan2 is the angle of the point (y[i], x[i]), from -π to π.
	Atan2 = Binary{F32: vec.Atan2, F64: map2[float64](libm.Atan2)}
	// Fmod is the remainder of x[i] by y[i] with the sign of x[i].
	Fmod = Binary{fmod32, fmodTo[float64], remTo[int64], remTo[int32], remTo[uint8], nil}
	// Copysign is x[i] with the sign of y[i].
	Copysign = mapped2(math.Copysign)
	// Nextafter is the float next to x[i] on the way to y[i].
	Nextafter = Binary{F32: nextafter32, F64: map2[float64](math.Nextafter)}
)

// mapped returns the row of f, which is
//
//	for i := range dst {
//		dst[i] = f(x[i])
//	}
//
// It panics if the lengths differ. dst may be x.
func mapped(f func(float64) float64) Unary {
	return Unary{F32: map1[float32](f), F64: map1[float64](f)}
}

// mapped2 is mapped for a function of two operands.
func mapped2(f func(x, y float64) float64) Binary {
	return Binary{F32: map2[float32](f), F64: map2[float64](f)}
}

func map1[T dtype.Float](f func(float64) float64) func(dst, x []T) {
	return func(dst, x []T) {
		check2(len(dst), len(x))
		for i, v := range x {
			dst[i] = T(f(float64(v)))
		}
	}
}

func map2[T dtype.Float](f func(x, y float64) float64) func(dst, x, y []T) {
	return func(dst, x, y []T) {
		check3(len(dst), len(x), len(y))
		for i, v := range x {
			dst[i] = T(f(float64(v), float64(y[i])))
		}
	}
}

// withIntegers returns row, of which integers are fixed points.
func withIntegers(row Unary) Unary {
	row.I64, row.I32, row.U8 = copyTo[int64], copyTo[int32], copyTo[uint8]
	return row
}

func copyTo[T dtype.Number](dst, x []T) {
	check2(len(dst), len(x))
	copy(dst, x)
}

func fmodTo[T dtype.Float](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	for i, v := range x {
		dst[i] = T(math.Mod(float64(v), float64(y[i])))
	}
}

// remTo is the remainder with the sign of x[i]. It panics if an element of y is 0.
func remTo[T dtype.Integer](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	for i, v := range x {
		dst[i] = v % y[i]
	}
}

func nextafter32(dst, x, y []float32) {
	check3(len(dst), len(x), len(y))
	for i, v := range x {
		dst[i] = math.Nextafter32(v, y[i])
	}
}

// lgamma is infinite at minus infinity, as in C.
func lgamma(v float64) float64 {
	if math.IsInf(v, -1) {
		return -v
	}
	y, _ := libm.Lgamma(v)
	return y
}

// digamma is, from 10 on, the asymptotic series
//
//	ln v - 1/(2v) - 1/(12v²) + 1/(120v⁴) - 1/(252v⁶) + 1/(240v⁸) - 1/(132v¹⁰) + 691/(32760v¹²) - 1/(12v¹⁴)
//
// and below by ψ(v) = ψ(v+1) - 1/v and ψ(v) = ψ(1-v) - π/tan(πv): Abramowitz and
// Stegun, 6.3.5, 6.3.7 and 6.3.18. It is NaN at its poles but for 0, where it is
// infinite.
func digamma(v float64) float64 {
	switch {
	case v == 0:
		return math.Copysign(math.Inf(1), -v)
	case v < 0 && v == math.Floor(v):
		return math.NaN()
	case v < 0:
		return digamma(1-v) - math.Pi/libm.Tan(math.Pi*(v-math.Floor(v)))
	}
	y := 0.0
	for ; v < 10; v++ {
		y -= 1 / v
	}
	w := 1 / (v * v)
	series := 691./32760 - w/12
	for _, c := range [...]float64{1. / 132, 1. / 240, 1. / 252, 1. / 120, 1. / 12} {
		series = c - float64(w*series)
	}
	return y + libm.Log(v) - 0.5/v - float64(w*series)
}

// PolygammaTo is, elementwise, the derivative number n, from 1 on, of digamma:
//
//	(-1)ⁿ⁺¹ n! ζ(n+1, x[i])
//
// with Hurwitz's zeta function, and NaN below 0 for n from 2 on. It panics if the
// lengths differ. dst may be x.
func PolygammaTo[T dtype.Float](dst, x []T, n int) {
	check2(len(dst), len(x))
	factor, _ := libm.Lgamma(float64(n + 1))
	factor = libm.Exp(factor)
	if n%2 == 0 {
		factor = -factor
	}
	for i, v := range x {
		dst[i] = T(polygamma(float64(v), n, factor))
	}
}

func polygamma(v float64, n int, factor float64) float64 {
	switch {
	case v <= 0 && v == math.Floor(v):
		return math.Inf(1)
	case v > 0 || v < 0 && n > 1:
		return factor * mathext.Zeta(float64(n+1), v)
	case n == 1: // the reflection of trigamma: A&S 6.4.7
		s := libm.Sin(math.Pi * v)
		return math.Pi*math.Pi/(s*s) - mathext.Zeta(2, 1-v)
	}
	return math.NaN()
}
