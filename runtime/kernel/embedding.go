package kernel

import "tpsh/runtime/dtype"

// TakeRows is
//
//	for i, id := range ids {
//		copy(dst[i*n:(i+1)*n], src[id*n:(id+1)*n])
//	}
//
// It panics if dst does not hold n elements for each id, or an id is outside.
func TakeRows[T any](dst, src []T, ids []int64, n int) {
	check2(len(dst), len(ids)*n)
	for i, id := range ids {
		copy(dst[i*n:(i+1)*n], src[int(id)*n:(int(id)+1)*n])
	}
}

// AddRows is
//
//	for i, id := range ids {
//		for j := range n {
//			dst[id*n+j] += src[i*n+j]
//		}
//	}
//
// It panics if src does not hold n elements for each id, or an id is outside.
func AddRows[T dtype.Float](dst, src []T, ids []int64, n int) {
	check2(len(src), len(ids)*n)
	for i, id := range ids {
		row := dst[int(id)*n : (int(id)+1)*n]
		for j, v := range src[i*n : (i+1)*n] {
			row[j] += v
		}
	}
}

// SumBags is
//
//	for i, id := range ids {
//		for j := range n {
//			dst[bag[i]*n+j] += scale[i] * table[id*n+j]
//		}
//	}
//
// A scale of 0 leaves the row out. It panics if a bag or an id is outside.
func SumBags[T dtype.Float](dst, table, scale []T, ids, bag []int64, n int) {
	check3(len(ids), len(bag), len(scale))
	for i, id := range ids {
		if scale[i] == 0 {
			continue
		}
		row := dst[int(bag[i])*n : (int(bag[i])+1)*n]
		for j, v := range table[int(id)*n : (int(id)+1)*n] {
			row[j] += T(scale[i] * v)
		}
	}
}

// MaxBags stores in dst[b*n+j] the largest table[id*n+j] of the ids of bag b
// whose scale is not 0, the first of equals or the first NaN, and in
// winner[b*n+j] its id. A bag without any keeps what dst and winner hold.
func MaxBags[T dtype.Float](dst []T, winner []int64, table, scale []T, ids, bag []int64, n int) {
	check3(len(ids), len(bag), len(scale))
	check2(len(dst), len(winner))
	seen := make([]bool, len(dst))
	for i, id := range ids {
		if scale[i] == 0 {
			continue
		}
		at := int(bag[i]) * n
		for j, v := range table[int(id)*n : (int(id)+1)*n] {
			best := dst[at+j]
			if !seen[at+j] || v > best || v != v && best == best {
				seen[at+j], dst[at+j], winner[at+j] = true, v, id
			}
		}
	}
}
