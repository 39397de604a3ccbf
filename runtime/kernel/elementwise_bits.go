package kernel

import "tpsh/runtime/dtype"

// The rows of the bitwise functions, of integers and bools.
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

// AndTo is
//
//	for i := range dst {
//		dst[i] = x[i] & y[i]
//	}
//
// It panics if the lengths differ. dst may be x or y.
func AndTo[T dtype.Integer](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	for i := range dst {
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
	for i := range dst {
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
	for i := range dst {
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
	for i, v := range x {
		dst[i] = ^v
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
	for i, v := range x {
		dst[i] = 1 - v
	}
}
