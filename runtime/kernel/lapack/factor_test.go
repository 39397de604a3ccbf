package lapack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"

	"tpsh/runtime/kernel/vec"
)

// The factors of LU multiply to what they are of, at every size and shape.
func TestLU(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	sizes := []int{0, 1, 2, 3, 5, 9, 31, 33, 70}
	for _, m := range sizes {
		for _, n := range sizes {
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
			for i, v := range l {
				if math.Abs(v) > 1 {
					t.Fatalf("LU of [%d, %d]: l has %v at %d, want at most 1", m, n, v, i)
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

// Eigenvectors are of length 1, with a greatest element that is real, and a turns them by
// their eigenvalues; the values alone are the same. Large matrices go another way than small
// ones.
func TestEigHolds(t *testing.T) {
	for _, test := range hard {
		rng := rand.New(rand.NewPCG(5, 6))
		for _, n := range []int{0, 1, 2, 5, 33, 75, 76, 110} {
			a := make([]float64, n*n)
			for i := range a {
				a[i] = test.element(rng, n, i/n, i%n)
			}
			wantEig(t, fmt.Sprintf("%s [%d, %d]", test.what, n, n), a, n)
		}
	}
}

// wantEig wants Eig of a [n, n] to be its eigenvalues and eigenvectors.
func wantEig(t *testing.T, what string, a []float64, n int) {
	t.Helper()
	wr, wi, vr, vi := make([]float64, n), make([]float64, n), make([]float64, n*n), make([]float64, n*n)
	if !Eig(wr, wi, vr, vi, a, n) {
		t.Fatalf("%s: no eigenvalues", what)
	}
	of, size := normed(a, n, n)
	bound := 4 * precision * float64(max(n, 10))
	var trace, sum float64
	for j := range n {
		trace, sum = trace+of[j*n+j], sum+wr[j]/size
		length, most, imag := 0.0, 0.0, 0.0
		for i := range n {
			x, y := vr[i*n+j], vi[i*n+j]
			length += x*x + y*y
			if x*x+y*y > most {
				most, imag = x*x+y*y, y
			}
			var re, im float64 // a v - w v
			for k := range n {
				re, im = re+of[i*n+k]*vr[k*n+j], im+of[i*n+k]*vi[k*n+j]
			}
			re, im = re-(wr[j]/size*x-wi[j]/size*y), im-(wr[j]/size*y+wi[j]/size*x)
			if !(math.Abs(re)+math.Abs(im) <= bound) {
				t.Fatalf("%s: value %d is off by (%v, %v) in row %d, want at most %v", what, j, re, im, i, bound)
			}
		}
		if !(math.Abs(length-1) <= bound) || imag != 0 {
			t.Fatalf("%s: vector %d has the square length %v and the greatest element's imaginary part %v, want 1 and 0", what, j, length, imag)
		}
	}
	if !(math.Abs(trace-sum) <= bound) {
		t.Fatalf("%s: the eigenvalues add up to %v, want %v, the trace", what, sum, trace)
	}
	alone := [2][]float64{make([]float64, n), make([]float64, n)}
	if !EigValues(alone[0], alone[1], a, n) {
		t.Fatalf("%s: no eigenvalues alone", what)
	}
	both := 0.0
	for _, v := range alone[0] {
		both += v / size
	}
	if !(math.Abs(both-trace) <= bound) {
		t.Fatalf("%s: the eigenvalues alone add up to %v, want %v, the trace", what, both, trace)
	}
}

// Eigenvalues of large matrices that are known are found, with vectors and without.
func TestEigOfDrawnValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{60, 120, 300} {
		want := make([]float64, n)
		q, r, a := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
		QR(q, r, random(rng, n, n), n, n)
		for i := range n {
			clear(r[i*n:][:n])
			want[i] = float64(i) - float64(n)/2
			r[i*n+i] = want[i]
			if i > 0 {
				r[(i-1)*n+i] = rng.NormFloat64()
			}
		}
		products{}.Dgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, q, n, r, n, 0, a, n)
		qt := transposed(q, n, n)
		products{}.Dgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, a, n, qt, n, 0, r, n)
		wr, wi, v := make([]float64, n), make([]float64, n), make([]float64, n*n)
		for _, vectors := range []bool{false, true} {
			ok := false
			if vectors {
				ok = Eig(wr, wi, v, make([]float64, n*n), r, n)
			} else {
				ok = EigValues(wr, wi, r, n)
			}
			if !ok {
				t.Fatalf("no eigenvalues of [%d, %d]", n, n)
			}
			slices.Sort(wr)
			for i, x := range want {
				if math.Abs(wr[i]-x) > 1e-9 {
					t.Fatalf("eigenvalue %d of %d is %v, want %v", i, n, wr[i], x)
				}
			}
		}
	}
}

// The rows that become pivots are those of LU.
func TestPivotRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, size := range [][2]int{{0, 0}, {1, 1}, {5, 2}, {40, 40}, {150, 33}} {
		m, k := size[0], size[1]
		a := random(rng, m, k)
		lu, piv, p := make([]float64, m*k), make([]float64, k), make([]float64, m*m)
		LU(lu, piv, p, a, m, k)
		rows := PivotRows(a, m, k)
		if len(rows) != k {
			t.Fatalf("PivotRows of [%d, %d]: got %d rows, want %d", m, k, len(rows), k)
		}
		for i, row := range rows {
			if p[row*m+i] != 1 {
				t.Errorf("PivotRows of [%d, %d]: row %d is pivot %d, but not by LU", m, k, row, i)
			}
		}
	}
}

// Of matrices that are hard, too, the factors multiply to the matrix, no element of l is
// greater than 1, and the bits are those of every set of instructions.
func TestLUOfHard(t *testing.T) {
	defer vec.Use(vec.Best())
	rng := rand.New(rand.NewPCG(13, 14))
	for _, h := range hard {
		for _, shape := range [][2]int{{70, 70}, {131, 131}, {150, 90}, {90, 150}} {
			m, n := shape[0], shape[1]
			k, a := min(m, n), make([]float64, m*n)
			for i := range a {
				a[i] = h.element(rng, max(m, n), i/n, i%n)
			}
			a, _ = normed(a, m, n)
			what := fmt.Sprintf("%s %v", h.what, shape)
			var first []float64
			for _, s := range vec.Sets() {
				vec.Use(s)
				f, piv, p := make([]float64, m*n), make([]float64, k), make([]float64, m*m)
				LU(f, piv, p, a, m, n)
				if first == nil {
					first = f
				}
				if !slices.Equal(f, first) {
					t.Fatalf("%s: %v has other bits", what, s)
				}
				l, u := make([]float64, m*k), make([]float64, k*n)
				for i := range m {
					for j := range n {
						switch {
						case i > j && math.Abs(f[i*n+j]) > 1:
							t.Fatalf("%s: l[%d, %d] is %v", what, i, j, f[i*n+j])
						case i > j:
							l[i*k+j] = f[i*n+j]
						default:
							u[i*n+j] = f[i*n+j]
						}
					}
				}
				for i := range k {
					l[i*k+i] = 1
				}
				pl := make([]float64, m*k)
				products{}.Dgemm(blas.NoTrans, blas.NoTrans, m, k, m, 1, p, m, l, k, 0, pl, k)
				wantNear(t, what, pl, u, a, m, k, n)
			}
		}
	}
}
