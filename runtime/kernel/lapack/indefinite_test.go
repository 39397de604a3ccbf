package lapack

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Factors of a matrix that needs both kinds of blocks are those that LAPACK gives.
func TestLDL(t *testing.T) {
	a := []float64{
		0, 0, 0, 0,
		1, 0, 0, 0,
		2, 3, 1, 0,
		9, 9, 9, 2}
	ld, piv := make([]float64, 16), make([]float64, 4)
	if info := LDL(ld, piv, a, 4); info != 0 {
		t.Errorf("info: got %d, want 0", info)
	}
	if want := []float64{-4, -4, 3, 4}; !slices.Equal(piv, want) {
		t.Errorf("pivots: got %v, want %v", piv, want)
	}
	want := []float64{ // torch.linalg.ldl_factor of PyTorch 2.15, on MKL
		0, 0, 0, 0,
		9, 2, 0, 0,
		0.950617283950617, 0.222222222222222, -2.901234567901234, 0,
		0.975308641975309, 0.111111111111111, -0.017021276595745, -1.974468085106383}
	for i, v := range want {
		if math.Abs(ld[i]-v) > 1e-14 {
			t.Errorf("ld[%d, %d]: got %v, want %v", i/4, i%4, ld[i], v)
		}
	}
	for _, test := range []struct {
		a    []float64
		n    int
		info int
	}{
		{nil, 0, 0},
		{[]float64{0}, 1, 1},
		{[]float64{math.NaN()}, 1, 1},
		{make([]float64, 9), 3, 1},
		{[]float64{1, 0, 1, 1}, 2, 2},
		{[]float64{0, 0, 1, 0}, 2, 0},
	} {
		ld, piv := make([]float64, test.n*test.n), make([]float64, test.n)
		if got := LDL(ld, piv, test.a, test.n); got != test.info {
			t.Errorf("info of %v: got %d, want %d", test.a, got, test.info)
		}
	}
}

// What is solved by factors solves: of symmetric and Hermitian matrices with small
// whole numbers, so that there are zeros on diagonals and equal pivots.
func TestLDLSolve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(0, 12).Draw(t, "n"), rapid.IntRange(1, 3).Draw(t, "k")
		hermitian, complexes := rapid.Bool().Draw(t, "hermitian"), rapid.Bool().Draw(t, "complex")
		whole := rapid.Map(rapid.IntRange(-2, 2), func(v int) float64 { return float64(v) })
		parts := func(name string, size int) []float64 { return rapid.SliceOfN(whole, size, size).Draw(t, name) }
		ar, ai, br, bi := parts("re", n*n), make([]float64, n*n), parts("right", n*k), make([]float64, n*k)
		ld, ldi, piv := make([]float64, n*n), make([]float64, n*n), make([]float64, n)
		x, xi := make([]float64, n*k), make([]float64, n*k)
		info, ok := 0, false
		if complexes {
			ai, bi = parts("im", n*n), parts("right im", n*k)
			info = ComplexLDL(ld, ldi, piv, ar, ai, n, hermitian)
			ok = ComplexLDLSolve(x, xi, ld, ldi, piv, br, bi, n, k, hermitian)
		} else {
			info = LDL(ld, piv, ar, n)
			ok = LDLSolve(x, ld, piv, br, n, k)
		}
		if !ok {
			t.Fatalf("pivots %v are refused", piv)
		}
		smallest := math.Inf(1)
		for i := range n {
			smallest = min(smallest, cmplx.Abs(complex(ld[i*n+i], ldi[i*n+i]))+when(piv[i] < 0, 1))
		}
		if info != 0 || smallest < 1e-6 { // singular, or nearly
			return
		}
		for i := range n {
			for j := range k {
				s, size := complex(0, 0), 1.0
				for l := range n {
					e := complex(ar[max(i, l)*n+min(i, l)], ai[max(i, l)*n+min(i, l)])
					if hermitian && l > i {
						e = cmplx.Conj(e)
					} else if hermitian && l == i {
						e = complex(real(e), 0)
					}
					s += e * complex(x[l*k+j], xi[l*k+j])
					size = max(size, cmplx.Abs(complex(x[l*k+j], xi[l*k+j])))
				}
				if want := complex(br[i*k+j], bi[i*k+j]); cmplx.Abs(s-want) > 1e-7*size {
					t.Fatalf("a x [%d, %d]: got %v, want %v", i, j, s, want)
				}
			}
		}
	})
	for _, piv := range [][]float64{{0, 1}, {3, 1}, {1, -1}, {-1, -2}, {1.5, 1}, {math.NaN(), 1}} {
		if LDLSolve(make([]float64, 2), identity(2), piv, make([]float64, 2), 2, 1) {
			t.Errorf("pivots %v: got a solution, want none", piv)
		}
	}
}
