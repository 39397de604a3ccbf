// Package dtype names the element types of tensors and converts between them. It
// knows no tensors: a DType is a small number with a name, a size and a kind.
//
// The kinds are bool, int (int8 to int64, uint8 to uint64), float (bfloat16, float16,
// float32, float64; float8_e4m3fn and float8_e5m2) and complex (complex64, complex128:
// a pair of floats). Promote says what comes of two dtypes in one operation, and is
// PyTorch's rule: the higher kind wins, and in one kind the wider; of the two
// halves neither is, and they give float32. Compute says in what a kernel calculates:
// halves are kept in 16 bits (F16, BF16) and calculated in float32, integers of other
// sizes in int32 or int64. Limited are those that are there to be kept and moved rather
// than to be calculated with. For example
//
//	d, err := dtype.Parse("bfloat16")          // an error for an unknown name
//	d.Size()                                   // 2
//	d.Compute()                                // float32
//	dtype.Promote(dtype.Int64, dtype.Float32)  // float32
//	dtype.ToBF16(1.005).Float32()              // 1.0078125: 8 bits are kept
package dtype

import (
	"fmt"
	"math"
)

// A DType is the type of a tensor's elements. The zero value is Float32.
type DType uint8

// The element types. Float16 and BFloat16 are storage types: arithmetic on
// them is done in float32 and rounded once.
const (
	Float32 DType = iota
	Float64
	Float16
	BFloat16
	Int64
	Int32
	Uint8
	Bool
	Int16
	Int8

	// The dtypes from here to Complex64 are Limited.

	Uint16
	Uint32
	Uint64
	Float8E4M3FN
	Float8E5M2
	Complex64
	Complex128

	Count = iota // the number of dtypes
)

// Info is what a dtype is called and how wide it is.
var info = [Count]struct {
	name string
	size int
}{
	Float32:  {"float32", 4},
	Float64:  {"float64", 8},
	Float16:  {"float16", 2},
	BFloat16: {"bfloat16", 2},
	Int64:    {"int64", 8},
	Int32:    {"int32", 4},
	Uint8:    {"uint8", 1},
	Bool:     {"bool", 1},
	Int16:    {"int16", 2},
	Int8:     {"int8", 1},
	Uint16:   {"uint16", 2},
	Uint32:   {"uint32", 4},
	Uint64:   {"uint64", 8},

	Float8E4M3FN: {"float8_e4m3fn", 1},
	Float8E5M2:   {"float8_e5m2", 1},

	Complex64:  {"complex64", 8},
	Complex128: {"complex128", 16},
}

// All lists every dtype.
var All = func() (all [Count]DType) {
	for i := range all {
		all[i] = DType(i)
	}
	return all
}()

// Reals lists the dtypes that are not complex: those of one number.
var Reals = All[:Complex64]

// String returns the dtype's name as a script writes it.
func (d DType) String() string { return info[d].name }

// Size returns the size of an element in bytes.
func (d DType) Size() int { return info[d].size }

// IsFloat reports whether d is a floating-point type.
func (d DType) IsFloat() bool { return d <= BFloat16 || d.IsFloat8() }

// IsHalf reports whether d is a storage type, Float16 or BFloat16.
func (d DType) IsHalf() bool { return d == Float16 || d == BFloat16 }

// IsFloat8 reports whether d is a float of 8 bits.
func (d DType) IsFloat8() bool { return d == Float8E4M3FN || d == Float8E5M2 }

// IsInt reports whether d is an integer type other than Bool.
func (d DType) IsInt() bool { return d.kind() == 1 }

// Signed reports whether d holds negative numbers.
func (d DType) Signed() bool {
	switch d {
	case Bool, Uint8, Uint16, Uint32, Uint64:
		return false
	}
	return true
}

// Limits returns the least and the greatest number that d, an integer dtype, holds;
// of Uint64 the greatest that is an int64.
func (d DType) Limits() (lo, hi int64) {
	bits := 8 * d.Size()
	if d == Uint64 {
		return 0, math.MaxInt64
	}
	if !d.Signed() {
		return 0, 1<<bits - 1
	}
	return -1 << (bits - 1), 1<<(bits-1) - 1
}

// Limited reports whether d is there to be kept, moved and converted: there is no
// promotion between it and another dtype of its kind, and few operators take it.
func (d DType) Limited() bool { return d >= Uint16 && d <= Float8E5M2 }

// Plain reports whether d is neither Limited nor complex: all operators that are for
// its kind take it.
func (d DType) Plain() bool { return d < Uint16 }

// IsComplex reports whether d is a pair of floats.
func (d DType) IsComplex() bool { return d == Complex64 || d == Complex128 }

// Differentiable reports whether elements of d have gradients: floats and pairs of
// them.
func (d DType) Differentiable() bool { return d.IsFloat() || d.IsComplex() }

// Real returns the dtype of the two parts of complex elements, and d of others.
func (d DType) Real() DType {
	switch d {
	case Complex64:
		return Float32
	case Complex128:
		return Float64
	}
	return d
}

// Complex returns the complex dtype whose parts hold the floats of d: Complex128
// for Float64, else Complex64.
func (d DType) Complex() DType {
	if d == Float64 || d == Complex128 {
		return Complex128
	}
	return Complex64
}

// compute is what Compute returns.
var compute = func() (of [Count]DType) {
	of = All
	of[Float16], of[BFloat16], of[Float8E4M3FN], of[Float8E5M2] = Float32, Float32, Float32, Float32
	of[Int8], of[Int16], of[Uint16] = Int32, Int32, Int32
	of[Uint32], of[Uint64] = Int64, Int64
	return of
}()

// Compute returns the type in which arithmetic on d is done, and of which d keeps a
// rounded value or the low bits: Float32 for the floats of 8 and 16 bits, Int32 or
// Int64 for integers of other sizes than these, Uint64 among them, d itself otherwise.
func (d DType) Compute() DType { return compute[d] }

// Parse returns the dtype called name.
func Parse(name string) (DType, error) {
	for d, i := range info {
		if i.name == name {
			return DType(d), nil
		}
	}
	return 0, fmt.Errorf("unknown dtype %q", name)
}

// kind orders the families of dtypes: a wider family wins a promotion.
func (d DType) kind() int {
	switch {
	case d == Bool:
		return 0
	case d.IsComplex():
		return 3
	case d.IsFloat():
		return 2
	default:
		return 1
	}
}

// SameKind reports whether d and e are both bool, both integer, both float or both
// complex.
func SameKind(d, e DType) bool { return d.kind() == e.kind() }

// Promote returns the dtype of an operation between tensors of a and b, as
// PyTorch defines it: the wider family wins, inside a family the wider type;
// Float16 with BFloat16 gives Float32, Uint8 with Int8 gives Int16. Of two integers of
// which one is Limited it is the wider; PyTorch has none.
func Promote(a, b DType) DType {
	if a == b {
		return a
	}
	if a.IsComplex() && b.IsFloat() || a.IsFloat() && b.IsComplex() {
		return Promote(a.Real(), b.Real()).Complex()
	}
	if ka, kb := a.kind(), b.kind(); ka != kb {
		if ka > kb {
			return a
		}
		return b
	}
	if a.IsFloat() {
		if a.IsHalf() && b.IsHalf() {
			return Float32
		}
	}
	if a.Size() == 1 && b.Size() == 1 && a.IsInt() {
		return Int16
	}
	return widest(a, b)
}

func widest(a, b DType) DType {
	if a.Size() >= b.Size() {
		return a
	}
	return b
}
