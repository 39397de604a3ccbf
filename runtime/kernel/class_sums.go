package kernel

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// ClassSums are scores of the Classes classes from First on: a row of X for each of
// Target, and of Most, what is taken from the row before the exponential.
type ClassSums[T dtype.Float] struct {
	X, Most        []T
	Target         []int64
	Classes, First int
}

// To is
//
//	for i, y := range s.Target {
//		row := row i of s.X, less s.Most[i]
//		sums[i] = Σ exp(row[c])
//		own[i] = row[y-s.First], or 0 if row has no such element
//	}
//
// the sum in float64, rounded once, under the rules of SoftmaxTo. It panics if the
// lengths do not fit together.
func (s *ClassSums[T]) To(sums, own []T) {
	s.check(len(sums), len(own))
	for i, y := range s.Target {
		row := s.X[i*s.Classes : (i+1)*s.Classes]
		sums[i], own[i] = T(s.expSum(row, s.Most[i])), 0
		if c := int(y) - s.First; c >= 0 && c < len(row) {
			own[i] = row[c] - s.Most[i]
		}
	}
}

// GradTo is the gradient of s.X in To, given those of sums and own:
//
//	for i, y := range s.Target {
//		row i of dst = g[i] * exp(row i of s.X, less s.Most[i])
//		dst[i, y-s.First] += h[i], if there is such an element
//	}
//
// It panics if the lengths do not fit together. dst may be s.X.
func (s *ClassSums[T]) GradTo(dst, g, h []T) {
	s.check(len(g), len(h))
	check2(len(dst), len(s.X))
	for i, y := range s.Target {
		row := dst[i*s.Classes : (i+1)*s.Classes]
		if d, ok := any(row).([]float32); ok {
			vec.ExpLess(d, as32(s.X[i*s.Classes:(i+1)*s.Classes]), float32(s.Most[i]))
		} else {
			expShift(row, s.X[i*s.Classes:(i+1)*s.Classes], s.Most[i])
		}
		scaleBy(row, g[i])
		if c := int(y) - s.First; c >= 0 && c < len(row) {
			row[c] += h[i]
		}
	}
}

// expSum is the function of this name for a most that a caller has given: an element
// of x may be more.
func (s *ClassSums[T]) expSum(x []T, most T) float64 {
	v, ok := any(x).([]float32)
	if !ok {
		return expSum(x, most)
	}
	var sum [lanes]float64
	vec.ExpSumAny(v, float32(most), &sum)
	return addLanes(&sum)
}

func (s *ClassSums[T]) check(a, b int) {
	check3(a, b, len(s.Target))
	check2(len(s.Most), len(s.Target))
	check2(len(s.X), len(s.Target)*s.Classes)
}
