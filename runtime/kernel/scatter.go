package kernel

import "tpsh/runtime/dtype"

// A Fold says how two numbers become one.
type Fold uint8

// The folds: the product, the greater and the less of two numbers. NaN is both
// greater and less than all else.
const (
	FoldProd Fold = iota
	FoldMax
	FoldMin
)

// ScatterFold is
//
//	for i, at := range to {
//		if own && first time at {
//			dst[at] = x[i]
//		} else {
//			dst[at] = dst[at] op x[i]
//		}
//	}
//
// where seen, of the length of dst, is whether an element has been folded into;
// it is set. It panics if there are fewer x than to.
func ScatterFold[T dtype.Number](dst []T, seen []bool, x []T, to []int, how Fold, own bool) {
	for i, at := range to {
		v := x[i]
		switch {
		case own && !seen[at]:
			dst[at] = v
		case how == FoldProd:
			dst[at] *= v
		case v != v || how == FoldMax && v > dst[at] || how == FoldMin && v < dst[at]:
			dst[at] = v
		}
		seen[at] = true
	}
}
