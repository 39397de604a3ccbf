package kernel

import (
	"math"

	"tpsh/runtime/dtype"
)

// OrderBits returns how many bits the numbers have that OrderTo makes of elements of
// T: 8, 32 or 64.
func OrderBits[T dtype.Number]() int {
	var v T
	switch any(v).(type) {
	case uint8:
		return 8
	case float32, int32:
		return 32
	}
	return 64
}

// OrderTo stores in dst numbers that are ordered as the elements of x are by SortTo:
// zeros of both signs have one number, and so has every NaN, the greatest. The numbers
// are of OrderBits bits; those of 64 are to be compared as uint64. It panics if the
// lengths differ.
func OrderTo[T dtype.Number](dst []int64, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = orderOf(v)
	}
}

func orderOf[T dtype.Number](v T) int64 {
	if v == 0 {
		v = 0 // without a sign
	}
	switch v := any(v).(type) {
	case float32:
		if v != v {
			return math.MaxUint32
		}
		b := math.Float32bits(v)
		return int64(b ^ (uint32(int32(b)>>31) | 1<<31))
	case float64:
		if v != v {
			return -1
		}
		b := math.Float64bits(v)
		return int64(b ^ (uint64(int64(b)>>63) | 1<<63))
	case int32:
		return int64(v) + 1<<31
	case int64:
		return v ^ math.MinInt64
	}
	return int64(v)
}

// ordered is the inverse of orderOf, of numbers of at most 32 bits.
func ordered[T dtype.Number](n int64) T {
	var v T
	switch any(v).(type) {
	case float32:
		b := uint32(n)
		if b == math.MaxUint32 {
			return T(math.NaN())
		}
		return T(math.Float32frombits(b ^ (uint32(int32(^b)>>31) | 1<<31)))
	case int32:
		return T(n - 1<<31)
	}
	return T(n)
}

// DigitCountsTo adds to counts, of 256, how often each digit occurs in those of keys
// that begin with prefix: the digit is the 8 bits from shift on, and what stands above
// it the prefix. A radix selection (Knuth, "The Art of Computer Programming" 3, 5.2.2)
// has a call for each digit.
func DigitCountsTo(counts, keys []int64, prefix int64, shift int) {
	for _, k := range keys {
		if uint64(k)>>shift>>8 == uint64(prefix) {
			counts[uint64(k)>>shift&255]++
		}
	}
}

// Of what PackOrderTo makes the place has these bits, and the lowest bit says that an
// element is -0.
const packedPlace = 30

// MaxPacked is how many elements PackOrderTo takes at most.
const MaxPacked = 1 << packedPlace

// PackOrderTo stores in dst negative numbers that are ordered as SortTo orders the
// elements of x, by value and by place: each holds both. first is the place of x[0].
// It panics if the lengths differ. T has at most 32 bits of order (OrderBits), and
// places are below MaxPacked.
func PackOrderTo[T dtype.Number](dst []int64, x []T, first int, descending bool) {
	check2(len(dst), len(x))
	for i, v := range x {
		n := orderOf(v)
		if descending {
			n = math.MaxUint32 - n
		}
		dst[i] = math.MinInt64 | n<<(packedPlace+1) | int64(first+i)<<1
		if v == 0 && math.Signbit(float64(v)) {
			dst[i] |= 1
		}
	}
}

// UnpackOrderTo stores what PackOrderTo has packed: elements in values, and where they
// were in places. It panics if the lengths differ.
func UnpackOrderTo[T dtype.Number](values []T, places, packed []int64, descending bool) {
	check2(len(values), len(places))
	check2(len(values), len(packed))
	for i, p := range packed {
		n := p & math.MaxInt64 >> (packedPlace + 1)
		if descending {
			n = math.MaxUint32 - n
		}
		values[i], places[i] = ordered[T](n), p>>1&(MaxPacked-1)
		if p&1 != 0 {
			values[i] = T(math.Copysign(0, -1))
		}
	}
}
