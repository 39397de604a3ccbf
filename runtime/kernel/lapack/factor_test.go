package lapack

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The factors of LU multiply to what they are of, at every size and shape.
func TestLU(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for m := range 6 {
		for n := range 6 {
			a, k := random(rng, m, n), min(m, n)
			lu, piv, p := make([]float64, m*n), make([]float64, k), make([]float64, m*m)
			if !LU(lu, piv, p, a, m, n) {
				t.Fatalf("LU of [%d, %d] failed", m, n)
			}
			l, u := make([]float64, m*k), make([]float64, k*n)
			for i := range m {
				for j := range n {
					if j < i {
						l[i*k+j] = lu[i*n+j]
					} else {
						u[i*n+j] = lu[i*n+j]
					}
				}
				if i < k {
					l[i*k+i] = 1
				}
			}
			pa := make([]float64, m*n) // pᵀ a
			for i := range m {
				for j := range m {
					for c := range n {
						pa[i*n+c] += p[j*m+i] * a[j*n+c]
					}
				}
			}
			wantProduct(t, "LU", l, u, pa, m, k, n)
		}
	}
}

// Infos name the row that stands against a factor.
func TestInfos(t *testing.T) {
	for _, test := range []struct {
		a            []float64
		lu, cholesky int
	}{
		{[]float64{2, 0, 0, 3}, 0, 0},
		{[]float64{2, 0, 0, 0}, 2, 2},
		{[]float64{-1, 0, 0, 1}, 0, 1},
		{[]float64{0, 0, 0, 1}, 1, 1},
		{[]float64{1, 2, 2, 1}, 0, 2},
		{[]float64{math.NaN(), 0, 0, 1}, 0, 1},
	} {
		if got := LUInfo(test.a, 2); got != test.lu {
			t.Errorf("LUInfo(%v): got %d, want %d", test.a, got, test.lu)
		}
		if got := CholeskyInfo(test.a, 2); got != test.cholesky {
			t.Errorf("CholeskyInfo(%v): got %d, want %d", test.a, got, test.cholesky)
		}
	}
}

// Pivots that are no rows are none of a permutation.
func TestPermutation(t *testing.T) {
	p := make([]float64, 4)
	for _, piv := range [][]float64{{3}, {0}, {1.5}, {1, 2, 1}, {math.NaN()}} {
		if Permutation(p, piv, 2) {
			t.Errorf("Permutation of %v: got true, want false", piv)
		}
	}
}
