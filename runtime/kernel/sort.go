package kernel

import (
	"slices"

	"tpsh/runtime/dtype"
)

// SortTo stores in values the elements of x in ascending order, or in
// descending order, and in indices where they were. Equal elements keep their
// order; NaN counts as greater than all else. values and indices may be
// shorter than x and then hold the first ones. It panics if their lengths
// differ.
func SortTo[T dtype.Number](values []T, indices []int64, x []T, descending bool) {
	check2(len(values), len(indices))
	if len(values) > len(x)/16 {
		sortAll(values, indices, x, descending)
		return
	}
	before := ascending[T]
	if descending {
		before = func(a, b T) int { return ascending(b, a) }
	}
	best := firstItems(x, len(values), before, descending)
	for i := range values {
		values[i], indices[i] = best[i].v, int64(best[i].at)
	}
}

// An item is an element of a row and its place.
type item[T dtype.Number] struct {
	v  T
	at int
}

// ascending compares as cmp.Compare does, but that NaN is greater than all
// else and equal to NaN, and zeros of both signs are equal.
func ascending[T dtype.Number](a, b T) int {
	switch {
	case a < b || a == a && b != b:
		return -1
	case a > b || a != a && b == b:
		return 1
	}
	return 0
}

// firstItems returns the first k items of x in order, k being much less than
// their number: each that comes before the last of the best so far is put in
// its place among them.
func firstItems[T dtype.Number](x []T, k int, before func(a, b T) int, descending bool) []item[T] {
	best := make([]item[T], 0, k+1)
	if k == 0 {
		return best
	}
	for i, v := range x {
		if len(best) == k {
			last := best[k-1].v
			if descending && !(v > last || v != v && last == last) || !descending && !(v < last || v == v && last != last) {
				continue
			}
		}
		at, _ := slices.BinarySearchFunc(best, v, func(b item[T], v T) int {
			if before(b.v, v) <= 0 {
				return -1
			}
			return 1
		})
		best = slices.Insert(best, at, item[T]{v, i})
		best = best[:min(len(best), k)]
	}
	return best
}
