package lapack

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"pgregory.net/rapid"
)

// hard are symmetric matrices [n, n] that divide and conquer has been known to fail on.
var hard = []struct {
	what    string
	element func(rng *rand.Rand, n, i, j int) float64
}{
	{"random", func(rng *rand.Rand, n, i, j int) float64 { return rng.NormFloat64() }},
	{"zeros", func(*rand.Rand, int, int, int) float64 { return 0 }},
	{"ones", func(*rand.Rand, int, int, int) float64 { return 1 }},
	{"the identity", func(_ *rand.Rand, _, i, j int) float64 { return when(i == j, 1) }},
	{"an exchange of rows", func(_ *rand.Rand, n, i, j int) float64 { return when(i+j == n-1, 1) }},
	{"second differences", func(_ *rand.Rand, _, i, j int) float64 { return when(i == j, 2) - when(i == j+1, 1) }},
	{"Wilkinson's", func(_ *rand.Rand, n, i, j int) float64 {
		return when(i == j, math.Abs(float64(i)-float64(n-1)/2)) + when(i == j+1, 1)
	}},
	{"Wilkinson's, glued", func(_ *rand.Rand, n, i, j int) float64 {
		return when(i == j, math.Abs(float64(i%21)-10)) + when(i == j+1, when(i%21 == 0, 1e-8)+when(i%21 > 0, 1))
	}},
	{"glued by what does not count", func(_ *rand.Rand, n, i, j int) float64 {
		return when(i == j, math.Abs(float64(i%21)-10)) + when(i == j+1, when(i%21 == 0, 1e-15)+when(i%21 > 0, 1))
	}},
	{"graded", func(rng *rand.Rand, n, i, j int) float64 {
		return math.Pow(10, -12*float64(i+j)/float64(n)) * rng.NormFloat64()
	}},
	{"vanishing beside zeros", func(_ *rand.Rand, _, i, j int) float64 { return when(i+j == 0, 1) + when(i == j+1, 1e-162) }},
	{"tiny", func(rng *rand.Rand, _, _, _ int) float64 { return 1e-300 * rng.NormFloat64() }},
	{"huge", func(rng *rand.Rand, _, _, _ int) float64 { return 1e300 * rng.Float64() }},
	{"of rank 1", func(_ *rand.Rand, _, i, j int) float64 { return float64((i%7 + 1) * (j%7 + 1)) }},
	{"of blocks", func(_ *rand.Rand, _, i, j int) float64 { return when(i/5 == j/5, 1) }},
	{"an arrow", func(_ *rand.Rand, _, i, j int) float64 { return when(j == 0, 1) + when(i == j, float64(i)) }},
	{"of few values", func(rng *rand.Rand, _, i, j int) float64 { return math.Round(rng.NormFloat64()) }},
	{"nearly the identity", func(rng *rand.Rand, _, i, j int) float64 { return when(i == j, 1) + 1e-14*rng.NormFloat64() }},
}

func when(is bool, v float64) float64 {
	if is {
		return v
	}
	return 0
}

// wantNear wants the product x y, of [m, k] and [k, n], to be want but for some hundreds of
// roundings in elements of size 1.
func wantNear(t rapid.TB, what string, x, y, want []float64, m, k, n int) {
	t.Helper()
	got := make([]float64, m*n)
	if m == 0 || n == 0 {
		return
	}
	if k > 0 {
		products{}.Dgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, x, k, y, n, 0, got, n)
	}
	for i, v := range want {
		if bound := 2 * precision * float64(max(m, n, k, 10)); !(math.Abs(got[i]-v) <= bound) {
			t.Fatalf("%s: got %v at (%d, %d), want %v within %v", what, got[i], i/n, i%n, v, bound)
		}
	}
}

// wantOrthonormal wants the columns of q [m, k] to be.
func wantOrthonormal(t rapid.TB, what string, q []float64, m, k int) {
	t.Helper()
	wantNear(t, what, transposed(q, m, k), q, identity(k), k, m, k)
}

// normed returns a divided by a bound of its norm, and the bound.
func normed(a []float64, m, n int) ([]float64, float64) {
	size := largestOf(a)
	if size == 0 {
		return a, 1
	}
	out, sum := make([]float64, len(a)), 0.0
	for i, v := range a {
		out[i] = v / size
		sum += out[i] * out[i]
	}
	by := math.Sqrt(sum)
	for i := range out {
		out[i] /= by
	}
	return out, size * by
}

// wantValues wants values to be want, in the same order, but for some roundings of the
// greatest.
func wantValues(t rapid.TB, what string, got, want []float64) {
	t.Helper()
	bound := precision * float64(len(want)+10) * largestOf(want)
	for i, v := range got {
		if !(math.Abs(v-want[i]) <= bound) {
			t.Fatalf("%s: value %d is %v, want %v within %v", what, i, v, want[i], bound)
		}
	}
}

