package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The steps are their formulas, computed in float64, to rounding.
func TestOptimizerSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 9).Draw(t, "n")
		x, y, v := floats32(t, "x", n, 10), floats32(t, "y", n, 10), floats32(t, "v", n, 10)
		a, b := rapid.Float32Range(-2, 2).Draw(t, "a"), rapid.Float32Range(-2, 2).Draw(t, "b")
		const root, eps = 0.5, 0.125
		for i := range v {
			v[i] = max(v[i], -v[i])
		}
		for _, step := range []struct {
			name string
			run  func(dst []float32)
			want func(x, y, v, a, b float64) float64
		}{
			{"combine", func(dst []float32) { CombineTo(dst, x, y, a, b) }, func(x, y, v, a, b float64) float64 { return a*x + b*y }},
			{"lerp", func(dst []float32) { LerpTo(dst, x, y, a) }, func(x, y, v, a, b float64) float64 { return x + a*(y-x) }},
			{"add_square", func(dst []float32) { AddSquareTo(dst, x, y, a, b) }, func(x, y, v, a, b float64) float64 { return a*x + b*y*y }},
			{"adam", func(dst []float32) { AdamTo(dst, x, y, v, a, root, eps) }, func(x, y, v, a, b float64) float64 { return x - a*y/(math.Sqrt(v)/root+eps) }},
		} {
			got := make([]float32, n)
			step.run(got)
			for i := range got {
				want := step.want(float64(x[i]), float64(y[i]), float64(v[i]), float64(a), float64(b))
				if !(math.Abs(float64(got[i])-want) <= 1e-4) {
					t.Fatalf("%s: got %v at %d, want %v", step.name, got[i], i, want)
				}
			}
		}
	})
}

func TestLerpEnds(t *testing.T) {
	x, y, got := []float32{1, 1e8}, []float32{1e8, 1}, make([]float32, 2)
	LerpTo(got, x, y, 0)
	if got[0] != x[0] || got[1] != x[1] {
		t.Errorf("got %v, want %v", got, x)
	}
	LerpTo(got, x, y, 1)
	if got[0] != y[0] || got[1] != y[1] {
		t.Errorf("got %v, want %v", got, y)
	}
}
