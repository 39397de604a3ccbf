package op

import (
	"math"
	goruntime "runtime"

	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// What Def.Spoils is of products and of quotients.

// spoilsProduct reports whether x, a factor, has an infinity: times a summand that is
// 0 it gives NaN, though the sum is not 0.
func spoilsProduct(_ int, x *tensor.Tensor) bool {
	return x.DType().IsFloat() && someIs(x, func(v float64) bool { return math.IsInf(v, 0) })
}

// spoilsQuotient reports whether x is a divisor, input 1, and has a 0.
func spoilsQuotient(i int, x *tensor.Tensor) bool {
	return i == 1 && someIs(x, func(v float64) bool { return v == 0 })
}

// someIs reports whether is holds for an element of x, which is plain.
func someIs(x *tensor.Tensor, is func(v float64) bool) bool {
	defer goruntime.KeepAlive(x)
	if x.DType() == dtype.Float32 && x.Contiguous() {
		for _, v := range tensor.Data[float32](x) {
			if is(float64(v)) {
				return true
			}
		}
		return false
	}
	xs, n := newSource[float64](x, x.Shape()), x.Numel()
	for lo := 0; lo < n; lo += blockSize {
		for _, v := range xs.block(lo, min(lo+blockSize, n)) {
			if is(v) {
				return true
			}
		}
	}
	return false
}