// wantEigh wants Eigh of a [n, n] to be a decomposition.
func wantEigh(t rapid.TB, what string, a []float64, n int) {
	t.Helper()
	w, v := make([]float64, n), make([]float64, n*n)
	if !Eigh(w, v, a, n) {
		t.Fatalf("%s: no eigenvalues", what)
	}
	if !slices.IsSorted(w) {
		t.Fatalf("%s: eigenvalues %v are not in ascending order", what, w)
	}
	values := make([]float64, n)
	if !Eigenvalues(values, a, n) {
		t.Fatalf("%s: no eigenvalues alone", what)
	}
	wantValues(t, what+", eigenvalues alone", values, w)
	of, size := normed(a, n, n)
	wantOrthonormal(t, what+", vᵀ v", v, n, n)
	vw, vt := make([]float64, n*n), transposed(v, n, n)
	for i := range vw {
		vw[i] = v[i] * (w[i%n] / size)
	}
	wantNear(t, what+", v w vᵀ", vw, vt, of, n, n, n)
}

// symmetric returns the matrix [n, n] of which element gives the lower triangle.
func symmetric(n int, element func(i, j int) float64) []float64 {
	a := make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			a[i*n+j] = element(i, j)
			a[j*n+i] = a[i*n+j]
		}
	}
	return a
}

// Eigenvectors are orthonormal and make the matrix with eigenvalues, of all sizes and of
// matrices that are hard.
func TestEighHolds(t *testing.T) {
	for _, test := range hard {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, n := range []int{0, 1, 2, 3, 5, 31, 32, 33, 34, 63, 65, 66, 96, 127, 130, 300} {
			a := symmetric(n, func(i, j int) float64 { return test.element(rng, n, i, j) })
			wantEigh(t, fmt.Sprintf("%s [%d, %d]", test.what, n, n), a, n)
		}
	}
}

// Symmetric matrices with any eigenvalues have these.
func TestEighOfDrawnValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 150).Draw(t, "n")
		distinct := rapid.SliceOfN(rapid.Custom(drawValue), 1, 8).Draw(t, "values")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		want := make([]float64, n)
		for i := range want {
			want[i] = distinct[rng.IntN(len(distinct))]
		}
		q, r := make([]float64, n*n), make([]float64, n*n)
		QR(q, r, random(rng, n, n), n, n)
		qw := make([]float64, n*n)
		for i := range qw {
			qw[i] = q[i] * want[i%n]
		}
		a := make([]float64, n*n)
		products{}.Dgemm(blas.NoTrans, blas.Trans, n, n, n, 1, qw, n, q, n, 0, a, n)
		a = symmetric(n, func(i, j int) float64 { return a[i*n+j] })
		wantEigh(t, "drawn", a, n)
		w, v := make([]float64, n), make([]float64, n*n)
		Eigh(w, v, a, n)
		slices.Sort(want)
		for i, x := range want {
			if math.Abs(w[i]-x) > 1e-14*float64(n+10)*max(largestOf(want), 1e-300) {
				t.Fatalf("eigenvalue %d is %v, want %v", i, w[i], x)
			}
		}
	})
}

// drawValue draws numbers of all sizes, often equal and nearly equal ones.
func drawValue(t *rapid.T) float64 {
	v := float64(rapid.IntRange(-3, 3).Draw(t, "whole"))
	switch rapid.IntRange(0, 3).Draw(t, "form") {
	case 0:
		return v
	case 1:
		return v * (1 + precision*float64(rapid.IntRange(0, 100).Draw(t, "ulps")))
	case 2:
		return v * math.Pow(10, -float64(rapid.IntRange(0, 20).Draw(t, "digits")))
	default:
		return v + rapid.Float64Range(-1, 1).Draw(t, "more")
	}
}

// Tridiagonal matrices, with zeros and small elements anywhere, are decomposed.
func TestDividedTridiagonal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 140).Draw(t, "n")
		pattern := rapid.SliceOfN(rapid.Custom(drawValue), 2, 6).Draw(t, "elements")
		a := symmetric(n, func(i, j int) float64 { return when(i-j < 2, pattern[(i*i+3*j)%len(pattern)]) })
		wantEigh(t, "tridiagonal", a, n)
	})
}

// A secular equation's roots lie between its poles, and those of small equations are known.
func TestSecularEquation(t *testing.T) {
	delta := make([]float64, 4)
	origins, above := newSecularEquation([]float64{0, 1}, []float64{math.Sqrt(0.5), math.Sqrt(0.5)}, 1, false).solve(delta)
	d := []float64{0, 1}
	for i, want := range []float64{1 - math.Sqrt(0.5), 1 + math.Sqrt(0.5)} { // of λ² - 2λ + 1/2
		if got := d[origins[i]] + above[i]; math.Abs(got-want) > 2*precision {
			t.Errorf("root %d: got %v, want %v", i, got, want)
		}
		for j := range d {
			if got := delta[i*2+j]; math.Abs(got-(d[j]-want)) > 2*precision {
				t.Errorf("distance of root %d from pole %d: got %v, want %v", i, j, got, d[j]-want)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 40).Draw(t, "k")
		d, z := make([]float64, k), make([]float64, k)
		at := 0.0
		for i := range d {
			d[i] = at
			at += math.Pow(10, -float64(rapid.IntRange(0, 14).Draw(t, "gap"))) * (1 + at)
			z[i] = math.Pow(10, -float64(rapid.IntRange(0, 15).Draw(t, "weight")))
		}
		delta := make([]float64, k*k)
		newSecularEquation(d, z, 1, rapid.Bool().Draw(t, "squared")).solve(delta)
		for i := range k {
			for j, v := range delta[i*k:][:k] {
				if (j <= i && !(v < 0)) || (j > i && !(v > 0)) {
					t.Fatalf("pole %d - root %d of %d: got %v, want it on the other side", j, i, k, v)
				}
			}
			if !(z[i] > 0) {
				t.Fatalf("z[%d] becomes %v", i, z[i])
			}
		}
	})
}

