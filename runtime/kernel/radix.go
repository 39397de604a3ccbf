package kernel

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sync"

	"tpsh/runtime/dtype"
)

// Rows are sorted by keys: numbers without a sign that are ordered as the elements are.
// A key of at most 32 bits and the place of its element make one number, and equal
// elements then keep their order by themselves. Digits of 8 bits are sorted one after the
// other, from the lowest (Knuth, "The Art of Computer Programming" 3, 5.2.5), those that
// all keys share excepted.

// radixFew is how many elements a row has at most that is not sorted by digits.
const radixFew = 64

// A keyed is the key of an element of 64 bits, and its place.
type keyed struct {
	key uint64
	at  int
}

// A sorter has room for the keys of a row.
type sorter struct {
	packed, otherPacked []uint64
	keys, otherKeys     []keyed
}

var sorters = sync.Pool{New: func() any { return new(sorter) }}

// roomOf returns n elements of *s and *t, which grow if need be.
func roomOf[T any](s, t *[]T, n int) (a, b []T) {
	if len(*s) < n {
		*s, *t = make([]T, n), make([]T, n)
	}
	return (*s)[:n], (*t)[:n]
}

// sortAll is SortTo of all of the row, or of many of its first.
func sortAll[T dtype.Number](values []T, indices []int64, x []T, descending bool) {
	s := sorters.Get().(*sorter)
	defer sorters.Put(s)
	if widelyKeyed(x) {
		keys, other := roomOf(&s.keys, &s.otherKeys, len(x))
		keys = sortKeys(keys, other, keysTo(keys, x, descending))
		for i := range values {
			values[i], indices[i] = x[keys[i].at], int64(keys[i].at)
		}
		return
	}
	packed, other := roomOf(&s.packed, &s.otherPacked, len(x))
	packed = sortPacked(packed, other, packTo(packed, x, descending))
	for i := range values {
		at := uint32(packed[i])
		values[i], indices[i] = x[at], int64(at)
	}
}

// widelyKeyed reports whether a key of x and a place do not fit 64 bits.
func widelyKeyed[T dtype.Number](x []T) bool {
	return OrderBits[T]() == 64 || uint64(len(x)) > math.MaxUint32
}

// Nth returns the element of x that SortTo puts in place k, in ascending order, and where it
// is: digits of 8 bits, from the highest, leave ever fewer elements among which it may be.
// It panics if there is no such place.
func Nth[T dtype.Number](x []T, k int) (v T, at int64) {
	s := sorters.Get().(*sorter)
	defer sorters.Put(s)
	if widelyKeyed(x) {
		keys, other := roomOf(&s.keys, &s.otherKeys, len(x))
		at = int64(nthKey(keys, other, k, keysTo(keys, x, false)).at)
	} else {
		packed, other := roomOf(&s.packed, &s.otherPacked, len(x))
		at = int64(uint32(nthPacked(packed, other, k, packTo(packed, x, false))))
	}
	return x[at], at
}

// nthPacked returns key k in ascending order; the keys differ in some bits.
func nthPacked(keys, other []uint64, k int, differ uint64) uint64 {
	for shift := 56; shift >= 32 && len(keys) > radixFew; shift -= 8 {
		if differ>>shift&255 == 0 {
			continue
		}
		var counts [256]int
		for _, key := range keys {
			counts[key>>shift&255]++
		}
		digit, before := digitAt(&counts, k)
		n := 0
		for _, key := range keys {
			other[n] = key // and the next one again, if this does not count
			n += int(bit(key>>shift&255 == digit))
		}
		keys, other, k = other[:n], keys, k-before
	}
	if len(keys) <= radixFew {
		slices.Sort(keys)
	}
	return keys[k] // equal ones lie in order
}

// nthKey is nthPacked of keys of 64 bits.
func nthKey(keys, other []keyed, k int, differ uint64) keyed {
	for shift := 56; shift >= 0 && len(keys) > radixFew; shift -= 8 {
		if differ>>shift&255 == 0 {
			continue
		}
		var counts [256]int
		for _, key := range keys {
			counts[key.key>>shift&255]++
		}
		digit, before := digitAt(&counts, k)
		n := 0
		for _, key := range keys {
			other[n] = key
			n += int(bit(key.key>>shift&255 == digit))
		}
		keys, other, k = other[:n], keys, k-before
	}
	if len(keys) <= radixFew {
		sortKeys(keys, nil, 0)
	}
	return keys[k]
}

// digitAt returns the digit that number k has when all are sorted by it, and how many have
// a lower one.
func digitAt(counts *[256]int, k int) (digit uint64, before int) {
	for k >= before+counts[digit] {
		before += counts[digit]
		digit++
	}
	return digit, before
}

// packTo stores in dst the keys of the elements of x, of at most 32 bits, above their
// places. It returns in which bits they differ.
func packTo[T dtype.Number](dst []uint64, x []T, descending bool) (differ uint64) {
	var flip uint64
	if descending {
		flip = 1<<32 - 1
	}
	if len(x) == 0 {
		return 0
	}
	first := uint64(orderOf(x[0])) ^ flip
	for i, v := range x {
		k := uint64(orderOf(v)) ^ flip
		differ |= k ^ first
		dst[i] = k<<32 | uint64(i)
	}
	return differ << 32
}

// keysTo is packTo of keys of 64 bits.
func keysTo[T dtype.Number](dst []keyed, x []T, descending bool) (differ uint64) {
	var flip uint64
	if descending {
		flip = 1<<64 - 1
	}
	for i, v := range x {
		dst[i] = keyed{uint64(orderOf(v)) ^ flip, i}
		differ |= dst[i].key ^ dst[0].key
	}
	return differ
}

// sortPacked sorts keys, which differ in some bits, and returns them, in one of the two.
func sortPacked(keys, other []uint64, differ uint64) []uint64 {
	if len(keys) <= radixFew {
		slices.Sort(keys)
		return keys
	}
	for shift := range digitsOf(differ) {
		var counts [256]int
		for _, k := range keys {
			counts[k>>shift&255]++
		}
		digitStarts(&counts)
		for _, k := range keys {
			d := k >> shift & 255
			other[counts[d]] = k
			counts[d]++
		}
		keys, other = other, keys
	}
	return keys
}

// sortKeys is sortPacked of keys of 64 bits, whose order of equal ones is that of the places.
func sortKeys(keys, other []keyed, differ uint64) []keyed {
	if len(keys) <= radixFew {
		slices.SortFunc(keys, func(a, b keyed) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at)) })
		return keys
	}
	for shift := range digitsOf(differ) {
		var counts [256]int
		for _, k := range keys {
			counts[k.key>>shift&255]++
		}
		digitStarts(&counts)
		for _, k := range keys {
			d := k.key >> shift & 255
			other[counts[d]] = k
			counts[d]++
		}
		keys, other = other, keys
	}
	return keys
}

// digitStarts turns counts of digits into where each begins.
func digitStarts(counts *[256]int) {
	at := 0
	for d, n := range counts {
		counts[d], at = at, at+n
	}
}

// digitsOf yields where the digits of 8 bits begin in which differ has any, from the lowest.
func digitsOf(differ uint64) iter.Seq[int] {
	return func(yield func(int) bool) {
		for shift := 0; shift < 64; shift += 8 {
			if differ>>shift&255 != 0 && !yield(shift) {
				return
			}
		}
	}
}
