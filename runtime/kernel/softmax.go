package kernel

import (
	"math"

	"tpsh/runtime/dtype"
)

// SoftmaxTo is
//
//	for i := range dst {
//		dst[i] = exp(x[i]) / Σ exp(x[j])
//	}
//
// without overflow, the sum in float64 from the first element to the last. A
// NaN, an Inf or nothing but -Inf makes all of dst NaN. It panics if the
// lengths differ. dst may be x.
func SoftmaxTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	if len(x) == 0 {
		return
	}
	most, sum := float64(maxOf(x)), 0.0
	for i, v := range x {
		e := math.Exp(float64(v) - most)
		dst[i] = T(e)
		sum += e
	}
	scale := 1 / sum
	for i, e := range dst {
		dst[i] = T(float64(e) * scale)
	}
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
	for i, v := range x {
		dst[i] = T(float64(v) - norm)
	}
}

// logNorm returns log(Σ exp(x[j])) without overflow, the sum in float64 from
// the first element to the last; NaN if the largest is infinite or there is
// none.
func logNorm[T dtype.Float](x []T) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	most, sum := float64(maxOf(x)), 0.0
	for _, v := range x {
		sum += math.Exp(float64(v) - most)
	}
	return most + math.Log(sum)
}

// maxOf returns the largest of x, which is not empty, or NaN if there is one.
func maxOf[T dtype.Float](x []T) T {
	m := x[0]
	for _, v := range x[1:] {
		m = max(m, v)
	}
	return m
}
