package lapack

import (
	"cmp"
	"math"
	"slices"

	"tpsh/internal/libm"
)

// precision is the relative rounding error of float64.
const precision = 0x1p-52

// sweeps is how often, for each value, rotations go along a matrix until it is given up.
const sweeps = 60

// A rotation turns (x, y) into (c x + s y, c y - s x).
type rotation struct{ c, s float64 }

// rotationTo returns the rotation that turns (x, y) into (r, 0), and r.
func rotationTo(x, y float64) (g rotation, r float64) {
	r = math.Sqrt(float64(x*x) + float64(y*y))
	if !(r > 0x1p-400 && r < 0x1p400) {
		r = libm.Hypot(x, y)
	}
	if r == 0 {
		return rotation{1, 0}, 0
	}
	return rotation{x / r, y / r}, r
}

func (g rotation) of(x, y float64) (float64, float64) {
	return float64(g.c*x) + float64(g.s*y), float64(g.c*y) - float64(g.s*x)
}

// rows turns rows i and k of the square matrix a [n, n], unless there is none.
func (g rotation) rows(a []float64, n, i, k int) {
	if a == nil {
		return
	}
	x, y := a[i*n:][:n], a[k*n:][:n]
	for j, v := range x {
		x[j], y[j] = g.of(v, y[j])
	}
}

// shift returns the eigenvalue of [a b; b c] that is nearer to c: Wilkinson's shift.
func shift(a, b, c float64) float64 {
	half := float64((a - c) / 2)
	if half == 0 && b == 0 {
		return c
	}
	return c - float64(b*b)/(half+math.Copysign(libm.Hypot(half, b), half))
}

// negligible reports whether an element between x and y on a diagonal counts as 0, beside
// them or because it is vanishing.
func negligible(v, x, y float64) bool {
	return math.Abs(v) <= max(vanishing, precision*(math.Abs(x)+math.Abs(y)))
}

// tridiagonal makes of d [n] the eigenvalues of the symmetric tridiagonal matrix with the
// diagonal d and e [n-1] beside it, which it spoils, and turns the rows of z [n, n] along:
// implicit steps of QR, Golub and Van Loan, Matrix Computations, 4th edition, 8.3.
func tridiagonal(d, e, z []float64) bool {
	n := len(d)
	for hi, left := n-1, sweeps*n; hi > 0; {
		lo := hi
		for lo > 0 && !negligible(e[lo-1], d[lo-1], d[lo]) {
			lo--
		}
		if lo > 0 {
			e[lo-1] = 0
		}
		if lo == hi {
			hi--
			continue
		}
		if left--; left < 0 {
			return false
		}
		x, y := d[lo]-shift(d[hi-1], e[hi-1], d[hi]), e[lo]
		for k := lo; k < hi; k++ {
			g, r := rotationTo(x, y)
			if k > lo {
				e[k-1] = r
			}
			a, b, c := d[k], e[k], d[k+1]
			twice := float64(2 * g.c * g.s * b)
			d[k], d[k+1] = float64(g.c*g.c*a)+twice+float64(g.s*g.s*c), float64(g.s*g.s*a)-twice+float64(g.c*g.c*c)
			e[k] = float64(g.c*g.s*(c-a)) + float64((float64(g.c*g.c)-float64(g.s*g.s))*b)
			if k+1 < hi {
				x, y = e[k], g.s*e[k+1]
				e[k+1] *= g.c
			}
			g.rows(z, n, k, k+1)
		}
	}
	return true
}

// A bidiagonalMatrix has d on its diagonal and f above it; rows of ut and vt [n, n], or nil,
// turn along with its rows and columns.
type bidiagonalMatrix struct {
	n            int
	d, f, ut, vt []float64
}

// values makes the elements above the diagonal of b 0, so that its diagonal has the
// singular values, with signs: implicit steps of Golub and Kahan, as Golub and Van Loan
// have them, Matrix Computations, 4th edition, 8.6.
func (b *bidiagonalMatrix) values() bool {
	size := max(largestOf(b.d), largestOf(b.f))
	if size == 0 {
		return true
	}
	unit := powerNear(size)
	scale(b.d, unit)
	scale(b.f, unit)
	for hi, left := b.n-1, sweeps*b.n; hi > 0; {
		lo := hi
		for lo > 0 && !negligible(b.f[lo-1], b.d[lo-1], b.d[lo]) {
			lo--
		}
		if lo > 0 {
			b.f[lo-1] = 0
		}
		if lo == hi {
			hi--
			continue
		}
		if left--; left < 0 {
			return false
		}
		if !b.deflate(lo, hi) {
			b.step(lo, hi)
		}
	}
	scale(b.d, 1/unit)
	return true
}

// deflate turns the element of f beside a diagonal element that is 0, of those from lo to
// hi, into 0, too. It reports whether there was one.
func (b *bidiagonalMatrix) deflate(lo, hi int) bool {
	if math.Abs(b.d[hi]) <= precision {
		over := b.f[hi-1]
		b.d[hi], b.f[hi-1] = 0, 0
		for k := hi - 1; k >= lo; k-- {
			g, r := rotationTo(b.d[k], over)
			b.d[k] = r
			if k > lo {
				b.f[k-1], over = g.of(b.f[k-1], 0)
			}
			g.rows(b.vt, b.n, k, hi)
		}
		return true
	}
	for i := lo; i < hi; i++ {
		if math.Abs(b.d[i]) > precision {
			continue
		}
		over := b.f[i]
		b.d[i], b.f[i] = 0, 0
		for k := i + 1; k <= hi; k++ {
			g, r := rotationTo(b.d[k], over)
			b.d[k] = r
			if k < hi {
				b.f[k], over = g.of(b.f[k], 0)
			}
			g.rows(b.ut, b.n, k, i)
		}
		return true
	}
	return false
}

// step turns columns and rows from lo to hi so that what is above the last diagonal
// element becomes less.
func (b *bidiagonalMatrix) step(lo, hi int) {
	above := 0.0
	if hi-1 > lo {
		above = b.f[hi-2]
	}
	dm, dn, fm := b.d[hi-1], b.d[hi], b.f[hi-1]
	mu := shift(float64(dm*dm)+float64(above*above), dm*fm, float64(dn*dn)+float64(fm*fm))
	x, y := float64(b.d[lo]*b.d[lo])-mu, b.d[lo]*b.f[lo]
	for k := lo; k < hi; k++ {
		g, r := rotationTo(x, y)
		if k > lo {
			b.f[k-1] = r
		}
		x, b.f[k] = g.of(b.d[k], b.f[k])
		y, b.d[k+1] = g.of(0, b.d[k+1])
		g.rows(b.vt, b.n, k, k+1)
		g, b.d[k] = rotationTo(x, y)
		b.f[k], b.d[k+1] = g.of(b.f[k], b.d[k+1])
		x = b.f[k]
		if k+1 < hi {
			y, b.f[k+1] = g.of(0, b.f[k+1])
		}
		g.rows(b.ut, b.n, k, k+1)
	}
}

// ordered returns which of values come first, in ascending or descending order.
func ordered(values []float64, descending bool) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if descending {
			i, j = j, i
		}
		return cmp.Compare(values[i], values[j])
	})
	return order
}

// identity returns the matrix [n, n] with ones on its diagonal.
func identity(n int) []float64 {
	a := make([]float64, n*n)
	for i := range n {
		a[i*n+i] = 1
	}
	return a
}
