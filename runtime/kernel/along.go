package kernel

import "tpsh/runtime/dtype"

// An Along says where the elements of a tensor lie that a row of indices points at: the
// row goes along a line of the tensor, Step elements from one to the next, and element i
// of the row moves as far along the indexed dim, of N elements Stride apart, as it says.
// Indices less than 0 count from the end.
type Along struct{ N, Step, Stride int }

// TakeAlong is
//
//	for i, j := range index {
//		dst[i] = src[i*a.Step + (j if j >= 0 else a.N+j)*a.Stride]
//	}
//
// It returns -1, or where the first index outside -a.N..a.N-1 is, having taken what is
// before it. It panics if an element lies outside its slice.
func TakeAlong[T any](dst, src []T, index []int64, a Along) int {
	dst = dst[:len(index)]
	if a.Step == 0 && a.Stride == 1 && a.N <= len(src) {
		src = src[:a.N]
		for i, j := range index {
			if uint(j) >= uint(len(src)) {
				if j += int64(len(src)); uint(j) >= uint(len(src)) {
					return i
				}
			}
			dst[i] = src[j]
		}
		return -1
	}
	at := 0
	for i, j := range index {
		if uint(j) >= uint(a.N) {
			if j += int64(a.N); uint(j) >= uint(a.N) {
				return i
			}
		}
		dst[i] = src[at+int(j)*a.Stride]
		at += a.Step
	}
	return -1
}

// PutAlong is TakeAlong the other way:
//
//	for i, j := range index {
//		dst[i*a.Step + (j if j >= 0 else a.N+j)*a.Stride] = src[i]
//	}
//
// in this order, so that the last of equal places wins.
func PutAlong[T any](dst, src []T, index []int64, a Along) int {
	src = src[:len(index)]
	at := 0
	for i, j := range index {
		if uint(j) >= uint(a.N) {
			if j += int64(a.N); uint(j) >= uint(a.N) {
				return i
			}
		}
		dst[at+int(j)*a.Stride] = src[i]
		at += a.Step
	}
	return -1
}

// AddAlong is PutAlong that adds src to what is there, in the same order.
func AddAlong[T dtype.Number](dst, src []T, index []int64, a Along) int {
	src = src[:len(index)]
	at := 0
	for i, j := range index {
		if uint(j) >= uint(a.N) {
			if j += int64(a.N); uint(j) >= uint(a.N) {
				return i
			}
		}
		dst[at+int(j)*a.Stride] += src[i]
		at += a.Step
	}
	return -1
}

// PlacesAlong is TakeAlong of the places themselves, the row beginning at first:
//
//	dst[i] = first + i*a.Step + (j if j >= 0 else a.N+j)*a.Stride
func PlacesAlong(dst []int, index []int64, first int, a Along) int {
	dst = dst[:len(index)]
	for i, j := range index {
		if uint(j) >= uint(a.N) {
			if j += int64(a.N); uint(j) >= uint(a.N) {
				return i
			}
		}
		dst[i] = first + int(j)*a.Stride
		first += a.Step
	}
	return -1
}
