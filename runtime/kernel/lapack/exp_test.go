package lapack

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// At norms for which each degree is taken, and for which powers are squared, Exp is what gonum makes of it.
func TestExp(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for _, n := range []int{1, 2, 5, 19} {
		for _, norm := range []float64{0, 1e-3, 0.1, 0.5, 1.5, 4, 5.3719, 5.372, 20, 100} {
			a, got := random(rng, n, n), make([]float64, n*n)
			scale(a, norm/columnNorm(a, n))
			if !Exp(got, a, n) {
				t.Fatalf("Exp of [%d, %d] with the norm %v failed", n, n, norm)
			}
			var want mat.Dense
			want.Exp(dense(a, n, n))
			for i, v := range want.RawMatrix().Data {
				if math.Abs(got[i]-v) > 1e-13*math.Max(1, norm)*mat.Norm(&want, 1) {
					t.Fatalf("exp of [%d, %d] with the norm %v: got %v, want %v", n, n, norm, got, want.RawMatrix().Data)
				}
			}
		}
	}
}

// Of matrices whose exponential no number can be, or whose norm none can, elements are not finite, or 0.
func TestExpOfMuch(t *testing.T) {
	for _, v := range []float64{1e3, 1e300, math.MaxFloat64} {
		for _, a := range [][]float64{{v, 0, 0, v}, {v, v, v, v}} {
			got := make([]float64, 4)
			if !Exp(got, a, 2) || finite(got[:1]) {
				t.Errorf("exp of %v: got %v, want nothing finite", a, got)
			}
		}
		got := make([]float64, 4)
		if !Exp(got, []float64{-v, 0, 0, -v}, 2) || got[0] != 0 || got[3] != 0 {
			t.Errorf("exp of %v: got %v, want 0", -v, got)
		}
	}
}
