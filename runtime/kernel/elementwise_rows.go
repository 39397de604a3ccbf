package kernel

import (
	"fmt"

	"tpsh/runtime/dtype"
)

// A Unary is a function of one operand, in each dtype that has it; a nil
// field is a dtype it lacks. Bools are bytes, 0 or 1. dst may be x.
type Unary struct {
	F32  func(dst, x []float32)
	F64  func(dst, x []float64)
	I64  func(dst, x []int64)
	I32  func(dst, x []int32)
	U8   func(dst, x []uint8)
	Bool func(dst, x []uint8)
}

// A Binary is a function of two operands of one dtype; see Unary. dst may be
// x or y.
type Binary struct {
	F32  func(dst, x, y []float32)
	F64  func(dst, x, y []float64)
	I64  func(dst, x, y []int64)
	I32  func(dst, x, y []int32)
	U8   func(dst, x, y []uint8)
	Bool func(dst, x, y []uint8)
}

// A Predicate asks something of every element; see Unary.
type Predicate struct {
	F32  func(dst []uint8, x []float32)
	F64  func(dst []uint8, x []float64)
	I64  func(dst []uint8, x []int64)
	I32  func(dst []uint8, x []int32)
	U8   func(dst, x []uint8)
	Bool func(dst, x []uint8)
}

// A Comparison asks something of every pair of elements; see Unary.
type Comparison struct {
	F32  func(dst []uint8, x, y []float32)
	F64  func(dst []uint8, x, y []float64)
	I64  func(dst []uint8, x, y []int64)
	I32  func(dst []uint8, x, y []int32)
	U8   func(dst, x, y []uint8)
	Bool func(dst, x, y []uint8)
}

// as32 returns x as float32, which T is.
func as32[T dtype.Number](x []T) []float32 { return any(x).([]float32) }

// as64 returns x, whose elements are float64.
func as64[T dtype.Number](x []T) []float64 { return any(x).([]float64) }

// check2 panics if the lengths of a kernel's operands differ.
func check2(n, m int) {
	if m != n {
		panic(fmt.Sprintf("kernel: operands of %d and %d elements", n, m))
	}
}

// check3 is check2 of three lengths.
func check3(n, m, k int) {
	if m != n || k != n {
		panic(fmt.Sprintf("kernel: operands of %d, %d and %d elements", n, m, k))
	}
}

// Has reports whether b computes in dtype dt, which is no half type.
func (b *Binary) Has(dt dtype.DType) bool {
	switch dt {
	case dtype.Float32:
		return b.F32 != nil
	case dtype.Float64:
		return b.F64 != nil
	case dtype.Int64:
		return b.I64 != nil
	case dtype.Int32:
		return b.I32 != nil
	case dtype.Uint8:
		return b.U8 != nil
	}
	return b.Bool != nil
}

// Has reports whether u computes in dtype dt, which is no half type.
func (u *Unary) Has(dt dtype.DType) bool {
	switch dt {
	case dtype.Float32:
		return u.F32 != nil
	case dtype.Float64:
		return u.F64 != nil
	case dtype.Int64:
		return u.I64 != nil
	case dtype.Int32:
		return u.I32 != nil
	case dtype.Uint8:
		return u.U8 != nil
	}
	return u.Bool != nil
}
