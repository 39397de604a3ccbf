package kernel

import (
	"math"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// The rows of exact functions of one operand. What package vec has gives the
// same bits as the loop it stands for.
var (
	// Neg is NegTo. A negated integer keeps its low bits.
	Neg = Unary{vec.Neg, NegTo[float64], NegTo[int64], NegTo[int32], NegTo[uint8], nil}
	// Abs is AbsFloatTo and AbsIntTo.
	Abs = Unary{vec.Abs, AbsFloatTo[float64], AbsIntTo[int64], AbsIntTo[int32], AbsIntTo[uint8], nil}
	// Sign is SignTo.
	Sign = Unary{vec.Sign, SignTo[float64], SignTo[int64], SignTo[int32], SignTo[uint8], SignTo[uint8]}
	// Relu is ReluTo.
	Relu = Unary{vec.Relu, ReluTo[float64], ReluTo[int64], ReluTo[int32], ReluTo[uint8], nil}
	// Round is RoundTo; integers are round.
	Round = Unary{vec.Round, RoundTo[float64], CopyTo[int64], CopyTo[int32], CopyTo[uint8], nil}
	// Floor is FloorTo.
	Floor = Unary{vec.Floor, FloorTo[float64], CopyTo[int64], CopyTo[int32], CopyTo[uint8], nil}
	// Ceil is CeilTo.
	Ceil = Unary{vec.Ceil, CeilTo[float64], CopyTo[int64], CopyTo[int32], CopyTo[uint8], nil}
	// Reciprocal is ReciprocalTo.
	Reciprocal = Unary{F32: vec.Reciprocal, F64: ReciprocalTo[float64]}
	// Square is SquareTo.
	Square = Unary{F32: vec.Square, F64: SquareTo[float64]}
)

// CopyTo copies x to dst. It panics if the lengths differ.
func CopyTo[T dtype.Number](dst, x []T) {
	check2(len(dst), len(x))
	copy(dst, x)
}

// NegTo is
//
//	for i := range dst {
//		dst[i] = -x[i]
//	}
//
// It panics if the lengths differ. dst may be x.
func NegTo[T dtype.Number](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = -v
	}
}

// AbsFloatTo is
//
//	for i := range dst {
//		dst[i] = |x[i]|
//	}
//
// It panics if the lengths differ. dst may be x.
func AbsFloatTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = T(math.Abs(float64(v)))
	}
}

// AbsIntTo is AbsFloatTo of integers: the least one has no opposite and stays.
func AbsIntTo[T dtype.Integer](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		if v < 0 {
			v = -v
		}
		dst[i] = v
	}
}

// SignTo is
//
//	for i := range dst {
//		dst[i] = 1 if x[i] > 0, -1 if x[i] < 0, else x[i]
//	}
//
// so that zeros and NaN stay. It panics if the lengths differ. dst may be x.
func SignTo[T dtype.Number](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		if v > 0 {
			v = 1
		} else if v < 0 {
			v = 0
			v--
		}
		dst[i] = v
	}
}

// ReluTo is
//
//	for i := range dst {
//		dst[i] = max(x[i], 0)
//	}
//
// It panics if the lengths differ. dst may be x.
func ReluTo[T dtype.Number](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = max(v, 0)
	}
}

// RoundTo is
//
//	for i := range dst {
//		dst[i] = x[i] rounded to an integer, ties to even
//	}
//
// It panics if the lengths differ. dst may be x.
func RoundTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = T(math.RoundToEven(float64(v)))
	}
}

// FloorTo is
//
//	for i := range dst {
//		dst[i] = ⌊x[i]⌋
//	}
//
// It panics if the lengths differ. dst may be x.
func FloorTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = T(math.Floor(float64(v)))
	}
}

// CeilTo is
//
//	for i := range dst {
//		dst[i] = ⌈x[i]⌉
//	}
//
// It panics if the lengths differ. dst may be x.
func CeilTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = T(math.Ceil(float64(v)))
	}
}

// ReciprocalTo is
//
//	for i := range dst {
//		dst[i] = 1 / x[i]
//	}
//
// It panics if the lengths differ. dst may be x.
func ReciprocalTo[T dtype.Float](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = 1 / v
	}
}

// SquareTo is
//
//	for i := range dst {
//		dst[i] = x[i] * x[i]
//	}
//
// It panics if the lengths differ. dst may be x.
func SquareTo[T dtype.Number](dst, x []T) {
	check2(len(dst), len(x))
	for i, v := range x {
		dst[i] = v * v
	}
}

// AbsCubeTo is
//
//	for i := range dst {
//		dst[i] = |x[i]| * |x[i]| * |x[i]|
//	}
//
// It panics if the lengths differ. dst may be x.
func AbsCubeTo(dst, x []float64) {
	check2(len(dst), len(x))
	for i, v := range x {
		v = math.Abs(v)
		dst[i] = v * v * v
	}
}

// ClampTo is
//
//	for i := range dst {
//		dst[i] = min(max(x[i], lo), hi)
//	}
//
// with Go's min and max: NaN if any is. It panics if the lengths differ. dst
// may be x.
func ClampTo[T dtype.Number](dst, x []T, lo, hi T) {
	check2(len(dst), len(x))
	if d, ok := any(dst).([]float32); ok {
		vec.Clamp(d, as32(x), float32(lo), float32(hi))
		return
	}
	for i, v := range x {
		dst[i] = min(max(v, lo), hi)
	}
}

// SelectTo is
//
//	for i := range dst {
//		dst[i] = x[i] if cond[i] != 0 else y[i]
//	}
//
// It panics if the lengths differ. dst may be x or y.
func SelectTo[T dtype.Number](dst []T, cond []uint8, x, y []T) {
	check3(len(dst), len(x), len(y))
	check2(len(dst), len(cond))
	if d, ok := any(dst).([]float32); ok {
		vec.Select(d, cond, as32(x), as32(y))
		return
	}
	x, y, cond = x[:len(dst)], y[:len(dst)], cond[:len(dst)]
	for i := range dst {
		v := y[i]
		if cond[i] != 0 {
			v = x[i]
		}
		dst[i] = v
	}
}
