package lapack

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"tpsh/internal/libm"
)

// wantComplexProduct wants x y to be want.
func wantComplexProduct(t *testing.T, what string, x, y, want *complexMatrix) {
	t.Helper()
	for i := range want.rows {
		for j := range want.cols {
			var s complex128
			for l := range x.cols {
				s += x.row(i)[l] * y.row(l)[j]
			}
			if libm.AbsComplex(s-want.row(i)[j]) > 1e-9 {
				t.Errorf("%s of [%d, %d]: got %v at (%d, %d), want %v", what, want.rows, want.cols, s, i, j, want.row(i)[j])
			}
		}
	}
}

// unit returns the identity.
func unit(n int) *complexMatrix {
	e := &complexMatrix{n, n, make([]complex128, n*n)}
	for i := range n {
		e.row(i)[i] = 1
	}
	return e
}

// Complex decompositions multiply to what they are of, and vectors are orthonormal, at
// every size and shape, of matrices with equal values, too.
func TestComplexDecompositions(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for m := range 7 {
		for n := range 7 {
			for _, rank := range []int{1, 7} {
				complexFactors(t, lowRank(rng, m, n, rank))
			}
		}
	}
	complexFactors(t, unit(4))
	complexFactors(t, lowRank(rng, 45, 40, 45)) // of sizes that are divided
	complexFactors(t, lowRank(rng, 35, 70, 3))
}

// lowRank returns a random matrix [m, n] of at most a rank.
func lowRank(rng *rand.Rand, m, n, rank int) *complexMatrix {
	a := &complexMatrix{m, n, make([]complex128, m*n)}
	for range rank {
		x, y := joined(random(rng, m, 1), random(rng, m, 1), m, 1), joined(random(rng, n, 1), random(rng, n, 1), n, 1)
		for i := range m {
			for j := range n {
				a.row(i)[j] += x.data[i] * y.data[j]
			}
		}
	}
	return a
}

func complexFactors(t *testing.T, a *complexMatrix) {
	m, n := a.rows, a.cols
	k := min(m, n)
	re, im := make([]float64, m*n), make([]float64, m*n)
	a.store(re, im)
	ur, ui, s, vtr, vti := make([]float64, m*k), make([]float64, m*k), make([]float64, k), make([]float64, k*n), make([]float64, k*n)
	if !ComplexSVD(ur, ui, s, vtr, vti, re, im, m, n) {
		t.Fatalf("SVD of [%d, %d] failed", m, n)
	}
	u, vt := joined(ur, ui, m, k), joined(vtr, vti, k, n)
	wantComplexProduct(t, "uᴴ u", u.adjoint(), u, unit(k))
	wantComplexProduct(t, "vᴴ v", vt, vt.adjoint(), unit(k))
	for i := range m {
		for j := range k {
			u.row(i)[j] *= complex(s[j], 0)
		}
	}
	wantComplexProduct(t, "SVD", u, vt, a)
	h := &complexMatrix{m, m, make([]complex128, m*m)}
	for i := range m {
		for j := range m {
			for l := range n {
				h.row(i)[j] += a.row(i)[l] * cmplx.Conj(a.row(j)[l])
			}
		}
	}
	w, vr, vi, hr, hi := make([]float64, m), make([]float64, m*m), make([]float64, m*m), make([]float64, m*m), make([]float64, m*m)
	h.store(hr, hi)
	if !ComplexEigh(w, vr, vi, hr, hi, m) {
		t.Fatalf("Eigh of [%d, %d] failed", m, m)
	}
	v, vw := joined(vr, vi, m, m), joined(vr, vi, m, m)
	wantComplexProduct(t, "vᴴ v of Eigh", v.adjoint(), v, unit(m))
	for i := range m {
		for j := range m {
			vw.row(i)[j] *= complex(w[j], 0)
		}
	}
	wantComplexProduct(t, "Eigh", h, v, vw)
}

// Determinants of products are products of determinants.
func TestComplexLogDet(t *testing.T) {
	for _, test := range []struct {
		a    []complex128
		want complex128
	}{
		{nil, 1},
		{[]complex128{3i}, 3i},
		{[]complex128{0, 1i, 2, 5}, -2i},
		{[]complex128{1 + 1i, 2, 1i, 3 - 1i}, (1+1i)*(3-1i) - 2i},
		{[]complex128{1, 1i, 1i, -1}, 0},
	} {
		n := int(math.Sqrt(float64(len(test.a))))
		re, im := make([]float64, n*n), make([]float64, n*n)
		(&complexMatrix{n, n, test.a}).store(re, im)
		sign, log := ComplexLogDet(re, im, n)
		if got := sign * complex(libm.Exp(log), 0); libm.AbsComplex(got-test.want) > 1e-12 {
			t.Errorf("the determinant of %v: got %v, want %v", test.a, got, test.want)
		}
	}
	nan := []float64{math.NaN()}
	one := make([]float64, 1)
	if ComplexSVD(one, one, one, one, one, nan, one, 1, 1) || ComplexEigh(one, one, one, nan, one, 1) {
		t.Error("of NaN: got a decomposition, want none")
	}
}

