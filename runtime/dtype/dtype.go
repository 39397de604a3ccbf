// Package dtype names the element types of tensors and converts between them. It
// knows no tensors: a DType is a small number with a name, a size and a kind.
//
// The kinds are bool, int (uint8, int32, int64), float (bfloat16, float16, float32,
// float64) and complex (complex64, complex128: a pair of floats). Promote says what comes of two dtypes in one operation, and is
// PyTorch's rule: the higher kind wins, and in one kind the wider; of the two
// halves neither is, and they give float32. Compute says in what a kernel calculates:
// halves are kept in 16 bits (F16, BF16) and calculated in float32. For example
//
//	d, err := dtype.Parse("bfloat16")          // an error for an unknown name
//	d.Size()                                   // 2
//	d.Compute()                                // float32
//	dtype.Promote(dtype.Int64, dtype.Float32)  // float32
//	dtype.ToBF16(1.005).Float32()              // 1.0078125: 8 bits are kept
package dtype

import "fmt"

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

	Complex64:  {"complex64", 8},
	Complex128: {"complex128", 16},
}

// All lists every dtype.
var All = [Count]DType{Float32, Float64, Float16, BFloat16, Int64, Int32, Uint8, Bool, Complex64, Complex128}

// Reals lists the dtypes that are not complex: those of one number.
var Reals = All[:Complex64]

// String returns the dtype's name as a script writes it.
func (d DType) String() string { return info[d].name }

// Size returns the size of an element in bytes.
func (d DType) Size() int { return info[d].size }

// IsFloat reports whether d is a floating-point type.
func (d DType) IsFloat() bool { return d <= BFloat16 }

// IsHalf reports whether d is a storage type, Float16 or BFloat16.
func (d DType) IsHalf() bool { return d == Float16 || d == BFloat16 }

// IsInt reports whether d is an integer type other than Bool.
func (d DType) IsInt() bool { return d == Int64 || d == Int32 || d == Uint8 }

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

// Compute returns the type in which arithmetic on d is done: Float32 for the
// storage types, d itself otherwise.
func (d DType) Compute() DType {
	if d.IsHalf() {
		return Float32
	}
	return d
}

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
// Float16 with BFloat16 gives Float32.
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
		return widest(a, b)
	}
	return widest(a, b)
}

func widest(a, b DType) DType {
	if a.Size() >= b.Size() {
		return a
	}
	return b
}
