package kernel

import (
	"math"
	"testing"

	"tpsh/runtime/kernel/vec"
)

// A score may be more than what is taken from it, by as much as float32 holds and more:
// in every set of instructions its exponential is then that of float64, or infinite. Of
// scores that are not more, the sum has the bits of softmax.
func TestClassSumsAbove(t *testing.T) {
	defer vec.Use(vec.Best())
	inf := math.Inf(1)
	for _, set := range Sets() {
		vec.Use(set)
		for _, c := range []struct{ x, most float64 }{
			{0, 0}, {1, 0}, {80, 0}, {88, 0}, {88.5, 0}, {88.7, 0}, {89, 0}, {500, 0}, {1e30, 0}, {inf, 0}, {inf, -inf},
			{0, -88.5}, {0, -inf}, {-100, 0}, {-inf, 0}, {inf, inf}, {-inf, -inf}, {math.NaN(), 0}, {0, math.NaN()},
		} {
			const classes = 21 // more than there are lanes
			s := &ClassSums[float32]{X: make([]float32, classes), Most: []float32{float32(c.most)}, Target: []int64{3}, Classes: classes}
			for i := range s.X {
				s.X[i] = float32(c.x)
			}
			sums, own, grad := make([]float32, 1), make([]float32, 1), make([]float32, classes)
			s.To(sums, own)
			s.GradTo(grad, []float32{1}, []float32{0})
			e := float64(float32(math.Exp(float64(float32(c.x)) - float64(float32(c.most)))))
			if e < 1e-38 {
				e = 0
			}
			if sum := float64(float32(classes * e)); !close32(float64(sums[0]), sum) || !close32(float64(grad[4]), e) {
				t.Errorf("%v: of scores %v less %v: sum %v and gradient %v, want %v and %v", set, c.x, c.most, sums[0], grad[4], sum, e)
			}
			if c.x > c.most {
				continue
			}
			if want := float32(expSum(s.X, s.Most[0])); want != sums[0] && want == want {
				t.Errorf("%v: of scores %v less %v: sum %v, want the bits of %v", set, c.x, c.most, sums[0], want)
			}
		}
	}
}

// close32 reports whether x is y to a few bits of float32, or both are NaN.
func close32(x, y float64) bool {
	return x == y || x != x && y != y || math.Abs(x-y) <= 1e-6*math.Abs(y)
}
