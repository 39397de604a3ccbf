package kernel

import "tpsh/runtime/dtype"

// Take is
//
//	for i, j := range at {
//		copy(dst[i*width:(i+1)*width], src[j*width:(j+1)*width])
//	}
//
// on the bytes of elements of any type. It panics if an index is out of range.
func Take(dst, src []byte, at []int, width int) {
	switch width {
	case 4:
		for i, j := range at {
			copy(dst[4*i:4*i+4], src[4*j:4*j+4])
		}
	case 8:
		for i, j := range at {
			copy(dst[8*i:8*i+8], src[8*j:8*j+8])
		}
	default:
		for i, j := range at {
			copy(dst[i*width:(i+1)*width], src[j*width:(j+1)*width])
		}
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
	for i, j := range at {
		copy(dst[j*width:(j+1)*width], src[i*width:(i+1)*width])
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
	for i, j := range at {
		row := dst[j*width : (j+1)*width]
		for l, v := range src[i*width : (i+1)*width] {
			row[l] += v
		}
	}
}
