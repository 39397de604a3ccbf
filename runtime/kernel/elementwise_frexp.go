package kernel

import "math"

// The rows of the parts of floats: x[i] is the fraction, from 1/2 to 1 in absolute value,
// times 2 to the power of the exponent. Of 0, infinities and NaN the fraction is x[i], and
// the exponent 0.
var (
	Fraction = mapped(func(v float64) float64 { f, _ := math.Frexp(v); return f })
	Exponent = mapped(func(v float64) float64 { _, e := math.Frexp(v); return float64(e) })
)
