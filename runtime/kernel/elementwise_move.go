package kernel

import (
	"unsafe"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// Gather is
//
//	for i := range dst {
//		dst[i] = D(src[i*stride])
//	}
//
// A float becomes an integer by truncation; beyond the integer's range it
// becomes the nearest end of it, and NaN becomes 0. It panics if src is too
// short. dst and src do not overlap, unless they are the same and stride is 1.
func Gather[D, S dtype.Number](dst []D, src []S, stride int) {
	switch {
	case len(dst) == 0:
	case truncates[D, S]() && stride == 0:
		gatherTruncate(dst[:1], src, 0)
		Fill(dst, dst[0])
	case truncates[D, S]():
		gatherTruncate(dst, src, stride)
	case stride == 0:
		Fill(dst, D(src[0]))
	case stride == 1:
		convert(dst, src[:len(dst)])
	default:
		src = src[:(len(dst)-1)*stride+1]
		for i, at := 0, 0; i < len(dst); i, at = i+1, at+stride {
			dst[i] = D(src[at])
		}
	}
}

// Scatter is
//
//	for i := range src {
//		dst[i*stride] = D(src[i])
//	}
//
// with the conversions of Gather. It panics if dst is too short.
func Scatter[D, S dtype.Number](dst []D, stride int, src []S) {
	switch {
	case len(src) == 0:
	case truncates[D, S]():
		scatterTruncate(dst, stride, src)
	case stride == 1:
		convert(dst[:len(src)], src)
	default:
		dst = dst[:(len(src)-1)*stride+1]
		for i, at := 0, 0; i < len(src); i, at = i+1, at+stride {
			dst[at] = D(src[i])
		}
	}
}

// Fill sets every element of dst to v.
func Fill[T dtype.Number](dst []T, v T) { spread(dst, v) }

// convert is Gather with stride 1, of a float to an integer excepted.
func convert[D, S dtype.Number](dst []D, src []S) {
	src = src[:len(dst)]
	switch src := any(src).(type) {
	case []D:
		copy(dst, src)
		return
	case []float32:
		if dst, ok := any(dst).([]float64); ok {
			vec.Double(dst, src)
			return
		}
	case []float64:
		if dst, ok := any(dst).([]float32); ok {
			vec.Single(dst, src)
			return
		}
	}
	for i := range dst {
		dst[i] = D(src[i])
	}
}

// truncates reports whether S is a float type and D an integer type.
func truncates[D, S dtype.Number]() bool { return isFloat[S]() && !isFloat[D]() }

// isFloat reports whether T is a float type.
func isFloat[T dtype.Number]() bool { return T(1)/T(2) != 0 }

func gatherTruncate[D, S dtype.Number](dst []D, src []S, stride int) {
	lo, hi := limits[D]()
	for i := range dst {
		dst[i] = truncate(float64(src[i*stride]), lo, hi)
	}
}

func scatterTruncate[D, S dtype.Number](dst []D, stride int, src []S) {
	lo, hi := limits[D]()
	for i, v := range src {
		dst[i*stride] = truncate(float64(v), lo, hi)
	}
}

// truncate returns v without its fraction, kept within lo..hi; 0 for NaN.
func truncate[D dtype.Number](v float64, lo, hi D) D {
	switch {
	case v != v:
		return 0
	case v <= float64(lo):
		return lo
	case v >= float64(hi):
		return hi
	}
	return D(v)
}

// Convert returns v as a T, by the rules of Gather.
func Convert[T dtype.Number](v float64) T {
	if isFloat[T]() {
		return T(v)
	}
	lo, hi := limits[T]()
	return truncate(v, lo, hi)
}

// limits returns the least and the greatest value of the integer type D.
func limits[D dtype.Number]() (lo, hi D) {
	bits := 8 * unsafe.Sizeof(lo)
	if lo--; lo > 0 { // unsigned: 0-1 is the greatest
		return 0, lo
	}
	top := uint64(1) << (bits - 1)
	minus := -int64(top - 1)
	return D(minus) - 1, D(int64(top - 1))
}

// GatherF16 is Gather from half-precision numbers.
func GatherF16[D dtype.Number](dst []D, src []dtype.F16, stride int) {
	switch {
	case len(dst) == 0:
	case truncates[D, float32]():
		for i := range dst {
			dst[i] = Convert[D](float64(src[i*stride].Float32()))
		}
	case stride == 1:
		src = src[:len(dst)]
		if d, ok := any(dst).([]float32); ok {
			vec.WidenF16(d, src)
			return
		}
		for i := range dst {
			dst[i] = D(src[i].Float32())
		}
	default:
		src = src[:(len(dst)-1)*stride+1]
		for i, at := 0, 0; i < len(dst); i, at = i+1, at+stride {
			dst[i] = D(src[at].Float32())
		}
	}
}

// GatherBF16 is Gather from bfloat16 numbers.
func GatherBF16[D dtype.Number](dst []D, src []dtype.BF16, stride int) {
	switch {
	case len(dst) == 0:
	case truncates[D, float32]():
		for i := range dst {
			dst[i] = Convert[D](float64(src[i*stride].Float32()))
		}
	case stride == 1:
		src = src[:len(dst)]
		if d, ok := any(dst).([]float32); ok {
			vec.WidenBF16(d, src)
			return
		}
		for i := range dst {
			dst[i] = D(src[i].Float32())
		}
	default:
		src = src[:(len(dst)-1)*stride+1]
		for i, at := 0, 0; i < len(dst); i, at = i+1, at+stride {
			dst[i] = D(src[at].Float32())
		}
	}
}

// ScatterF16 is Scatter to half-precision numbers, by way of float32.
func ScatterF16[S dtype.Number](dst []dtype.F16, stride int, src []S) {
	if stride == 1 {
		dst = dst[:len(src)]
		if x, ok := any(src).([]float32); ok {
			vec.NarrowF16(dst, x)
			return
		}
		for i, v := range src {
			dst[i] = dtype.ToF16(float32(v))
		}
		return
	}
	for i, v := range src {
		dst[i*stride] = dtype.ToF16(float32(v))
	}
}

// ScatterBF16 is Scatter to bfloat16 numbers, by way of float32.
func ScatterBF16[S dtype.Number](dst []dtype.BF16, stride int, src []S) {
	if stride == 1 {
		dst = dst[:len(src)]
		if x, ok := any(src).([]float32); ok {
			vec.NarrowBF16(dst, x)
			return
		}
		for i, v := range src {
			dst[i] = dtype.ToBF16(float32(v))
		}
		return
	}
	for i, v := range src {
		dst[i*stride] = dtype.ToBF16(float32(v))
	}
}

// GatherF8 is Gather from floats of 8 bits.
func GatherF8[D dtype.Number, H interface{ Float32() float32 }](dst []D, src []H, stride int) {
	if truncates[D, float32]() {
		for i := range dst {
			dst[i] = Convert[D](float64(src[i*stride].Float32()))
		}
		return
	}
	for i := range dst {
		dst[i] = D(src[i*stride].Float32())
	}
}

// ScatterF8 is Scatter to floats of 8 bits, which round makes of float32.
func ScatterF8[H any, S dtype.Number](dst []H, stride int, src []S, round func(float32) H) {
	for i, v := range src {
		dst[i*stride] = round(float32(v))
	}
}

// NotZero is
//
//	for i := range dst {
//		dst[i] = 1 if x[i] != 0 else 0
//	}
//
// so that NaN counts as true. It panics if the lengths differ. dst may be x.
func NotZero[T dtype.Number](dst []uint8, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = bit(v != 0)
	}
}

// bit returns 1 for true.
func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
