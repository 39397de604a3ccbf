package kernel

import "tpsh/runtime/dtype"

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
		sums[i], own[i] = T(expSum(row, s.Most[i])), 0
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
		expShift(row, s.X[i*s.Classes:(i+1)*s.Classes], s.Most[i])
		scaleBy(row, g[i])
		if c := int(y) - s.First; c >= 0 && c < len(row) {
			row[c] += h[i]
		}
	}
}

func (s *ClassSums[T]) check(a, b int) {
	check3(a, b, len(s.Target))
	check2(len(s.Most), len(s.Target))
	check2(len(s.X), len(s.Target)*s.Classes)
}
