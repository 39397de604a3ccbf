package kernel

import (
	"math"

	"tpsh/internal/libm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// SquaredDifference is SquaredDifferenceTo.
var SquaredDifference = Binary{F32: vec.SquaredDiff, F64: SquaredDifferenceTo[float64]}

// SquaredDifferenceTo is
//
//	for i := range dst {
//		dst[i] = (x[i] - y[i])²
//	}
//
// It panics if the lengths differ. dst may be x or y.
func SquaredDifferenceTo[T dtype.Float](dst, x, y []T) {
	check3(len(dst), len(x), len(y))
	for i, v := range x {
		d := v - y[i]
		dst[i] = d * d
	}
}

// BinaryCrossEntropyTo is
//
//	for i := range dst {
//		dst[i] = (1-t[i])*x[i] + (1+(w[i]-1)*t[i])*log(1+exp(-x[i]))
//	}
//
// for logits x, targets t and weights w of positive answers, without overflow; in float32 as
// vec.CrossEntropy rounds it. It panics if the lengths differ. dst may be any of them.
func BinaryCrossEntropyTo[T dtype.Float](dst, x, t, w []T) {
	check3(len(dst), len(x), len(t))
	check2(len(dst), len(w))
	if d, ok := any(dst).([]float32); ok {
		vec.CrossEntropy(d, as32(x), as32(t), as32(w))
		return
	}
	for i, v := range x {
		u, p := float64(v), float64(t[i])
		softplus := max(-u, 0) + libm.Log1p(libm.Exp(-math.Abs(u)))
		dst[i] = T(float64((1-p)*u) + float64((1+float64((float64(w[i])-1)*p))*softplus))
	}
}

// A ClassLoss is the loss of rows of numbers, one for each class, against the
// index of the class that is right.
type ClassLoss struct {
	// Logits says that the numbers are unnormalised, and not logarithms of
	// probabilities.
	Logits bool
	// Ignore is the target of rows that do not count.
	Ignore int64
	// Smoothing is how much of the target is spread over all classes.
	Smoothing float64
}

// ClassLossTo is
//
//	for i := range dst {
//		y, row := target[i], x[i*classes:(i+1)*classes]
//		p := log softmax(row) if l.Logits else row
//		dst[i] = -(1-l.Smoothing)*weight[y]*p[y] - l.Smoothing/classes * Σ weight[c]*p[c]
//	}
//
// and 0 where y is l.Ignore, each in float64 rounded once. A nil weight stands
// for ones. It panics if x does not hold classes numbers for each target.
func ClassLossTo[T dtype.Float](dst, x, weight []T, target []int64, classes int, l ClassLoss) {
	check2(len(dst), len(target))
	check2(len(x), len(target)*classes)
	for i, y := range target {
		dst[i] = 0
		if y == l.Ignore {
			continue
		}
		row := x[i*classes : (i+1)*classes]
		norm := 0.0
		if l.Logits {
			norm = logNorm(row)
		}
		loss := float64((1 - l.Smoothing) * weightOf(weight, int(y)) * (norm - float64(row[y])))
		if l.Smoothing > 0 {
			spread := 0.0
			for c, v := range row {
				spread += float64(weightOf(weight, c) * (norm - float64(v)))
			}
			loss += float64(l.Smoothing / float64(classes) * spread)
		}
		dst[i] = T(loss)
	}
}

// ClassWeightsTo is the gradient of ClassLossTo with respect to p, negated:
//
//	for i, y := range target {
//		dst[i*classes+c] = (1-l.Smoothing)*weight[y]*(c == y) + l.Smoothing/classes*weight[c]
//	}
//
// times scale, and 0 where y is l.Ignore. It panics if dst does not hold
// classes numbers for each target.
func ClassWeightsTo[T dtype.Float](dst, weight []T, target []int64, classes int, l ClassLoss, scale float64) {
	check2(len(dst), len(target)*classes)
	clear(dst)
	for i, y := range target {
		if y == l.Ignore {
			continue
		}
		row := dst[i*classes : (i+1)*classes]
		if l.Smoothing > 0 {
			for c := range row {
				row[c] = T(l.Smoothing / float64(classes) * weightOf(weight, c) * scale)
			}
		}
		row[y] += T((1 - l.Smoothing) * weightOf(weight, int(y)) * scale)
	}
}

// ClassGradTo is the gradient of x in ClassLossTo of logits, given that of each
// loss: element i of g times scale, or g[0] times scale if there is but one.
//
//	for i, y := range target {
//		T := row i of ClassWeightsTo
//		dst[i*classes+c] = g[i]*scale * (softmax(row i of x)[c] * ΣT - T[c])
//	}
//
// It panics if dst and x do not hold classes numbers for each target. dst may
// be x.
func ClassGradTo[T dtype.Float](dst, x, weight []T, target []int64, classes int, l ClassLoss, g []T, scale float64) {
	check3(len(dst), len(x), len(target)*classes)
	share, all := l.Smoothing/float64(classes), 0.0
	if l.Smoothing > 0 {
		for c := range classes {
			all += float64(share * weightOf(weight, c))
		}
	}
	for i, y := range target {
		row, in := dst[i*classes:(i+1)*classes], x[i*classes:(i+1)*classes]
		if y == l.Ignore {
			clear(row)
			continue
		}
		slope := float64(float64(g[min(i, len(g)-1)]) * scale)
		right := float64((1 - l.Smoothing) * weightOf(weight, int(y)))
		softmaxTimes(row, in, slope*(right+all))
		if l.Smoothing > 0 {
			for c := range row {
				row[c] -= T(slope * share * weightOf(weight, c))
			}
		}
		row[y] -= T(slope * right)
	}
}

// softmaxTimes stores the softmax of x, times a, in dst.
func softmaxTimes[T dtype.Float](dst, x []T, a float64) {
	sum := expShift(dst, x, mostIn(x))
	scaleBy(dst, T(a/sum))
}

// ClassTotal returns the sum of weight[y] over the targets y other than
// ignore: what the mean of a ClassLoss divides by.
func ClassTotal[T dtype.Float](weight []T, target []int64, ignore int64) float64 {
	sum := 0.0
	for _, y := range target {
		if y != ignore {
			sum += weightOf(weight, int(y))
		}
	}
	return sum
}

func weightOf[T dtype.Float](weight []T, c int) float64 {
	if weight == nil {
		return 1
	}
	return float64(weight[c])
}

// SoftClassLossTo is ClassLossTo against probabilities in place of an index:
//
//	for i := range dst {
//		p, q := log softmax(row i of x), row i of target
//		dst[i] = -Σ weight[c] * ((1-smoothing)*q[c] + smoothing/classes) * p[c]
//	}
func SoftClassLossTo[T dtype.Float](dst, x, weight, target []T, classes int, smoothing float64) {
	check2(len(x), len(target))
	check2(len(x), len(dst)*classes)
	for i := range dst {
		row, q := x[i*classes:(i+1)*classes], target[i*classes:(i+1)*classes]
		norm, loss := logNorm(row), 0.0
		for c, v := range row {
			share := float64((1-smoothing)*float64(q[c])) + smoothing/float64(classes)
			loss += float64(weightOf(weight, c) * share * (norm - float64(v)))
		}
		dst[i] = T(loss)
	}
}

// Total returns the sum of x in float64: of float32 in lanes (see Reduce), of
// float64 from the first element to the last.
func Total[T dtype.Float](x []T) float64 {
	if v, ok := any(x).([]float32); ok {
		var sum, squares [lanes]float64
		vec.Moments(v, 0, &sum, &squares)
		return addLanes(&sum)
	}
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	return sum
}
