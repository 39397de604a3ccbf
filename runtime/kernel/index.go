package kernel

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// Take is
//
//	for i, j := range at {
//		copy(dst[i*width:(i+1)*width], src[j*width:(j+1)*width])
//	}
//
// on the bytes of elements of any type. It panics if an index is out of range.
func Take(dst, src []byte, at []int, width int) {
	switch width {
	case 1:
		takeSized(dst, src, at)
	case 2:
		takeSized(view[uint16](dst), view[uint16](src), at)
	case 4:
		takeSized(view[uint32](dst), view[uint32](src), at)
	case 8:
		takeSized(view[uint64](dst), view[uint64](src), at)
	default:
		for i, j := range at {
			copy(dst[i*width:(i+1)*width], src[j*width:(j+1)*width])
		}
	}
}

func takeSized[T any](dst, src []T, at []int) {
	dst = dst[:len(at)]
	for i, j := range at {
		dst[i] = src[j]
	}
}

// Put is
//
//	for i, j := range at {
//		copy(dst[j*width:(j+1)*width], src[i*width:(i+1)*width])
//	}
//
// in this order, so that the last of equal indices wins.
func Put(dst, src []byte, at []int, width int) {
	switch width {
	case 1:
		putSized(dst, src, at)
	case 2:
		putSized(view[uint16](dst), view[uint16](src), at)
	case 4:
		putSized(view[uint32](dst), view[uint32](src), at)
	case 8:
		putSized(view[uint64](dst), view[uint64](src), at)
	default:
		for i, j := range at {
			copy(dst[j*width:(j+1)*width], src[i*width:(i+1)*width])
		}
	}
}

func putSized[T any](dst, src []T, at []int) {
	src = src[:len(at)]
	for i, j := range at {
		dst[j] = src[i]
	}
}

// Accumulate is
//
//	for i, j := range at {
//		for l := range width {
//			dst[j*width+l] += src[i*width+l]
//		}
//	}
//
// in this order.
func Accumulate[T dtype.Number](dst, src []T, at []int, width int) {
	if width == 1 {
		src = src[:len(at)]
		for i, j := range at {
			dst[j] += src[i]
		}
		return
	}
	for i, j := range at {
		addTo(dst[j*width:(j+1)*width], src[i*width:(i+1)*width])
	}
}

// addTo adds src to dst, elementwise.
func addTo[T dtype.Number](dst, src []T) {
	if d, ok := any(dst).([]float32); ok && len(d) >= 16 {
		vec.Add(d, d, any(src).([]float32))
		return
	}
	src = src[:len(dst)]
	for i, v := range src {
		dst[i] += v
	}
}

// Count is
//
//	for _, v := range x {
//		dst[v]++
//	}
//
// It panics if one of x is no index of dst.
func Count(dst, x []int64) {
	for _, v := range x {
		dst[v]++
	}
}
