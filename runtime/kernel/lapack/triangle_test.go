package lapack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Triangles are solved as gonum does, at sizes that are divided and at odd ones, and a column by itself
// has the bits that it has beside others.
func TestSolveTriangle(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	const lda, ldb = 150, 110
	a := random(rng, lda, lda)
	for i := range lda {
		a[i*lda+i] += 30 // solutions stay small
	}
	for i := range a {
		a[i] /= 30 // and those of a diagonal of ones, too
	}
	for _, n := range []int{0, 1, 2, 31, 32, 33, 71, 128} {
		for _, k := range []int{0, 1, 3, 4, 45, 100} {
			b := random(rng, max(n, 1), ldb)
			for _, upper := range []bool{false, true} {
				for _, unit := range []bool{false, true} {
					ul, d := blas.Lower, blas.NonUnit
					if upper {
						ul = blas.Upper
					}
					if unit {
						d = blas.Unit
					}
					got, want, alone := slices.Clone(b), slices.Clone(b), slices.Clone(b)
					solveTriangle(got, ldb, a, lda, n, k, upper, unit)
					gonum.Implementation{}.Dtrsm(blas.Left, ul, blas.NoTrans, d, n, k, 1, a, lda, want, ldb)
					for j := range k {
						solveTriangle(alone[j:], ldb, a, lda, n, 1, upper, unit)
					}
					for i, v := range want {
						if math.Abs(got[i]-v) > 1e-9*(1+math.Abs(v)) {
							t.Fatalf("[%d, %d], upper %v, unit %v: got %v at %d, want %v", n, k, upper, unit, got[i], i, v)
						}
					}
					if !slices.Equal(got, alone) {
						t.Errorf("[%d, %d], upper %v, unit %v: a column by itself differs", n, k, upper, unit)
					}
				}
			}
		}
	}
}
