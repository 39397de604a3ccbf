package lapack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Products, with triangles too, are gonum's, at sizes that are divided and at odd ones.
func TestProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const ld = 150
	a, b, c := random(rng, ld, ld), random(rng, ld, ld), random(rng, ld, ld)
	for i := range ld {
		a[i*ld+i] += 30 // solutions stay small
	}
	ours, theirs := products{}, gonum.Implementation{}
	same := func(what string, by func(list blas64Level3, c []float64)) {
		t.Helper()
		got, want := slices.Clone(c), slices.Clone(c)
		by(ours, got)
		by(theirs, want)
		for i, v := range want {
			if math.Abs(got[i]-v) > 1e-9*(1+math.Abs(v)) {
				t.Errorf("%s: got %v at %d, want %v", what, got[i], i, v)
				return
			}
		}
	}
	for _, tA := range []blas.Transpose{blas.NoTrans, blas.Trans} {
		for _, tB := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			for _, f := range [][2]float64{{1, 0}, {1, 1}, {-1, 1}, {2, 0.5}, {0, 2}} {
				for _, size := range [][3]int{{60, 37, 50}, {37, 60, 50}, {140, 5, 60}} {
					same(fmt.Sprint("Dgemm ", tA, tB, f, size), func(p blas64Level3, c []float64) {
						p.Dgemm(tA, tB, size[0], size[1], size[2], f[0], a, ld, b, ld, f[1], c, ld)
					})
				}
			}
		}
		for _, ul := range []blas.Uplo{blas.Lower, blas.Upper} {
			for _, size := range []int{1, 32, 33, 71, 128} {
				for _, s := range []blas.Side{blas.Left, blas.Right} {
					m, n := sides(s, size, 45)
					for _, d := range []blas.Diag{blas.Unit, blas.NonUnit} {
						same(fmt.Sprint("Dtrmm ", s, ul, tA, d, size), func(p blas64Level3, c []float64) { p.Dtrmm(s, ul, tA, d, m, n, -1, a, ld, c, ld) })
					}
				}
			}
		}
	}
}

// blas64Level3 is what products has of its own.
type blas64Level3 interface {
	Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int)
	Dtrmm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int)
}
