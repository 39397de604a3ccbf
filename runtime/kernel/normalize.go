package kernel

import (
	"math"

	"tpsh/runtime/dtype"
)

// A Normal says how a row is normalised.
type Normal struct {
	Center bool    // subtract the mean first
	Eps    float64 // added to the mean of the squares
}

// moments returns the mean of x (0 unless n centers) and one over the root of
// the mean of the squared differences from it plus Eps. Sums are in float64,
// from the first element to the last.
func moments[T dtype.Float](x []T, n Normal) (mean, scale float64) {
	if n.Center {
		mean = Total(x) / float64(len(x))
	}
	return mean, 1 / math.Sqrt(Variance(x, mean)+n.Eps)
}

// Variance returns the mean of (x[i] - mean)², the sum in float64 from the
// first element to the last.
func Variance[T dtype.Float](x []T, mean float64) float64 {
	sum := 0.0
	for _, v := range x {
		d := float64(v) - mean
		sum += d * d
	}
	return sum / float64(len(x))
}

// NormalizeTo is
//
//	mean, scale := the moments of x
//	for i := range dst {
//		dst[i] = (x[i]-mean)*scale*weight[i] + bias[i]
//	}
//
// each in float64 rounded once. A nil weight stands for ones, a nil bias for
// zeros. It panics if dst and x differ in length. dst may be x.
func NormalizeTo[T dtype.Float](dst, x, weight, bias []T, n Normal) {
	check2(len(dst), len(x))
	mean, scale := moments(x, n)
	for i, v := range x {
		h := (float64(v) - mean) * scale
		if weight != nil {
			h *= float64(weight[i])
		}
		if bias != nil {
			h += float64(bias[i])
		}
		dst[i] = T(h)
	}
}

// NormalizeGradTo is the gradient of NormalizeTo without weight and bias:
//
//	h := (x - mean)*scale
//	for i := range dst {
//		dst[i] = scale * (g[i] - mean of g - h[i] * mean of g*h)
//	}
//
// without the mean of g unless n centers; each in float64 rounded once. It
// panics if the lengths differ. dst may be g or x.
func NormalizeGradTo[T dtype.Float](dst, g, x []T, n Normal) {
	check3(len(dst), len(g), len(x))
	mean, scale := moments(x, n)
	sum, dot := 0.0, 0.0
	for i, v := range x {
		sum += float64(g[i])
		dot += float64(g[i]) * (float64(v) - mean) * scale
	}
	sum, dot = sum/float64(len(x)), dot/float64(len(x))
	if !n.Center {
		sum = 0
	}
	for i, v := range x {
		dst[i] = T(scale * (float64(g[i]) - sum - (float64(v)-mean)*scale*dot))
	}
}

// ScaleShiftTo is
//
//	for i := range dst {
//		dst[i] = (x[i]-mean)*scale + shift
//	}
//
// each in float64 rounded once. It panics if the lengths differ. dst may be x.
func ScaleShiftTo[T dtype.Float](dst, x []T, mean, scale, shift float64) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = T((float64(v)-mean)*scale + shift)
	}
}
