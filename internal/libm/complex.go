package libm

import (
	"math"
	"math/cmplx"
)

// Mul returns x y, as Go's product is where nothing is fused.
func Mul(x, y complex128) complex128 {
	return complex(float64(real(x)*real(y))-float64(imag(x)*imag(y)), float64(real(x)*imag(y))+float64(imag(x)*real(y)))
}

// Div returns x / y, as Go's quotient is where nothing is fused: Smith, "Algorithm 116: complex
// division", CACM 5(8), 1962.
func Div(x, y complex128) complex128 {
	a, b, c, d := real(x), imag(x), real(y), imag(y)
	var re, im float64
	if math.Abs(c) >= math.Abs(d) {
		ratio := d / c
		by := c + float64(ratio*d)
		re, im = (a+float64(b*ratio))/by, (b-float64(a*ratio))/by
	} else {
		ratio := c / d
		by := d + float64(ratio*c)
		re, im = (float64(a*ratio)+b)/by, (float64(b*ratio)-a)/by
	}
	if math.IsNaN(re) && math.IsNaN(im) {
		return x / y // infinities, zeros or NaN, where no rounding is
	}
	return complex(re, im)
}

// SqrtComplex is cmplx.Sqrt: the square root whose real part is not negative.
func SqrtComplex(x complex128) complex128 {
	a, b := real(x), imag(x)
	switch {
	case b == 0 && a == 0:
		return complex(0, b)
	case b == 0 && a < 0:
		return complex(0, math.Copysign(math.Sqrt(-a), b))
	case b == 0:
		return complex(math.Sqrt(a), b)
	case math.IsInf(b, 0):
		return complex(math.Inf(1), b)
	case a == 0:
		r := math.Sqrt(0.5 * math.Abs(b))
		return complex(r, math.Copysign(r, b))
	}
	scale := 2.0
	if math.Abs(a) > 4 || math.Abs(b) > 4 { // squares do not overflow
		a, b = a*0.25, b*0.25
	} else { // nor vanish
		a, b, scale = a*0x1p54, b*0x1p54, 0x1p-27
	}
	r := float64(0.5 * Hypot(a, b))
	var re, im float64
	if half := float64(0.5 * a); a > 0 {
		re = math.Sqrt(r + half)
		re, im = scale*re, scale*math.Abs((0.5*b)/re)
	} else {
		im = math.Sqrt(r - half)
		re, im = scale*math.Abs((0.5*b)/im), scale*im
	}
	return complex(re, math.Copysign(im, b))
}

// PowComplex is cmplx.Pow: x to the power y.
func PowComplex(x, y complex128) complex128 {
	size, a, b := Hypot(real(x), imag(x)), real(y), imag(y)
	if x == 0 || size == 0 {
		return cmplx.Pow(x, y) // 0, 1 or infinite
	}
	r, theta := Pow(size, a), float64(a*Atan2(imag(x), real(x)))
	if b != 0 {
		r *= Exp(-b * Atan2(imag(x), real(x)))
		theta += float64(b * Log(size))
	}
	sin, cos := Sincos(theta)
	return complex(r*cos, r*sin)
}

// AbsComplex is cmplx.Abs: the distance of x from 0.
func AbsComplex(x complex128) float64 { return Hypot(real(x), imag(x)) }
