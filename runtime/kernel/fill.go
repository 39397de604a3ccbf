package kernel

import "tpsh/runtime/dtype"

// Progress is
//
//	for i := range dst {
//		dst[i] = first + i*step
//	}
func Progress[T dtype.Number](dst []T, first, step T) {
	for i := range dst {
		dst[i] = first + T(T(i)*step)
	}
}

// Interpolate sets dst to numbers evenly spaced from first to last, which are
// its first and last elements exactly. Like torch.linspace it counts from the
// nearer end:
//
//	step := (last - first) / (len(dst) - 1)
//	for i := range dst {
//		dst[i] = first + i*step               in the first half
//		dst[i] = last - (len(dst)-1-i)*step   in the second
//	}
func Interpolate[T dtype.Float](dst []T, first, last T) {
	n := len(dst)
	if n == 1 {
		dst[0] = first
		return
	}
	step := (last - first) / T(n-1)
	for i := range dst {
		if i < n/2 {
			dst[i] = first + T(T(i)*step)
		} else {
			dst[i] = last - T(T(n-1-i)*step)
		}
	}
}
