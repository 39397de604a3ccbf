package kernel

import (
	"math"

	"tpsh/internal/libm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// The rows of the transcendental functions.
//
// In float64 they are computed by package libm, whose results are within
// about 2 ulp, but for those of package vec. In float32 they are the kernels of package vec, but that sines
// and cosines of angles beyond vec.FarAngle are rounded from float64.
var (
	// Exp is ExpTo.
	Exp = Unary{F32: vec.Exp, F64: vec.Exp64}
	// Log is the natural logarithm.
	Log = Unary{F32: vec.Log, F64: vec.Log64}
	// Sqrt is SqrtTo.
	Sqrt = Unary{F32: vec.Sqrt, F64: SqrtTo[float64]}
	// Rsqrt is RsqrtTo.
	Rsqrt = Unary{F32: vec.Rsqrt, F64: RsqrtTo[float64]}
	// Sin is SinTo.
	Sin = Unary{F32: sin32, F64: SinTo[float64]}
	// Cos is CosTo.
	Cos = Unary{F32: cos32, F64: CosTo[float64]}
	// Tanh is the hyperbolic tangent.
	Tanh = Unary{F32: vec.Tanh, F64: vec.Tanh64}
	// Sigmoid is SigmoidTo.
	Sigmoid = Unary{F32: vec.Sigmoid, F64: SigmoidTo[float64]}
	// Erf is ErfTo.
	Erf = Unary{F32: vec.Erf, F64: ErfTo[float64]}
)

// ExpTo is
//
//	for i := range dst {
//		dst[i] = e to the power x[i]
//	}
//
// It panics if the lengths differ. dst may be x.
func ExpTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = T(libm.Exp(float64(v)))
	}
}

// SqrtTo is ExpTo for the square root, correctly rounded.
func SqrtTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = T(math.Sqrt(float64(v)))
	}
}

// RsqrtTo is ExpTo for 1/√x[i].
func RsqrtTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = T(1 / math.Sqrt(float64(v)))
	}
}

// SinTo is ExpTo for the sine.
func SinTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = T(libm.Sin(float64(v)))
	}
}

// CosTo is ExpTo for the cosine.
func CosTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = T(libm.Cos(float64(v)))
	}
}

// SigmoidTo is ExpTo for 1/(1+exp(-x[i])).
func SigmoidTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = T(sigmoid(float64(v)))
	}
}

// sigmoid avoids an infinite exp, and so keeps the smallest results.
func sigmoid(v float64) float64 {
	if v < 0 {
		e := libm.Exp(v)
		return e / (1 + e)
	}
	return 1 / (1 + libm.Exp(-v))
}

// ErfTo is ExpTo for the error function.
func ErfTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = T(libm.Erf(float64(v)))
	}
}
