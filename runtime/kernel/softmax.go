package kernel

import (
	"math"

	"tpsh/internal/libm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// SoftmaxTo is
//
//	for i := range dst {
//		dst[i] = exp(x[i]) / Σ exp(x[j])
//	}
//
// without overflow. The sum is in float64, in lanes (see Reduce). In float32, an exp(x[i]) less
// than 1e-38 of the greatest counts as 0. A NaN, an Inf or nothing but -Inf
// makes all of dst NaN. It panics if the lengths differ. dst may be x.
func SoftmaxTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	if len(x) == 0 {
		return
	}
	scaleBy(dst, T(1/expShift(dst, x, mostIn(x))))
}

// LogSoftmaxTo is
//
//	for i := range dst {
//		dst[i] = x[i] - log(Σ exp(x[j]))
//	}
//
// under the rules of SoftmaxTo.
func LogSoftmaxTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	norm := logNorm(x)
	if d, ok := any(dst).([]float32); ok {
		vec.Shift(d, as32(x), norm)
		return
	}
	for i, v := range x {
		dst[i] = T(float64(v) - norm)
	}
}

// logNorm returns log(Σ exp(x[j])) under the rules of SoftmaxTo; NaN if the
// largest is infinite or there is none.
func logNorm[T dtype.Float](x []T) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	most := mostIn(x)
	return float64(most) + libm.Log(expSum(x, most))
}

// expSum returns the sum of exp(x - most) in float64, in lanes (see Reduce).
func expSum[T dtype.Float](x []T, most T) float64 {
	var sum [lanes]float64
	if v, ok := any(x).([]float32); ok {
		vec.ExpSum(v, float32(most), &sum)
	} else {
		vec.ExpSum64(as64(x), float64(most), &sum)
	}
	return addLanes(&sum)
}

// SoftmaxGradTo is the gradient of SoftmaxTo, given that of its result y:
//
//	for i := range dst {
//		dst[i] = y[i] * (g[i] - Σ g[j]*y[j])
//	}
//
// the sum in float64. It panics if the lengths differ. dst may be g or y.
func SoftmaxGradTo[T dtype.Float](dst, g, y []T) {
	check3(len(dst), len(g), len(y))
	softmaxGradRow(dst, g, y, T(dotOf(g, y)))
}

// LogSoftmaxGradTo is the gradient of LogSoftmaxTo, given that of its result
// y:
//
//	for i := range dst {
//		dst[i] = g[i] - exp(y[i]) * Σ g[j]
//	}
//
// the sum in float64. It panics if the lengths differ. dst may be g or y.
func LogSoftmaxGradTo[T dtype.Float](dst, g, y []T) {
	check3(len(dst), len(g), len(y))
	sum := Total(g)
	if d, ok := any(dst).([]float32); ok {
		vec.LogSoftmaxGrad(d, as32(g), as32(y), float32(sum))
		return
	}
	for i, v := range g {
		dst[i] = T(float64(v) - float64(libm.Exp(float64(y[i]))*sum))
	}
}

// mostOf returns the largest of x that is no NaN, or -Inf.
func mostOf(x []float32) float32 {
	lane := below32
	vec.Most(x, &lane)
	return maxLanes(&lane)
}

// mostOf64 is mostOf of float64.
func mostOf64(x []float64) float64 {
	lane := below64
	vec.Most64(x, &lane)
	return maxLanes(&lane)
}
