package kernel

import (
	"math"

	"tpsh/internal/libm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// The rows of activation functions and their derivatives. The derivatives are
// functions of a gradient g and of the activation's input x. In float32 they are
// those of package vec.
var (
	// Gelu is x[i] * Φ(x[i]), with Φ the normal distribution function.
	Gelu = Unary{F32: vec.Gelu, F64: vec.Gelu64}
	// GeluTanh is GeluTanhTo.
	GeluTanh = Unary{F32: vec.GeluTanh, F64: GeluTanhTo[float64]}
	// Silu is SiluTo.
	Silu = Unary{F32: vec.Silu, F64: SiluTo[float64]}
	// Softplus is SoftplusTo.
	Softplus = Unary{F32: vec.Softplus, F64: SoftplusTo[float64]}

	// GeluGrad is g[i] * (Φ(x[i]) + x[i]*φ(x[i])), with φ the normal density.
	GeluGrad = Binary{F32: vec.GeluGrad, F64: vec.GeluGrad64}
	// GeluTanhGrad is GeluTanhGradTo.
	GeluTanhGrad = Binary{F32: vec.GeluTanhGrad, F64: GeluTanhGradTo[float64]}
	// SiluGrad is SiluGradTo.
	SiluGrad = Binary{F32: vec.SiluGrad, F64: SiluGradTo[float64]}

	// TanhGrad, SigmoidGrad and ReluGrad take the function's result y in place of x.

	// TanhGrad is TanhGradTo.
	TanhGrad = Binary{F32: vec.TanhGrad, F64: TanhGradTo[float64]}
	// SigmoidGrad is SigmoidGradTo.
	SigmoidGrad = Binary{F32: vec.SigmoidGrad, F64: SigmoidGradTo[float64]}
	// ReluGrad is ReluGradTo.
	ReluGrad = Binary{F32: vec.ReluGrad, F64: ReluGradTo[float64]}
)

// The constants of Hendrycks and Gimpel, "Gaussian error linear units", 2016.
const (
	geluScale = 0.7978845608028654 // √(2/π)
	geluCube  = 0.044715
)

// GeluTanhTo is
//
//	for i := range dst {
//		dst[i] = x[i] / 2 * (1 + tanh(√(2/π)*(x[i] + 0.044715*x[i]³)))
//	}
//
// in float64 rounded once. It panics if the lengths differ. dst may be x.
func GeluTanhTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		u := float64(v)
		dst[i] = T(u / 2 * (1 + libm.Tanh(geluScale*(u+float64(geluCube*u*u*u)))))
	}
}

// GeluTanhGradTo is g times the derivative of GeluTanhTo at x, in float64
// rounded once. It panics if the lengths differ. dst may be g or x.
func GeluTanhGradTo[T dtype.Float](dst, g, x []T) {
	check3(len(dst), len(g), len(x))
	for i, v := range x {
		u := float64(v)
		th := libm.Tanh(geluScale * (u + float64(geluCube*u*u*u)))
		d := float64((1 + th) / 2)
		if s := 1 - float64(th*th); s > 0 { // ±Inf times 0 is no slope
			d += float64(u / 2 * s * geluScale * (1 + float64(3*geluCube*u*u)))
		}
		dst[i] = T(float64(g[i]) * d)
	}
}

// SiluTo is
//
//	for i := range dst {
//		dst[i] = x[i] / (1 + exp(-x[i]))
//	}
//
// in float64 rounded once. It panics if the lengths differ. dst may be x.
func SiluTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		u := float64(v)
		dst[i] = T(u / (1 + libm.Exp(-u)))
	}
}

// SiluGradTo is
//
//	for i := range dst {
//		s := 1 / (1 + exp(-x[i]))
//		dst[i] = g[i] * s * (1 + x[i]*(1-s))
//	}
//
// in float64 rounded once. It panics if the lengths differ. dst may be g or x.
func SiluGradTo[T dtype.Float](dst, g, x []T) {
	check3(len(dst), len(g), len(x))
	for i, v := range x {
		u := float64(v)
		s := 1 / (1 + libm.Exp(-u))
		d := s
		if r := 1 - s; s > 0 && r > 0 { // ±Inf times 0 is no slope
			d += float64(s * r * u)
		}
		dst[i] = T(float64(g[i]) * d)
	}
}

// TanhGradTo is
//
//	for i := range dst {
//		dst[i] = g[i] * (1 - y[i]²)
//	}
//
// the difference rounded once. It panics if the lengths differ. dst may be g or
// y.
func TanhGradTo[T dtype.Float](dst, g, y []T) {
	check3(len(dst), len(g), len(y))
	for i, v := range y {
		dst[i] = g[i] * T(math.FMA(-float64(v), float64(v), 1))
	}
}

// SigmoidGradTo is
//
//	for i := range dst {
//		dst[i] = g[i] * (y[i] - y[i]²)
//	}
//
// under the rules of TanhGradTo.
func SigmoidGradTo[T dtype.Float](dst, g, y []T) {
	check3(len(dst), len(g), len(y))
	for i, v := range y {
		dst[i] = g[i] * T(math.FMA(-float64(v), float64(v), float64(v)))
	}
}

// ReluGradTo is
//
//	for i := range dst {
//		dst[i] = 0 if y[i] <= 0 else g[i]
//	}
//
// It panics if the lengths differ. dst may be g or y.
func ReluGradTo[T dtype.Float](dst, g, y []T) {
	check3(len(dst), len(g), len(y))
	for i, v := range y {
		d := g[i]
		if v <= 0 {
			d = 0
		}
		dst[i] = d
	}
}

// SoftplusTo is
//
//	for i := range dst {
//		dst[i] = log(1 + exp(x[i]))
//	}
//
// in float64 rounded once, and without overflow. It panics if the lengths
// differ. dst may be x.
func SoftplusTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		u := float64(v)
		dst[i] = T(max(u, 0) + libm.Log1p(libm.Exp(-math.Abs(u))))
	}
}

// DropTo is
//
//	for i := range dst {
//		dst[i] = x[i]*scale if keep[i] != 0 else 0
//	}
//
// It panics if the lengths differ. dst may be x.
func DropTo[T dtype.Float](dst, x []T, keep []uint8, scale T) {
	check3(len(dst), len(x), len(keep))
	if d, ok := any(dst).([]float32); ok {
		vec.Drop(d, as32(x), keep, float32(scale))
		return
	}
	for i, k := range keep {
		v := T(0)
		if k != 0 {
			v = x[i] * scale
		}
		dst[i] = v
	}
}
