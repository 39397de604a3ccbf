package lapack

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Matrices of several blocks, of few ranks, of equal and of very different values have
// singular values and eigenvalues as gonum finds them, and orthonormal vectors.
func TestLargerDecompositions(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, test := range []struct {
		what    string
		m, n    int
		element func(i, j int) float64
	}{
		{"random numbers", 100, 70, func(i, j int) float64 { return rng.NormFloat64() }},
		{"wide", 40, 90, func(i, j int) float64 { return rng.NormFloat64() }},
		{"rank 1", 60, 50, func(i, j int) float64 { return float64(i+1) * math.Sin(float64(j)) }},
		{"ones and zeros", 50, 50, func(i, j int) float64 { return float64((i*7 + j*3) % 2) }},
		{"the identity", 45, 45, func(i, j int) float64 { return map[bool]float64{true: 1}[i == j] }},
		{"zeros", 35, 40, func(i, j int) float64 { return 0 }},
		{"graded", 40, 40, func(i, j int) float64 { return math.Pow(10, -float64(i+j)/4) * rng.NormFloat64() }},
		{"large numbers", 33, 33, func(i, j int) float64 { return 1e200 * rng.NormFloat64() }},
		{"zeros on the diagonal", 34, 34, func(i, j int) float64 {
			return map[bool]float64{true: 1}[j == i+1] + map[bool]float64{true: 2}[j == i && i%5 > 0]
		}},
	} {
		a := make([]float64, test.m*test.n)
		size := 0.0
		for i := range a {
			a[i] = test.element(i/test.n, i%test.n)
			size = max(size, math.Abs(a[i]))
		}
		if size == 0 {
			size = 1
		}
		larger(t, test.what, a, size, test.m, test.n)
	}
}

func larger(t *testing.T, what string, a []float64, size float64, m, n int) {
	k := min(m, n)
	u, s, vt := make([]float64, m*k), make([]float64, k), make([]float64, k*n)
	if !SVD(u, s, vt, a, m, n) {
		t.Fatalf("%s: no SVD", what)
	}
	ut := transposed(u, m, k)
	wantProduct(t, what+", uᵀ u", ut, u, identity(k), k, m, k)
	wantProduct(t, what+", v vᵀ", vt, transposed(vt, k, n), identity(k), k, n, k)
	if !slices.IsSortedFunc(s, func(a, b float64) int { return cmp.Compare(b, a) }) {
		t.Errorf("%s: singular values %v are not in descending order", what, s)
	}
	scaled, of := make([]float64, m*k), make([]float64, m*n)
	for i := range scaled {
		scaled[i] = u[i] * s[i%k] / size
	}
	for i, v := range a {
		of[i] = v / size
	}
	wantProduct(t, what+", SVD", scaled, vt, of, m, k, n)
	var f mat.SVD
	f.Factorize(dense(of, m, n), mat.SVDNone)
	for i, v := range f.Values(nil) {
		if math.Abs(s[i]/size-v) > 1e-12*float64(m+n) {
			t.Errorf("%s: singular value %d is %v, want %v", what, i, s[i], v*size)
		}
	}
	if m != n {
		return
	}
	w, v, sym := make([]float64, n), make([]float64, n*n), make([]float64, n*n)
	for i := range n {
		for j := range n {
			sym[i*n+j] = of[max(i, j)*n+min(i, j)]
		}
	}
	if !Eigh(w, v, sym, n) {
		t.Fatalf("%s: no eigenvalues", what)
	}
	wantProduct(t, what+", vᵀ v", transposed(v, n, n), v, identity(n), n, n, n)
	av, vw := make([]float64, n*n), make([]float64, n*n)
	dense(av, n, n).Mul(dense(sym, n, n), dense(v, n, n))
	for i := range vw {
		vw[i] = v[i] * w[i%n]
	}
	wantProduct(t, what+", Eigh", av, identity(n), vw, n, n, n)
}
