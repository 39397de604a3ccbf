package kernel

import (
	"math"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// The kernels of this file are the steps of optimisers. Products are rounded
// before they are added, so that no machine fuses the two; what
// package vec does for float32 gives the same bits.

// CombineTo is
//
//	for i := range dst {
//		dst[i] = a*x[i] + b*y[i]
//	}
//
// It panics if the lengths differ. dst may be x or y.
func CombineTo[T dtype.Float](dst, x, y []T, a, b T) {
	check3(len(dst), len(x), len(y))
	if d, ok := any(dst).([]float32); ok {
		vec.Combine(d, as32(x), as32(y), float32(a), float32(b))
		return
	}
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = T(a*x[i]) + T(b*y[i])
	}
}

// LerpTo is
//
//	for i := range dst {
//		dst[i] = x[i] + w*(y[i]-x[i])
//	}
//
// counted, for a w of 1/2 or more, from y, as torch.lerp does. It panics if
// the lengths differ. dst may be x or y.
func LerpTo[T dtype.Float](dst, x, y []T, w T) {
	check3(len(dst), len(x), len(y))
	if d, ok := any(dst).([]float32); ok {
		if w < 0.5 {
			vec.Lerp(d, as32(x), as32(y), float32(w))
		} else {
			vec.LerpBack(d, as32(x), as32(y), float32(1-w))
		}
		return
	}
	x, y = x[:len(dst)], y[:len(dst)]
	if w < 0.5 {
		for i := range dst {
			dst[i] = x[i] + T(w*(y[i]-x[i]))
		}
		return
	}
	for i := range dst {
		dst[i] = y[i] - T((y[i]-x[i])*(1-w))
	}
}

// AddSquareTo is
//
//	for i := range dst {
//		dst[i] = keep*x[i] + share*y[i]*y[i]
//	}
//
// It panics if the lengths differ. dst may be x or y.
func AddSquareTo[T dtype.Float](dst, x, y []T, keep, share T) {
	check3(len(dst), len(x), len(y))
	if d, ok := any(dst).([]float32); ok {
		vec.AddSquare(d, as32(x), as32(y), float32(keep), float32(share))
		return
	}
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = T(keep*x[i]) + T(T(share*y[i])*y[i])
	}
}

// AdamTo is
//
//	for i := range dst {
//		dst[i] = x[i] - rate*m[i]/(√v[i]/root+eps)
//	}
//
// It panics if the lengths differ. dst may be any of them.
func AdamTo[T dtype.Float](dst, x, m, v []T, rate, root, eps T) {
	check3(len(dst), len(x), len(m))
	check2(len(dst), len(v))
	if d, ok := any(dst).([]float32); ok {
		vec.Adam(d, as32(x), as32(m), as32(v), float32(rate), float32(root), float32(eps))
		return
	}
	x, m, v = x[:len(dst)], m[:len(dst)], v[:len(dst)]
	for i := range dst {
		dst[i] = x[i] - T(rate*m[i])/(T(math.Sqrt(float64(v[i])))/root+eps)
	}
}

// An AdamRule is the numbers of a step of Adam.
type AdamRule struct {
	Decay           float64 // what x is multiplied by first
	Weight          float64 // how far m goes to g
	Keep, Share     float64 // the factors of v and g²
	Rate, Root, Eps float64 // see AdamTo
}

// adamBlock is how many elements AdamStepTo takes at a time, so that they are
// read from memory once.
const adamBlock = 1024

// AdamStepTo is
//
//	LerpTo(m, m, g, Weight)
//	AddSquareTo(v, v, g, Keep, Share)
//	AdamTo(x, x times Decay, m, v, Rate, Root, Eps)
//
// in one pass. It panics if the lengths differ.
func AdamStepTo[T dtype.Float](x, m, v, g []T, r *AdamRule) {
	check3(len(x), len(m), len(v))
	check2(len(x), len(g))
	if p, ok := any(x).([]float32); ok && T(r.Weight) < 0.5 {
		vec.AdamStep(p, as32(m), as32(v), as32(g), float32(r.Decay), float32(r.Weight),
			float32(r.Keep), float32(r.Share), float32(r.Rate), float32(r.Root), float32(r.Eps))
		return
	}
	for lo := 0; lo < len(x); lo += adamBlock {
		hi := min(lo+adamBlock, len(x))
		x, m, v, g := x[lo:hi], m[lo:hi], v[lo:hi], g[lo:hi]
		LerpTo(m, m, g, T(r.Weight))
		AddSquareTo(v, v, g, T(r.Keep), T(r.Share))
		scaleBy(x, T(r.Decay))
		AdamTo(x, x, m, v, T(r.Rate), T(r.Root), T(r.Eps))
	}
}
