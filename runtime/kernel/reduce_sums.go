package kernel

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// The sums of this file are of a block, in float64, in the order of a Reduction. What is summed is
// rounded to float64 first.

// WideSum returns the sum of x.
func WideSum[T dtype.Float](x []T) float64 {
	v, ok := any(x).([]float32)
	if !ok {
		return sum64(as64(x))
	}
	var lane [lanes]float64
	vec.WideSum(v, &lane)
	return addLanes(&lane)
}

// AbsSum returns the sum of |x|.
func AbsSum[T dtype.Float](x []T) float64 {
	var lane [lanes]float64
	if v, ok := any(x).([]float32); ok {
		vec.AbsSum(v, &lane)
	} else {
		vec.AbsSum64(as64(x), &lane)
	}
	return addLanes(&lane)
}

// SquareSum returns the sum of the squares of x. Those of float32 are exact.
func SquareSum[T dtype.Float](x []T) float64 {
	var lane [lanes]float64
	if v, ok := any(x).([]float32); ok {
		vec.Dot(v, v, &lane)
	} else {
		vec.SquareSum64(as64(x), &lane)
	}
	return addLanes(&lane)
}

// SquaredDiffSum returns the sum of the squares of x - mean.
func SquaredDiffSum[T dtype.Float](x []T, mean float64) float64 {
	var lane [lanes]float64
	if v, ok := any(x).([]float32); ok {
		vec.SquaredDiffSum(v, mean, &lane)
	} else {
		vec.SquaredDiffSum64(as64(x), mean, &lane)
	}
	return addLanes(&lane)
}
