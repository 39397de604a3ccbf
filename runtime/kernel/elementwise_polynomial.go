package kernel

import (
	"math"

	"tpsh/internal/libm"
)

// The rows of orthogonal polynomials: number y[i], without its fraction, at x[i]. They
// are 0 where y[i] is negative, and NaN where it is above maxDegree or NaN.
var (
	// ChebyshevT, ChebyshevU, ChebyshevV and ChebyshevW are Chebyshev's of the first to
	// the fourth kind. The shifted ones are of 2x[i] - 1.
	ChebyshevT        = mapped2(polynomial(chebyshevT))
	ChebyshevU        = mapped2(polynomial(chebyshevU))
	ChebyshevV        = mapped2(polynomial(chebyshevV))
	ChebyshevW        = mapped2(polynomial(chebyshevW))
	ShiftedChebyshevT = mapped2(polynomial(shifted(chebyshevT)))
	ShiftedChebyshevU = mapped2(polynomial(shifted(chebyshevU)))
	ShiftedChebyshevV = mapped2(polynomial(shifted(chebyshevV)))
	ShiftedChebyshevW = mapped2(polynomial(shifted(chebyshevW)))
	// HermiteH and HermiteHe are Hermite's, the physicists' and the probabilists'.
	HermiteH = mapped2(polynomial(func(x float64, n int) float64 {
		return recurrent(1, 2*x, n, func(k, now, before float64) float64 { return float64(2*x*now) - float64(2*k*before) })
	}))
	HermiteHe = mapped2(polynomial(func(x float64, n int) float64 {
		return recurrent(1, x, n, func(k, now, before float64) float64 { return float64(x*now) - float64(k*before) })
	}))
	// LaguerreL and LegendreP are Laguerre's and Legendre's.
	LaguerreL = mapped2(polynomial(func(x float64, n int) float64 {
		return recurrent(1, 1-x, n, func(k, now, before float64) float64 { return (float64((2*k+1-x)*now) - float64(k*before)) / (k + 1) })
	}))
	LegendreP = mapped2(polynomial(func(x float64, n int) float64 {
		return recurrent(1, x, n, func(k, now, before float64) float64 { return (float64((2*k+1)*x*now) - float64(k*before)) / (k + 1) })
	}))
)

// maxDegree is the number of the last polynomial that is computed.
const maxDegree = 1 << 20

// polynomial returns f as a function of two floats.
func polynomial(f func(x float64, n int) float64) func(x, n float64) float64 {
	return func(x, n float64) float64 {
		switch {
		case n <= -1:
			return 0
		case !(n < maxDegree+1):
			return math.NaN()
		}
		return f(x, int(n))
	}
}

// recurrent returns element n of the sequence that begins with first and second, and
// goes on by next from the elements k and k-1 to element k+1: Abramowitz and Stegun,
// table 22.7.
func recurrent(first, second float64, n int, next func(k, now, before float64) float64) float64 {
	if n == 0 {
		return first
	}
	before, now := first, second
	for k := 1; k < n && now == now; k++ {
		before, now = now, next(float64(k), now, before)
	}
	return now
}

func shifted(f func(x float64, n int) float64) func(x float64, n int) float64 {
	return func(x float64, n int) float64 { return f(2*x-1, n) }
}

// chebyshevOf is the recurrence of all four kinds: y(k+1) = 2x y(k) - y(k-1).
func chebyshevOf(x, second float64, n int) float64 {
	return recurrent(1, second, n, func(_, now, before float64) float64 { return float64(2*x*now) - before })
}

// trigonometric reports whether a polynomial is told by angles: where the recurrence
// is long, and x the cosine of one.
func trigonometric(x float64, n int) bool { return n > 8 && math.Abs(x) < 1 }

func chebyshevT(x float64, n int) float64 {
	if trigonometric(x, n) {
		return libm.Cos(float64(n) * libm.Acos(x))
	}
	return chebyshevOf(x, x, n)
}

func chebyshevU(x float64, n int) float64 {
	if trigonometric(x, n) {
		angle := libm.Acos(x)
		return libm.Sin(float64(n+1)*angle) / libm.Sin(angle)
	}
	return chebyshevOf(x, 2*x, n)
}

func chebyshevV(x float64, n int) float64 {
	if trigonometric(x, n) {
		half := libm.Acos(x) / 2
		return libm.Cos(float64(2*n+1)*half) / libm.Cos(half)
	}
	return chebyshevOf(x, 2*x-1, n)
}

func chebyshevW(x float64, n int) float64 {
	if trigonometric(x, n) {
		half := libm.Acos(x) / 2
		return libm.Sin(float64(2*n+1)*half) / libm.Sin(half)
	}
	return chebyshevOf(x, 2*x+1, n)
}
