package kernel

import "encoding/binary"

// TruePlaces stores in dst, in order, where mask, of bytes 0 and 1, is 1. It has an element
// for each.
func TruePlaces(dst []int, mask []uint8) {
	n := 0
	for at := 0; at < len(mask); at++ {
		if at+8 <= len(mask) && binary.NativeEndian.Uint64(mask[at:at+8]) == 0 {
			at += 7
			continue
		}
		for end := min(at+8, len(mask)); ; at++ {
			if n == len(dst) {
				return
			}
			dst[n] = at // and the next one again, if this does not count
			n += int(mask[at])
			if at+1 == end {
				break
			}
		}
	}
}

// Compress is
//
//	for i, v := range mask {
//		if v != 0 {
//			append(dst, src[i])
//		}
//	}
//
// into a dst that has room for just as many, the bytes of mask being 0 or 1. It panics if
// src is too short.
func Compress[T any](dst, src []T, mask []uint8) {
	src = src[:len(mask)]
	n := 0
	for i, v := range mask {
		if n == len(dst) {
			return
		}
		dst[n] = src[i] // and again, if it does not count
		n += int(v)
	}
}

// TrueIndices stores in dst, in order, the indices of the bytes of mask that are 1, which
// has the given sizes and is not empty: an index for each dim. It has as many as it takes.
func TrueIndices(dst []int64, mask []uint8, sizes []int) {
	last := len(sizes) - 1
	index := make([]int64, len(sizes))
	for n := 0; len(mask) > 0; mask = mask[sizes[last]:] {
		row := mask[:sizes[last]]
		switch last {
		case 0:
			n = rowIndices1(dst, row, n)
		case 1:
			n = rowIndices2(dst, row, n, index[0])
		default:
			n = rowIndices(dst, row, n, index)
		}
		for d := last - 1; d >= 0; d-- {
			if index[d]++; index[d] < int64(sizes[d]) {
				break
			}
			index[d] = 0
		}
	}
}

// rowIndices1 is TrueIndices of one row: from element n of dst on, and returns where it
// ends.
func rowIndices1(dst []int64, row []uint8, n int) int {
	for j, v := range row {
		if n >= len(dst) {
			break
		}
		dst[n] = int64(j)
		n += int(v)
	}
	return n
}

func rowIndices2(dst []int64, row []uint8, n int, i int64) int {
	for j, v := range row {
		if n+1 >= len(dst) {
			break
		}
		dst[n], dst[n+1] = i, int64(j)
		n += 2 * int(v)
	}
	return n
}

func rowIndices(dst []int64, row []uint8, n int, index []int64) int {
	width := len(index)
	for j, v := range row {
		if v != 0 {
			to := dst[n : n+width]
			copy(to, index)
			to[width-1] = int64(j)
			n += width
		}
	}
	return n
}
