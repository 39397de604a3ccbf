package lapack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tpsh/runtime/kernel/vec"
)

// sizesOfLeastSquares are of tall, square and wide matrices, and of right sides.
var sizesOfLeastSquares = [][3]int{{1, 1, 1}, {0, 3, 2}, {3, 0, 2}, {4, 2, 0}, {5, 5, 1}, {40, 7, 3}, {7, 40, 3}, {100, 70, 20}, {70, 100, 20}, {90, 90, 90}}

// What QR finds is what singular values give, at all shapes and scales, with the same bits in every
// set of instructions.
func TestLeastSquares(t *testing.T) {
	defer vec.Use(vec.Best())
	rng := rand.New(rand.NewPCG(19, 20))
	for _, size := range sizesOfLeastSquares {
		m, n, k := size[0], size[1], size[2]
		for _, by := range []float64{1, 1e-300, 1e300} {
			a, b, what := random(rng, m, n), random(rng, m, k), fmt.Sprint(size, " of ", by)
			scale(a, by)
			want, y := make([]float64, n*k), make([]float64, n*k)
			if min(m, n) > 0 {
				nearestBySVD(want, a, b, m, n, k, 1e-13)
			}
			var first []float64
			for _, s := range vec.Sets() {
				vec.Use(s)
				if rank, ok := LeastSquares(y, a, b, m, n, k, 1e-13); !ok || rank != min(m, n) {
					t.Fatalf("%s: rank is %d, %v", what, rank, ok)
				}
				if first == nil {
					first = slices.Clone(y)
				}
				if !slices.Equal(y, first) {
					t.Fatalf("%s: %v has other bits", what, s)
				}
			}
			for i, v := range want {
				if v, got := v*by, y[i]*by; !(math.Abs(got-v) <= 1e-9*(1+math.Abs(v))) {
					t.Fatalf("%s: element %d is %v, want %v", what, i, got, v)
				}
			}
		}
	}
}

// What is not surely of full rank is left to the singular values.
func TestLeastSquaresOfLowRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, size := range [][2]int{{5, 5}, {80, 40}, {40, 80}, {70, 70}} {
		m, n := size[0], size[1]
		k := min(m, n)
		for _, least := range []float64{0, 1e-14, 1e-12, 0.1} {
			u, v, r := make([]float64, m*k), make([]float64, n*k), make([]float64, max(m, n)*k)
			QR(u, r, random(rng, m, k), m, k)
			QR(v, r, random(rng, n, k), n, k)
			a, b := make([]float64, m*n), random(rng, m, 2)
			for i := range m {
				u[i*k+k-1] *= least // the last singular value; others are 1
			}
			multiply(a, n, u, k, transposed(v, n, k), m, n, k)
			for _, test := range []struct {
				rcond float64
				want  int
			}{{1e-13, k}, {0.5, k - 1}, {2, 0}} {
				want, y := test.want, make([]float64, n*2)
				if least < 1e-13 && want == k {
					want--
				}
				byValues := make([]float64, n*2)
				nearestBySVD(byValues, a, b, m, n, 2, test.rcond)
				rank, ok := LeastSquares(y, a, b, m, n, 2, test.rcond)
				if !ok || rank != want {
					t.Fatalf("%v, least %v: rank above %v is %d, want %d", size, least, test.rcond, rank, want)
				}
				for i, v := range byValues {
					if !(math.Abs(y[i]-v) <= 1e-3*(1+math.Abs(v))) {
						t.Fatalf("%v, least %v, above %v: element %d is %v, want %v", size, least, test.rcond, i, y[i], v)
					}
				}
			}
		}
	}
}

// What is not a number has no rank.
func TestLeastSquaresOfNaN(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		if _, ok := LeastSquares(make([]float64, 2), []float64{1, 0, 0, bad}, []float64{1, 1}, 2, 2, 1, 1e-13); ok {
			t.Errorf("a matrix with %v has least squares", bad)
		}
	}
}
