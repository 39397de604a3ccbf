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

// In one pass a step of Adam has the bits of its parts.
func TestAdamStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		x, m, v, g := floats32(t, "x", n, 10), floats32(t, "m", n, 10), floats32(t, "v", n, 10), floats32(t, "g", n, 10)
		for i := range v {
			v[i] = max(v[i], -v[i])
		}
		r := &AdamRule{0.99, rapid.SampledFrom([]float64{0.1, 0.7}).Draw(t, "weight"), 0.9, 0.1, 0.01, 0.3, 1e-8}
		wantX, wantM, wantV := make([]float32, n), make([]float32, n), make([]float32, n)
		LerpTo(wantM, m, g, float32(r.Weight))
		AddSquareTo(wantV, v, g, float32(r.Keep), float32(r.Share))
		for i, p := range x {
			wantX[i] = p * float32(r.Decay)
		}
		AdamTo(wantX, wantX, wantM, wantV, float32(r.Rate), float32(r.Root), float32(r.Eps))
		AdamStepTo(x, m, v, g, r)
		for i := range x {
			if !sameBits(x[i], wantX[i]) || !sameBits(m[i], wantM[i]) || !sameBits(v[i], wantV[i]) {
				t.Fatalf("element %d: got %v, %v, %v, want %v, %v, %v", i, x[i], m[i], v[i], wantX[i], wantM[i], wantV[i])
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
