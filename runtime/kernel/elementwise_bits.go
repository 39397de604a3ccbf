package kernel

import (
	"unsafe"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// The rows of the bitwise functions, of integers and bools. Package vec does them on words of
// 4 bytes, whatever they hold.
var (
	// And is AndTo.
	And = Binary{I64: AndTo[int64], I32: AndTo[int32], U8: AndTo[uint8], Bool: AndTo[uint8]}
	// Or is OrTo.
	Or = Binary{I64: OrTo[int64], I32: OrTo[int32], U8: OrTo[uint8], Bool: OrTo[uint8]}
	// Xor is XorTo.
	Xor = Binary{I64: XorTo[int64], I32: XorTo[int32], U8: XorTo[uint8], Bool: XorTo[uint8]}
	// Invert is InvertTo; of bools, NotTo.
	Invert = Unary{I64: InvertTo[int64], I32: InvertTo[int32], U8: InvertTo[uint8], Bool: NotTo}
)

// wordsOf returns the bytes of x as words of 4 bytes, as many as they fill.
func wordsOf[T dtype.Integer](x []T) []uint32 {
	b := bytesOf(x)
	if len(b) < 4 {
		return nil
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(&b[0])), len(b)/4)
}

// inWords returns how many of n elements wordsOf has.
func inWords[T dtype.Integer](n int) int {
	size := int(unsafe.Sizeof(*new(T)))
	return n * size / 4 * 4 / size
}

// AndTo is
//
//	for i := range dst {
//		dst[i] = x[i] & y[i]
//	}
//
// It panics if the lengths differ. dst may be x or y.
func AndTo[T dtype.Integer](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	vec.And(wordsOf(dst), wordsOf(x), wordsOf(y))
	for i := inWords[T](len(dst)); i < len(dst); i++ {
		dst[i] = x[i] & y[i]
	}
}

// OrTo is
//
//	for i := range dst {
//		dst[i] = x[i] | y[i]
//	}
//
// It panics if the lengths differ. dst may be x or y.
func OrTo[T dtype.Integer](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	vec.Or(wordsOf(dst), wordsOf(x), wordsOf(y))
	for i := inWords[T](len(dst)); i < len(dst); i++ {
		dst[i] = x[i] | y[i]
	}
}

// XorTo is
//
//	for i := range dst {
//		dst[i] = x[i] ^ y[i]
//	}
//
// It panics if the lengths differ. dst may be x or y.
func XorTo[T dtype.Integer](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	vec.Xor(wordsOf(dst), wordsOf(x), wordsOf(y))
	for i := inWords[T](len(dst)); i < len(dst); i++ {
		dst[i] = x[i] ^ y[i]
	}
}

// InvertTo is
//
//	for i := range dst {
//		dst[i] = ^x[i]
//	}
//
// It panics if the lengths differ. dst may be x.
func InvertTo[T dtype.Integer](dst, x []T) {
	check2(len(dst), len(x))
	vec.Flip(wordsOf(dst), wordsOf(x), 1<<32-1)
	for i := inWords[T](len(dst)); i < len(dst); i++ {
		dst[i] = ^x[i]
	}
}

// NotTo is
//
//	for i := range dst {
//		dst[i] = 1 - x[i]
//	}
//
// for bools as bytes. It panics if the lengths differ. dst may be x.
func NotTo(dst, x []uint8) {
	check2(len(dst), len(x))
	vec.Flip(wordsOf(dst), wordsOf(x), 0x01010101)
	for i := inWords[uint8](len(dst)); i < len(dst); i++ {
		dst[i] = 1 - x[i]
	}
}
