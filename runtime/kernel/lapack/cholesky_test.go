package lapack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tpsh/runtime/kernel/vec"
)

// definite returns a positive definite matrix [n, n], with what is not a number above the diagonal.
func definite(rng *rand.Rand, n int, size float64) []float64 {
	x, a := random(rng, n, n), make([]float64, n*n)
	multiply(a, n, x, n, transposed(x, n, n), n, n, n)
	for i := range n {
		a[i*n+i] += 1
		for j := range n {
			a[i*n+j] *= size
			if j > i {
				a[i*n+j] = math.NaN()
			}
		}
	}
	return a
}

// Cholesky's factor is lower triangular and multiplies with its transpose to the matrix, about
// where rows are made together and at all scales, with the same bits in every set of instructions.
func TestCholesky(t *testing.T) {
	defer vec.Use(vec.Best())
	rng := rand.New(rand.NewPCG(15, 16))
	for _, n := range []int{0, 1, 2, 47, 96, 97, 144, 145, 210} {
		for _, size := range []float64{1, 1e-300, 1e300} {
			a, what := definite(rng, n, size), fmt.Sprintf("%d rows of %v", n, size)
			var first []float64
			for _, s := range vec.Sets() {
				vec.Use(s)
				l := make([]float64, n*n)
				if !Cholesky(l, a, n) {
					t.Fatalf("%s: not positive definite", what)
				}
				if first == nil {
					first = l
				}
				if !slices.Equal(l, first) {
					t.Fatalf("%s: %v has other bits", what, s)
				}
			}
			of := make([]float64, n*n)
			multiply(of, n, first, n, transposed(first, n, n), n, n, n)
			for i := range n {
				for j := range n {
					if j > i && first[i*n+j] != 0 {
						t.Fatalf("%s: l[%d, %d] is %v", what, i, j, first[i*n+j])
					}
					if want := a[max(i, j)*n+min(i, j)] / size; !(math.Abs(of[i*n+j]/size-want) <= 1e-12*float64(n)) {
						t.Fatalf("%s: element [%d, %d] is %v, want %v", what, i, j, of[i*n+j]/size, want)
					}
				}
			}
		}
	}
}

// A matrix that is not positive definite from some row on has no factor, nor has one with NaN there.
func TestCholeskyRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	for _, n := range []int{1, 40, 97, 150} {
		for _, row := range []int{0, n / 2, n - 1} {
			for _, bad := range []float64{0, -1, math.NaN(), math.Inf(-1)} {
				a := definite(rng, n, 1)
				a[row*n+row] = bad
				if Cholesky(make([]float64, n*n), a, n) {
					t.Errorf("%d rows with %v on the diagonal of row %d have a factor", n, bad, row)
				}
			}
		}
	}
}
