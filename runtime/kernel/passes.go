package kernel

import (
	"math"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// The kernels of this file are functions, most of float32, that operators make of several others,
// in one pass, with the bits of these. Each panics if the lengths differ; dst may be any of the
// other operands.

// LeakyRelu is
//
//	for i := range dst {
//		dst[i] = x[i] if x[i] > 0 else x[i]*slope
//	}
func LeakyRelu(dst, x []float32, slope float32) { vec.LeakyRelu(dst, x, slope) }

// Elu is
//
//	for i := range dst {
//		dst[i] = (x[i] if x[i] > 0 else (exp(x[i]*share) - 1) * alpha) * times
//	}
//
// Blocks of positive elements alone take no exponentials.
func Elu(dst, x []float32, alpha, share, times float32) {
	check2(len(dst), len(x))
	for lo := 0; lo < len(x); lo += Block {
		hi := min(lo+Block, len(x))
		if min32(x[lo:hi]) > 0 {
			vec.Scale(dst[lo:hi], x[lo:hi], times)
		} else {
			vec.Elu(dst[lo:hi], x[lo:hi], alpha, share, times)
		}
	}
}

// Mix is
//
//	for i := range dst {
//		dst[i] = x[i] + w*(y[i]-x[i])
//	}
func Mix(dst, x, y []float32, w float32) { vec.Lerp(dst, x, y, w) }

// AddProduct is
//
//	for i := range dst {
//		dst[i] = x[i] + y[i]*z[i]*a
//	}
func AddProduct(dst, x, y, z []float32, a float32) { vec.AddProduct(dst, x, y, z, a) }

// AddQuotient is
//
//	for i := range dst {
//		dst[i] = x[i] + y[i]/z[i]*a
//	}
func AddQuotient(dst, x, y, z []float32, a float32) { vec.AddQuotient(dst, x, y, z, a) }

// Huber is
//
//	for i := range dst {
//		d := x[i] - y[i]
//		dst[i] = (d*d*0.5 if |d| < delta else (|d|+less)*delta) * times
//	}
func Huber(dst, x, y []float32, delta, less, times float32) {
	vec.Huber(dst, x, y, delta, less, times)
}

// Finite is
//
//	for i := range dst {
//		dst[i] = none if x[i] is NaN, most if it is infinite, least if it is -Inf, else x[i]
//	}
func Finite(dst, x []float32, none, most, least float32) { vec.Finite(dst, x, none, most, least) }

// NumbersTo is
//
//	for i := range dst {
//		dst[i] = 0 if x[i] is NaN, else x[i]
//	}
//
// of floats of any type.
func NumbersTo[T dtype.Float](dst, x []T) {
	if d, ok := any(dst).([]float32); ok {
		vec.Finite(d, as32(x), 0, float32(math.Inf(1)), float32(math.Inf(-1)))
		return
	}
	check2(len(dst), len(x))
	for i, v := range x {
		if v != v {
			v = 0
		}
		dst[i] = v
	}
}