// wantSVD wants SVD of a [m, n] to be a decomposition.
func wantSVD(t rapid.TB, what string, a []float64, m, n int) {
	t.Helper()
	k := min(m, n)
	u, s, vt := make([]float64, m*k), make([]float64, k), make([]float64, k*n)
	if !SVD(u, s, vt, a, m, n) {
		t.Fatalf("%s: no singular values", what)
	}
	if !slices.IsSortedFunc(s, func(a, b float64) int { return cmp.Compare(b, a) }) || k > 0 && !(s[k-1] >= 0) {
		t.Fatalf("%s: singular values %v are not in descending order, or negative", what, s)
	}
	values := make([]float64, k)
	if !SingularValues(values, a, m, n) {
		t.Fatalf("%s: no singular values alone", what)
	}
	wantValues(t, what+", singular values alone", values, s)
	of, size := normed(a, m, n)
	wantOrthonormal(t, what+", uᵀ u", u, m, k)
	wantOrthonormal(t, what+", v vᵀ", transposed(vt, k, n), n, k)
	us := make([]float64, m*k)
	for i := range us {
		us[i] = u[i] * (s[i%k] / size)
	}
	wantNear(t, what+", u s vᵀ", us, vt, of, m, k, n)
}

// Singular vectors are orthonormal and make the matrix with singular values, of all sizes and
// shapes and of matrices that are hard.
func TestSVDHolds(t *testing.T) {
	for _, test := range hard {
		rng := rand.New(rand.NewPCG(3, 4))
		for _, size := range [][2]int{{0, 3}, {1, 1}, {2, 2}, {3, 3}, {1, 40}, {40, 1}, {31, 31}, {32, 32}, {33, 33}, {34, 34}, {65, 65}, {66, 66}, {67, 67}, {130, 131}, {150, 70}, {70, 300}, {300, 300}} {
			m, n := size[0], size[1]
			a := make([]float64, m*n)
			for i := range a {
				a[i] = test.element(rng, max(m, n), i/n, i%n)
			}
			wantSVD(t, fmt.Sprintf("%s [%d, %d]", test.what, m, n), a, m, n)
			for i := range a {
				a[i] = when(i%n == i/n || i%n == i/n+1, a[i])
			}
			wantSVD(t, fmt.Sprintf("%s, bidiagonal [%d, %d]", test.what, m, n), a, m, n)
		}
	}
}

// Matrices with any singular values have these.
func TestSVDOfDrawnValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 150).Draw(t, "n")
		distinct := rapid.SliceOfN(rapid.Custom(drawValue), 1, 8).Draw(t, "values")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		want := make([]float64, n)
		for i := range want {
			want[i] = math.Abs(distinct[rng.IntN(len(distinct))])
		}
		q, p, r := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
		QR(q, r, random(rng, n, n), n, n)
		QR(p, r, random(rng, n, n), n, n)
		a, qs := make([]float64, n*n), make([]float64, n*n)
		for i := range qs {
			qs[i] = q[i] * want[i%n]
		}
		products{}.Dgemm(blas.NoTrans, blas.Trans, n, n, n, 1, qs, n, p, n, 0, a, n)
		wantSVD(t, "drawn", a, n, n)
		u, s, vt := make([]float64, n*n), make([]float64, n), make([]float64, n*n)
		SVD(u, s, vt, a, n, n)
		slices.Sort(want)
		for i, x := range want {
			if math.Abs(s[n-1-i]-x) > 1e-14*float64(n+10)*max(largestOf(want), 1e-300) {
				t.Fatalf("singular value %d is %v, want %v", n-1-i, s[n-1-i], x)
			}
		}
	})
}

// Bidiagonal matrices, with zeros and small elements anywhere, are decomposed.
func TestDividedBidiagonal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 140).Draw(t, "n")
		pattern := rapid.SliceOfN(rapid.Custom(drawValue), 2, 6).Draw(t, "elements")
		a := make([]float64, n*n)
		for i := range n {
			a[i*n+i] = pattern[i*i%len(pattern)]
			if i+1 < n {
				a[i*n+i+1] = pattern[(3*i+1)%len(pattern)]
			}
		}
		wantSVD(t, "bidiagonal", a, n, n)
	})
}
