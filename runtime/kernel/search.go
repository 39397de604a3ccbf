package kernel

import "tpsh/runtime/dtype"

// sought is how many places SearchTo looks for side by side: the halves of one search wait for
// each other, those of several do not.
const sought = 8

// SearchTo is
//
//	for i, v := range values {
//		dst[i] = the number of elements of sorted that are less than v
//	}
//
// or no greater than v, if right; all, of a v that is NaN. sorted is in ascending order, NaN
// behind all else. It panics if the lengths of dst and values differ.
func SearchTo[T dtype.Number](dst []int64, sorted, values []T, right bool) {
	check2(len(dst), len(values))
	if len(sorted) == 0 {
		clear(dst)
		return
	}
	whole := len(values) / sought * sought
	for lo := 0; lo < whole; lo += sought {
		to, of := (*[sought]int64)(dst[lo:]), (*[sought]T)(values[lo:])
		if right {
			placesAfter(to, sorted, of)
		} else {
			placesBefore(to, sorted, of)
		}
	}
	if rest := values[whole:]; len(rest) > 0 {
		var to [sought]int64
		var of [sought]T
		copy(of[:], rest)
		if right {
			placesAfter(&to, sorted, &of)
		} else {
			placesBefore(&to, sorted, &of)
		}
		copy(dst[whole:], to[:])
	}
}

// placesBefore counts the elements that are less.
func placesBefore[T dtype.Number](dst *[sought]int64, sorted []T, values *[sought]T) {
	var at [sought]int
	for n := len(sorted); n > 1; n -= n / 2 {
		for i, v := range values { // without a branch: which way it goes is not to be foretold
			lo := at[i]
			hi := lo + n/2
			if sorted[hi-1] < v {
				lo = hi
			}
			at[i] = lo
		}
	}
	for i, v := range values {
		lo := at[i]
		if sorted[lo] < v {
			lo++
		}
		if v != v {
			lo = len(sorted)
		}
		dst[i] = int64(lo)
	}
}

// placesAfter counts the elements that are no greater.
func placesAfter[T dtype.Number](dst *[sought]int64, sorted []T, values *[sought]T) {
	var at [sought]int
	for n := len(sorted); n > 1; n -= n / 2 {
		for i, v := range values {
			lo := at[i]
			hi := lo + n/2
			if sorted[hi-1] <= v {
				lo = hi
			}
			at[i] = lo
		}
	}
	for i, v := range values {
		lo := at[i]
		if sorted[lo] <= v {
			lo++
		}
		if v != v {
			lo = len(sorted)
		}
		dst[i] = int64(lo)
	}
}
