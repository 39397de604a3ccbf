package kernel

import (
	"math"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// The rows of comparisons. They give bytes, 0 or 1. What package vec has gives the
// same bytes as the loop it stands for.
var (
	// Eq is EqTo.
	Eq = Comparison{vec.Eq, EqTo[float64], EqTo[int64], EqTo[int32], EqTo[uint8], EqTo[uint8]}
	// Ne is NeTo.
	Ne = Comparison{vec.Ne, NeTo[float64], NeTo[int64], NeTo[int32], NeTo[uint8], NeTo[uint8]}
	// Lt is LtTo.
	Lt = Comparison{vec.Lt, LtTo[float64], LtTo[int64], LtTo[int32], LtTo[uint8], LtTo[uint8]}
	// Le is LeTo.
	Le = Comparison{vec.Le, LeTo[float64], LeTo[int64], LeTo[int32], LeTo[uint8], LeTo[uint8]}
	// Gt is LtTo with the operands exchanged.
	Gt = Comparison{func(dst []uint8, x, y []float32) { vec.Lt(dst, y, x) }, GtTo[float64], GtTo[int64], GtTo[int32], GtTo[uint8], GtTo[uint8]}
	// Ge is LeTo with the operands exchanged.
	Ge = Comparison{func(dst []uint8, x, y []float32) { vec.Le(dst, y, x) }, GeTo[float64], GeTo[int64], GeTo[int32], GeTo[uint8], GeTo[uint8]}

	// IsNaN is IsNaNTo; integers are none.
	IsNaN = Predicate{vec.IsNaN, IsNaNTo[float64], nil, nil, nil, nil}
	// IsFinite is IsFiniteTo.
	IsFinite = Predicate{vec.IsFinite, IsFiniteTo[float64], nil, nil, nil, nil}
)

// EqTo is
//
//	for i := range dst {
//		dst[i] = 1 if x[i] == y[i] else 0
//	}
//
// It panics if the lengths differ.
func EqTo[T dtype.Number](dst []uint8, x, y []T) {
	check3(len(dst), len(x), len(y))
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = bit(x[i] == y[i])
	}
}

// NeTo is EqTo for x[i] != y[i].
func NeTo[T dtype.Number](dst []uint8, x, y []T) {
	check3(len(dst), len(x), len(y))
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = bit(x[i] != y[i])
	}
}

// LtTo is EqTo for x[i] < y[i].
func LtTo[T dtype.Number](dst []uint8, x, y []T) {
	check3(len(dst), len(x), len(y))
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = bit(x[i] < y[i])
	}
}

// LeTo is EqTo for x[i] <= y[i].
func LeTo[T dtype.Number](dst []uint8, x, y []T) {
	check3(len(dst), len(x), len(y))
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = bit(x[i] <= y[i])
	}
}

// GtTo is EqTo for x[i] > y[i].
func GtTo[T dtype.Number](dst []uint8, x, y []T) { LtTo(dst, y, x) }

// GeTo is EqTo for x[i] >= y[i].
func GeTo[T dtype.Number](dst []uint8, x, y []T) { LeTo(dst, y, x) }

// IsNaNTo is
//
//	for i := range dst {
//		dst[i] = 1 if x[i] is not a number else 0
//	}
//
// It panics if the lengths differ.
func IsNaNTo[T dtype.Float](dst []uint8, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = bit(v != v)
	}
}

// IsFiniteTo is
//
//	for i := range dst {
//		dst[i] = 1 if x[i] is neither infinite nor NaN else 0
//	}
//
// It panics if the lengths differ.
func IsFiniteTo[T dtype.Float](dst []uint8, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = bit(v-v == 0)
	}
}

// Close is
//
//	for i := range x {
//		if |x[i]-y[i]| > atol + rtol*|y[i]| {
//			return false
//		}
//	}
//	return true
//
// computed in float64. An infinity is close to itself alone, NaN to NaN if
// nan. It panics if the lengths differ.
func Close[T dtype.Number](x, y []T, rtol, atol float64, nan bool) bool {
	check2(len(x), len(y))
	for i, v := range x {
		if v != y[i] && !closeTo(float64(v), float64(y[i]), rtol, atol, nan) {
			return false
		}
	}
	return true
}

func closeTo(a, b, rtol, atol float64, nan bool) bool {
	if a != a || b != b {
		return nan && a != a && b != b
	}
	if math.IsInf(a, 0) || math.IsInf(b, 0) {
		return false
	}
	return math.Abs(a-b) <= atol+float64(rtol*math.Abs(b))
}
