package lapack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tpsh/runtime/kernel/vec"
)

// shapesOfQR are about where reflectors are halved and applied together.
var shapesOfQR = [][2]int{{1, 1}, {1, 5}, {5, 1}, {8, 8}, {9, 9}, {17, 9}, {9, 17}, {64, 64}, {65, 65}, {130, 70}, {70, 130}, {200, 200}}

// The columns of q are orthonormal and q r is what was decomposed, of all shapes and of
// matrices that are hard.
func TestQRHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, h := range hard {
		for _, shape := range shapesOfQR {
			m, n := shape[0], shape[1]
			k, a := min(m, n), make([]float64, m*n)
			for i := range m {
				for j := range n {
					a[i*n+j] = h.element(rng, max(m, n), i, j)
				}
			}
			q, r := make([]float64, m*k), make([]float64, k*n)
			if !QR(q, r, a, m, n) {
				t.Fatalf("%s %v has no QR", h.what, shape)
			}
			what := fmt.Sprintf("%s %v", h.what, shape)
			wantOrthonormal(t, what, q, m, k)
			unit, size := normed(a, m, n)
			for i := range r {
				r[i] /= size
			}
			wantNear(t, what, q, r, unit, m, k, n)
			for i := range k {
				for j := range min(i, n) {
					if r[i*n+j] != 0 {
						t.Fatalf("%s: r[%d, %d] is %v, want 0", what, i, j, r[i*n+j])
					}
				}
			}
		}
	}
}

// Reflectors, applied one after the other as LAPACK defines them, make the matrix of r.
func TestReflectorsHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, shape := range shapesOfQR {
		m, n := shape[0], shape[1]
		k, a := min(m, n), random(rng, m, n)
		f, tau, product := make([]float64, m*n), make([]float64, k), make([]float64, m*n)
		Reflectors(f, tau, a, m, n)
		for i := range m {
			for j := i; j < n; j++ {
				product[i*n+j] = f[i*n+j]
			}
		}
		for i := k - 1; i >= 0; i-- {
			v := make([]float64, m)
			v[i] = 1
			for row := i + 1; row < m; row++ {
				v[row] = f[row*n+i]
			}
			for j := range n {
				dot := 0.0
				for row, x := range v {
					dot += x * product[row*n+j]
				}
				for row, x := range v {
					product[row*n+j] -= tau[i] * dot * x
				}
			}
		}
		for i, v := range product {
			if !(math.Abs(v-a[i]) <= 1e-12) {
				t.Fatalf("%v: element %d is %v, want %v", shape, i, v, a[i])
			}
		}
	}
}

// QR has the same bits in every set of instructions.
func TestQRBits(t *testing.T) {
	defer vec.Use(vec.Best())
	rng := rand.New(rand.NewPCG(9, 10))
	for _, shape := range shapesOfQR {
		m, n := shape[0], shape[1]
		k, a := min(m, n), random(rng, m, n)
		var first []float64
		for _, s := range vec.Sets() {
			vec.Use(s)
			q, r := make([]float64, m*k), make([]float64, k*n)
			QR(q, r, a, m, n)
			got := slices.Concat(q, r)
			if first == nil {
				first = got
			}
			if !slices.Equal(got, first) {
				t.Fatalf("%v of %v differs", s, shape)
			}
		}
	}
}

// What is not a number makes no number of what depends on it, and ends.
func TestQROfNaN(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		a := make([]float64, 20*20)
		for i := range a {
			a[i] = float64(i%7) + 1
		}
		a[3*20+2] = bad
		q, r := make([]float64, 20*20), make([]float64, 20*20)
		QR(q, r, a, 20, 20)
		if last := r[19*20+19]; !math.IsNaN(last) {
			t.Errorf("with %v the last element of r is %v, want NaN", bad, last)
		}
	}
}
