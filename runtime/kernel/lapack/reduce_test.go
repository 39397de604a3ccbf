package lapack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/kernel/vec"
)

// The product of a symmetric matrix and a vector is that of loops, from every index on, with
// the same bits in every set of instructions, and reads nothing above the squares of strips.
func TestSymmetricTimes(t *testing.T) {
	defer vec.Use(vec.Best())
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4*strip).Draw(t, "n")
		from := rapid.IntRange(0, n-1).Draw(t, "from")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		lower, x := random(rng, n, n), random(rng, 1, n-from)
		for i := range n {
			for j := i + 1; j < n; j++ {
				lower[i*n+j] = math.NaN()
			}
		}
		p := newPending(lower, n)
		p.strips(0, p.mirror)
		want := make([]float64, n-from)
		for i := range want {
			for j, v := range x {
				want[i] += v * lower[(from+max(i, j))*n+from+min(i, j)]
			}
		}
		var first []float64
		for _, s := range vec.Sets() {
			vec.Use(s)
			got := make([]float64, n-from)
			p.symmetricTimes(got, x, from)
			for i, v := range got {
				if !(math.Abs(v-want[i]) <= 1e-11) {
					t.Fatalf("%v: n = %d, from %d: element %d is %v, want %v", s, n, from, i, v, want[i])
				}
			}
			if first == nil {
				first = got
			}
			if !slices.Equal(got, first) {
				t.Fatalf("%v: n = %d, from %d: got %v, want %v", s, n, from, got, first)
			}
		}
	})
}

// What is reduced has the same bits in every set of instructions.
func TestReducedBits(t *testing.T) {
	defer vec.Use(vec.Best())
	const n = 101
	a := random(rand.New(rand.NewPCG(11, 12)), n, n)
	first := map[string][]float64{}
	for _, s := range vec.Sets() {
		vec.Use(s)
		d, e, q := toTridiagonal(slices.Clone(a), n, false)
		d2, f, u, v := toBidiagonal(slices.Clone(a), n, false)
		for name, got := range map[string][]float64{"tridiagonal": slices.Concat(d, e, q.v, q.tau), "bidiagonal": slices.Concat(d2, f, u.v, u.tau, v.v, v.tau)} {
			if first[name] == nil {
				first[name] = got
			}
			if !slices.Equal(got, first[name]) {
				t.Errorf("%s matrices of %v differ", name, s)
			}
		}
	}
}
