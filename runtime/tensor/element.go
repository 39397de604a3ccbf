package tensor

import (
	"fmt"
	"unsafe"

	"tpsh/runtime/dtype"
)

// Data returns the elements of a contiguous tensor as a slice that shares its
// storage. T must be the Go type of x's dtype, see Element; or uint8 for a bool
// tensor, see HoldsType. It panics otherwise.
//
// Large storage is not the collector's: the caller keeps x alive
// (runtime.KeepAlive) until it is done with the slice.
func Data[T Element](x *Tensor) []T {
	if !x.Contiguous() {
		panic(fmt.Sprintf("tensor: Data of a tensor that is not contiguous: %v %v", x.shape, x.strides))
	}
	return Storage[T](x)[x.offset : x.offset+x.Numel()]
}

// Storage returns the whole buffer of x as a slice of its elements' Go type,
// to be indexed with x's offset and strides. The rules of Data hold.
func Storage[T Element](x *Tensor) []T {
	x.mustBePlain()
	if !HoldsType[T](x) {
		panic(fmt.Sprintf("tensor: %T of a tensor of %v", *new(T), x.dt))
	}
	return elements[T](x.buf.data)
}

// InOrder returns the elements of x as Data does, and false if they are of another
// type or do not lie in row-major order.
func InOrder[T Element](x *Tensor) ([]T, bool) {
	if !HoldsType[T](x) || !x.Contiguous() {
		return nil, false
	}
	n, size := x.Numel(), int(unsafe.Sizeof(*new(T)))
	lo := x.offset * size
	data := x.buf.data[lo : lo+n*size]
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), n), true
}

// SizedStorage is Storage for who moves elements and does not look at them: T may be
// any type of the size of x's elements. It panics if T has another.
func SizedStorage[T any](x *Tensor) []T {
	x.mustBePlain()
	if int(unsafe.Sizeof(*new(T))) != x.dt.Size() {
		panic(fmt.Sprintf("tensor: %T of a tensor of %v", *new(T), x.dt))
	}
	return elements[T](x.buf.data)
}

// elements returns memory as elements of type T; nil for none.
func elements[T any](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

// Bytes returns the storage of a contiguous tensor's elements as bytes, in
// the machine's byte order. The rules of Data hold.
func (x *Tensor) Bytes() []byte {
	if !x.Contiguous() {
		panic("tensor: Bytes of a tensor that is not contiguous")
	}
	lo := x.offset * x.dt.Size()
	return x.buf.data[lo : lo+x.Numel()*x.dt.Size()]
}

// HoldsType reports whether Storage and Data of x may be asked for elements of
// type T: that of its dtype, or uint8 for bools, which are bytes, 0 or 1.
func HoldsType[T Element](x *Tensor) bool {
	t := goType[T]()
	return t == x.dt || t == dtype.Uint8 && x.dt == dtype.Bool
}

// Element is the constraint of the Go types that storage is made of.
type Element interface {
	float32 | float64 | dtype.F16 | dtype.BF16 | dtype.F8E4M3 | dtype.F8E5M2 | bool | complex64 | complex128 | dtype.Integer
}

// goType returns the dtype whose elements are Go values of type T. The size, which
// the compiler knows, leaves few types to be told apart when it runs.
func goType[T Element]() dtype.DType {
	var v any = *new(T)
	switch unsafe.Sizeof(*new(T)) {
	case 1:
		return goType1(v)
	case 2:
		return goType2(v)
	case 4:
		switch v.(type) {
		case float32:
			return dtype.Float32
		case int32:
			return dtype.Int32
		}
		return dtype.Uint32
	case 16:
		return dtype.Complex128
	}
	switch v.(type) {
	case float64:
		return dtype.Float64
	case int64:
		return dtype.Int64
	case uint64:
		return dtype.Uint64
	}
	return dtype.Complex64
}

func goType1(v any) dtype.DType {
	switch v.(type) {
	case uint8:
		return dtype.Uint8
	case int8:
		return dtype.Int8
	case dtype.F8E4M3:
		return dtype.Float8E4M3FN
	case dtype.F8E5M2:
		return dtype.Float8E5M2
	}
	return dtype.Bool
}

func goType2(v any) dtype.DType {
	switch v.(type) {
	case dtype.F16:
		return dtype.Float16
	case dtype.BF16:
		return dtype.BFloat16
	case int16:
		return dtype.Int16
	}
	return dtype.Uint16
}
