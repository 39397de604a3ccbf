package kernel

import (
	"tpsh/internal/libm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// SquaredDiffTo is
//
//	for i := range dst {
//		dst[i] = (x[i] - y[i])²
//	}
//
// It panics if the lengths differ. dst may be x or y.
func SquaredDiffTo[T dtype.Float](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	for i, v := range x {
		d := v - y[i]
		dst[i] = d * d
	}
}

// ExpDiffTo is
//
//	for i := range dst {
//		dst[i] = exp(x[i] - y[i])
//	}
//
// computed in float64. It panics if the lengths differ. dst may be x or y.
func ExpDiffTo[T dtype.Float](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	for i, v := range x {
		dst[i] = T(libm.Exp(float64(v) - float64(y[i])))
	}
}

// CountTo is
//
//	for i := range dst {
//		dst[i] = 1 if x[i] != 0 else 0
//	}
//
// It panics if the lengths differ. dst may be x.
func CountTo[T dtype.Number](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = T(bit(v != 0))
	}
}

// ExpDiff32To is ExpDiffTo with exponentials of float32; what is below 1e-38 counts as 0. It panics
// if the lengths differ. No x[i] - y[i] is more than 90.
func ExpDiff32To(dst []float64, x, y []float32) {
	check3(len(dst), len(x), len(y))
	var e [512]float32
	for lo := 0; lo < len(dst); lo += len(e) {
		part := e[:min(len(e), len(dst)-lo)]
		vec.Sub(part, x[lo:lo+len(part)], y[lo:lo+len(part)])
		vec.ExpLess(part, part, 0)
		for i, v := range part {
			dst[lo+i] = float64(v)
		}
	}
}

// ExpDiffSum returns the sum of what ExpDiff32To stores of x and a y of which all elements are by: of a
// block, in the order of a Reduction.
func ExpDiffSum(x []float32, by float32) float64 {
	var sum [lanes]float64
	vec.ExpSumAny(x, by, &sum)
	return addLanes(&sum)
}
