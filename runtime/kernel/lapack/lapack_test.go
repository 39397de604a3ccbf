package lapack

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// dense returns a matrix that shares the elements of a.
func dense(a []float64, m, n int) *mat.Dense { return mat.NewDense(m, n, a) }

// random returns a matrix [m, n] of random numbers.
func random(rng *rand.Rand, m, n int) []float64 {
	a := make([]float64, m*n)
	for i := range a {
		a[i] = rng.NormFloat64()
	}
	return a
}

// wantProduct wants x y, of [m, k] and [k, n], to be want.
func wantProduct(t *testing.T, what string, x, y, want []float64, m, k, n int) {
	t.Helper()
	if m == 0 || n == 0 {
		return
	}
	p := mat.NewDense(m, n, nil)
	if k > 0 {
		p.Mul(dense(x, m, k), dense(y, k, n))
	}
	if !mat.EqualApprox(p, dense(want, m, n), 1e-9) {
		t.Errorf("%s of [%d, %d]: got\n%v, want\n%v", what, m, n, mat.Formatted(p), mat.Formatted(dense(want, m, n)))
	}
}

// Decompositions multiply to what they are of, at every size and shape.
func TestDecompositions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for m := range 7 {
		for n := range 7 {
			a, k := random(rng, m, n), min(m, n)
			q, r := make([]float64, m*k), make([]float64, k*n)
			if !QR(q, r, a, m, n) {
				t.Fatalf("QR of [%d, %d] failed", m, n)
			}
			wantProduct(t, "QR", q, r, a, m, k, n)
			for i := range k {
				for j := range i {
					if r[i*n+j] != 0 {
						t.Errorf("r[%d, %d] is %v", i, j, r[i*n+j])
					}
				}
			}
			u, s, vt := make([]float64, m*k), make([]float64, k), make([]float64, k*n)
			if !SVD(u, s, vt, a, m, n) {
				t.Fatalf("SVD of [%d, %d] failed", m, n)
			}
			for i := range m {
				for j := range k {
					u[i*k+j] *= s[j]
				}
			}
			wantProduct(t, "SVD", u, vt, a, m, k, n)
		}
		squares(t, rng, m)
	}
	for _, n := range []int{17, 33, 50, 70, 130} { // of which more is done with vectors and products
		squares(t, rng, n)
	}
}

// squares tests what is for square matrices [n, n] alone.
func squares(t *testing.T, rng *rand.Rand, n int) {
	a := random(rng, n, n)
	eye, inv := make([]float64, n*n), make([]float64, n*n)
	for i := range n {
		eye[i*n+i] = 1
	}
	if !Inverse(inv, a, n) {
		t.Fatalf("Inverse of [%d, %d] failed", n, n)
	}
	wantProduct(t, "Inverse", a, inv, eye, n, n, n)
	x, b := make([]float64, n*2), random(rng, n, 2)
	if !Solve(x, a, b, n, 2) {
		t.Fatalf("Solve of [%d, %d] failed", n, n)
	}
	wantProduct(t, "Solve", a, x, b, n, n, 2)
	if n == 0 {
		return
	}
	sign, log := LogDet(a, n)
	if got, want := sign*math.Exp(log), mat.Det(dense(a, n, n)); math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
		t.Errorf("LogDet: got %v, want %v", got, want)
	}
	pos := make([]float64, n*n)
	dense(pos, n, n).Mul(dense(a, n, n), dense(a, n, n).T())
	l, lt := make([]float64, n*n), make([]float64, n*n)
	if !Cholesky(l, pos, n) {
		t.Fatalf("Cholesky of [%d, %d] failed", n, n)
	}
	dense(lt, n, n).Copy(dense(l, n, n).T())
	wantProduct(t, "Cholesky", l, lt, pos, n, n, n)
	w, v := make([]float64, n), make([]float64, n*n)
	if !Eigh(w, v, pos, n) {
		t.Fatalf("Eigh of [%d, %d] failed", n, n)
	}
	av, vw := make([]float64, n*n), make([]float64, n*n)
	dense(av, n, n).Mul(dense(pos, n, n), dense(v, n, n))
	dense(vw, n, n).Mul(dense(v, n, n), mat.NewDiagDense(n, w))
	wantProduct(t, "Eigh", av, eye, vw, n, n, n)
}

// What has no decomposition is told.
func TestRefused(t *testing.T) {
	dst, nan := make([]float64, 4), math.NaN()
	for name, ok := range map[string]bool{
		"the inverse of zeros":  Inverse(dst, make([]float64, 4), 2),
		"a solution with zeros": Solve(dst[:2], make([]float64, 4), []float64{1, 2}, 2, 1),
		"the inverse of NaN":    Inverse(dst, []float64{nan, 0, 0, 1}, 2),
		"Cholesky's of -1":      Cholesky(dst[:1], []float64{-1}, 1),
		"SVD of NaN":            SVD(make([]float64, 4), dst[:2], make([]float64, 4), []float64{nan, 0, 0, 1}, 2, 2),
		"Eigh of NaN":           Eigh(dst[:1], make([]float64, 1), []float64{nan}, 1),
		"values of NaN":         Eigenvalues(dst[:1], []float64{nan}, 1),
		"singular ones of NaN":  SingularValues(dst[:2], []float64{nan, 0, 0, 1}, 2, 2),
	} {
		if ok {
			t.Errorf("%s: got one, want none", name)
		}
	}
	if sign, log := LogDet(make([]float64, 4), 2); sign != 0 || !math.IsInf(log, -1) {
		t.Errorf("LogDet of zeros: got %v, %v, want 0, -Inf", sign, log)
	}
}
