package kernel

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"tpsh/internal/libm"
)

// The rows of functions of the normal distribution, of entropy, and of incomplete
// gamma and zeta functions.
var (
	// Erfcx is e to the power x[i]² times the complementary error function of x[i].
	Erfcx = mapped(erfcx)
	// Ndtr is the share of the standard normal distribution below x[i], LogNdtr its
	// logarithm and Ndtri its inverse, NaN beyond 0 and 1.
	Ndtr    = mapped(ndtr)
	LogNdtr = mapped(logNdtr)
	Ndtri   = mapped(ndtri)
	// Entr is -x[i] ln x[i], 0 at 0 and minus infinity below.
	Entr = mapped(entr)
	// Xlog1py is x[i] ln(1 + y[i]), and 0 where x[i] is 0 and y[i] not NaN.
	Xlog1py = mapped2(xlog1py)
	// GammaInc is the regularised lower incomplete gamma function of order x[i] at y[i],
	// GammaIncC the upper one. They are NaN where one of the two is negative.
	GammaInc  = mapped2(func(a, v float64) float64 { return gammaInc(a, v, 0, mathext.GammaIncReg) })
	GammaIncC = mapped2(func(a, v float64) float64 { return gammaInc(a, v, 1, mathext.GammaIncRegComp) })
	// Zeta is Hurwitz's zeta function, the sum of (y[i] + k) to the power -x[i] over all
	// k from 0.
	Zeta = mapped2(zeta)
)

// erfcxScaled are, as those of Bessel's functions, Chebyshev coefficients of
// (1 + 2x) e^x² erfc(x), of x = 3.75 (1 + t) / (1 - t): the form is that of Shepherd and
// Laframboise, "Chebyshev approximation of (1+2x)exp(x²)erfc x", 1981.
var erfcxScaled = []float64{
	1.1775789345674017, -0.004590054580646478, -0.08424913336651792, 0.05920993999819189, -0.026658668435305753,
	0.009074997670705265, -0.002413163540417608, 0.0004907758365258086, -6.916973302501207e-05, 4.13902798607301e-06,
	7.74038306619849e-07, -2.1886401049234397e-07, 1.076499946567091e-08, 4.521959811218287e-09, -7.754400208831351e-10,
	-6.318088340886684e-11, 2.86879501093067e-11, 1.9455868545777347e-13, -9.65469674843344e-13, 3.25254814814874e-14,
	3.3478119482868056e-14, -1.864562880419313e-15, -1.2507950530688648e-15, 7.418235256624044e-17, 5.068148904796111e-17,
	-2.2370566594359995e-18, -2.187342944303018e-18,
}

func erfcx(v float64) float64 {
	switch {
	case v < -26.7: // it overflows
		return math.Inf(1)
	case v < 0:
		return 2*expOfSquare(v) - erfcx(-v)
	case math.IsInf(v, 1):
		return 0
	}
	return chebyshev(erfcxScaled, (v-3.75)/(v+3.75)) / (1 + 2*v)
}

// expOfSquare is e^v², of which the square is rounded to no less than twice the
// digits.
func expOfSquare(v float64) float64 {
	high := float64(v * v)
	return float64(libm.Exp(high) * (1 + math.FMA(v, v, -high)))
}

func ndtr(v float64) float64 { return libm.Erfc(-v/math.Sqrt2) / 2 }

func logNdtr(v float64) float64 {
	if v < -1 {
		return libm.Log(erfcx(-v/math.Sqrt2)/2) - float64(v*v/2)
	}
	return libm.Log1p(-libm.Erfc(v/math.Sqrt2) / 2)
}

func ndtri(p float64) float64 {
	if !(0 <= p && p <= 1) {
		return math.NaN()
	}
	return mathext.NormalQuantile(p)
}

func entr(v float64) float64 {
	switch {
	case v > 0:
		return -v * libm.Log(v)
	case v == 0:
		return 0
	case v < 0:
		return math.Inf(-1)
	}
	return v
}

func xlog1py(x, y float64) float64 {
	if x == 0 && y == y {
		return 0
	}
	return x * libm.Log1p(y)
}

// gammaInc is f, the lower or the upper function, of order a at v; at is what that is
// where v is 0, and 1 - at where it is infinite.
func gammaInc(a, v, at float64, f func(a, v float64) float64) float64 {
	switch {
	case !(a >= 0 && v >= 0), a == 0 && v == 0, math.IsInf(a, 1) && math.IsInf(v, 1):
		return math.NaN()
	case v == 0, math.IsInf(a, 1):
		return at
	case a == 0, math.IsInf(v, 1):
		return 1 - at
	}
	return f(a, v)
}

func zeta(x, q float64) float64 {
	switch {
	case x != x || q != q || x < 1, x != 1 && q < 0 && q != math.Floor(q) && x != math.Floor(x):
		return math.NaN()
	case x == 1, q <= 0 && q == math.Floor(q):
		return math.Inf(1)
	}
	return mathext.Zeta(x, q)
}
