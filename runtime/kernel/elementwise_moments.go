package kernel

import (
	"math"

	"tpsh/runtime/dtype"
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
		dst[i] = T(math.Exp(float64(v) - float64(y[i])))
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