// Factors of elimination multiply to the matrix, pivots are the greatest of their columns, and
// vectors of eigenvalues are turned by them alone, at every size and rank.
func TestComplexEliminationAndEigenvalues(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for m := range 7 {
		for n := range 7 {
			for _, rank := range []int{0, 1, 7} {
				complexElimination(t, lowRank(rng, m, n, rank))
			}
		}
		for _, rank := range []int{0, 1, 7} {
			complexEigenvalues(t, lowRank(rng, m, m, rank), 1e-7)
		}
	}
	complexEigenvalues(t, unit(5), 1e-12)
	complexEigenvalues(t, lowRank(rng, 40, 40, 40), 1e-9)
	cycle := &complexMatrix{6, 6, make([]complex128, 36)} // all eigenvalues have the length 1
	for i := range 6 {
		cycle.row((i + 1) % 6)[i] = 1
	}
	complexEigenvalues(t, cycle, 1e-12)
}

func complexElimination(t *testing.T, a *complexMatrix) {
	t.Helper()
	m, n := a.rows, a.cols
	k := min(m, n)
	re, im := make([]float64, m*n), make([]float64, m*n)
	a.store(re, im)
	lur, lui, piv, p := make([]float64, m*n), make([]float64, m*n), make([]float64, k), make([]float64, m*m)
	if !ComplexLU(lur, lui, piv, p, re, im, m, n) {
		t.Fatalf("LU of [%d, %d] failed", m, n)
	}
	lu := joined(lur, lui, m, n)
	l, u := &complexMatrix{m, k, make([]complex128, m*k)}, &complexMatrix{k, n, make([]complex128, k*n)}
	for i := range m {
		for j := range n {
			switch v := lu.row(i)[j]; {
			case i > j:
				l.row(i)[j] = v
				if libm.AbsComplex(v) > math.Sqrt2+1e-12 {
					t.Errorf("l of [%d, %d] has %v: its pivot was not the greatest", m, n, v)
				}
			default:
				u.row(i)[j] = v
			}
		}
		if i < k {
			l.row(i)[i] = 1
		}
	}
	rows := &complexMatrix{m, n, make([]complex128, m*n)} // pᵀ a
	for i := range m {
		for j := range m {
			if p[i*m+j] == 1 {
				copy(rows.row(j), a.row(i))
			}
		}
	}
	wantComplexProduct(t, "l u", l, u, rows)
}

func complexEigenvalues(t *testing.T, a *complexMatrix, near float64) {
	t.Helper()
	n := a.rows
	re, im := make([]float64, n*n), make([]float64, n*n)
	a.store(re, im)
	wr, wi, vr, vi := make([]float64, n), make([]float64, n), make([]float64, n*n), make([]float64, n*n)
	if !ComplexEig(wr, wi, vr, vi, re, im, n) {
		t.Fatalf("eigenvalues of [%d, %d] failed", n, n)
	}
	v := joined(vr, vi, n, n)
	for k := range n {
		length := 0.0
		for i := range n {
			var s complex128
			for j := range n {
				s += a.row(i)[j] * v.row(j)[k]
			}
			if want := complex(wr[k], wi[k]) * v.row(i)[k]; libm.AbsComplex(s-want) > near {
				t.Errorf("[%d, %d]: a v is %v, want %v", n, n, s, want)
			}
			length = libm.Hypot(length, libm.AbsComplex(v.row(i)[k]))
		}
		if math.Abs(length-1) > 1e-12 {
			t.Errorf("[%d, %d]: a vector of length %v, want 1", n, n, length)
		}
	}
	wr2, wi2 := make([]float64, n), make([]float64, n)
	if !ComplexEigValues(wr2, wi2, re, im, n) {
		t.Fatalf("eigenvalues alone of [%d, %d] failed", n, n)
	}
	for k := range n {
		if wr2[k] != wr[k] || wi2[k] != wi[k] {
			t.Errorf("[%d, %d]: eigenvalue %d alone is %v + %vi, want %v + %vi", n, n, k, wr2[k], wi2[k], wr[k], wi[k])
		}
	}
}
