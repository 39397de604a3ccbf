package lapack

import (
	"math"
	"slices"
)

// A bidiagonalParts is an upper bidiagonal matrix [n, n] that is divided: d [n] is on its
// diagonal and f [n-1] above it. The rows of ut and vt [n, n], zeros at first, become its
// left and right singular vectors.
type bidiagonalParts struct {
	n            int
	d, f, ut, vt []float64
}

// newBidiagonalParts returns the matrix with d [n] on its diagonal and f [n-1] above it,
// which it changes.
func newBidiagonalParts(d, f []float64) *bidiagonalParts {
	n := len(d)
	return &bidiagonalParts{n, d, f, make([]float64, n*n), make([]float64, n*n)}
}

// decompose makes of d the singular values, in ascending order, and of the rows of ut and
// vt the singular vectors. It spoils f. Elements of f that do not count cut the matrix, and
// what is left is divided and conquered: Gu and Eisenstat, "A divide-and-conquer algorithm
// for the bidiagonal SVD", SIAM J. Matrix Anal. Appl. 16(1), 1995.
func (b *bidiagonalParts) decompose() bool {
	unit := powerNear(max(largestOf(b.d), largestOf(b.f)))
	scale(b.d, unit)
	scale(b.f, unit)
	for lo := 0; lo < b.n; {
		hi := lo + 1
		for hi < b.n && !negligible(b.f[hi-1], b.d[hi-1], b.d[hi]) {
			hi++
		}
		if !b.divide(lo, hi, 0) {
			return false
		}
		lo = hi
	}
	rest := make([]int, b.n)
	for i := range rest {
		rest[i] = i
	}
	targets := placed(b.d, append([]float64(nil), b.d...))
	for _, list := range [][]float64{b.ut, b.vt} {
		all := vectors{list, b.n, 0, b.n, b.n}
		all.replace(nil, nil, nil, rest, targets)
	}
	scale(b.d, 1/unit)
	return true
}

// store stores the singular values in descending order in s [n], and the singular vectors
// as the columns of u and v [n, n].
func (b *bidiagonalParts) store(u, s, v []float64) {
	copy(s, b.d)
	slices.Reverse(s)
	transpose(u, b.ut, b.n, b.n)
	transpose(v, b.vt, b.n, b.n)
	for i := range b.n {
		slices.Reverse(u[i*b.n:][:b.n])
		slices.Reverse(v[i*b.n:][:b.n])
	}
}

// divide is decompose of rows [lo, hi), which have as many columns from lo on, and extra
// ones: 0 or 1, whose row of vt then becomes the vector that the rows turn into 0.
func (b *bidiagonalParts) divide(lo, hi, extra int) bool {
	if hi-lo <= undivided {
		return b.rotate(lo, hi, extra)
	}
	mid := lo + (hi-lo)/2
	if !b.divide(lo, mid, 1) || !b.divide(mid+1, hi, extra) {
		return false
	}
	b.merge(lo, mid, hi, extra)
	return true
}

// rotate is divide of few rows. An extra column gets a row of zeros, which stays one.
func (b *bidiagonalParts) rotate(lo, hi, extra int) bool {
	n, size := hi-lo, hi-lo+extra
	part := &bidiagonalMatrix{size, make([]float64, size), make([]float64, max(size-1, 0)), identity(size), identity(size)}
	copy(part.d, b.d[lo:hi])
	copy(part.f, b.f[lo:])
	if !part.values() {
		return false
	}
	values := make([]float64, n)
	for i := range values {
		values[i] = math.Abs(part.d[i])
	}
	for i, from := range ordered(values, false) {
		b.d[lo+i] = values[from]
		copy(b.ut[(lo+i)*b.n+lo:][:n], part.ut[from*size:])
		row := b.vt[(lo+i)*b.n+lo:][:size]
		for j, v := range part.vt[from*size:][:size] {
			row[j] = math.Copysign(1, part.d[from]) * v
		}
	}
	if extra > 0 {
		copy(b.vt[hi*b.n+lo:][:size], part.vt[n*size:])
	}
	return true
}

// merge puts the decomposed rows [lo, mid) and [mid+1, hi) together with row mid: of their
// vectors the matrix is diag(d) but for row mid, which is z, and whose d is 0.
func (b *bidiagonalParts) merge(lo, mid, hi, extra int) {
	n, h, d := hi-lo, mid-lo, b.d[lo:hi]
	u := vectors{b.ut, b.n, lo, mid + 1, hi}
	v := vectors{b.vt, b.n, lo, mid + 1, hi + extra}
	alpha, beta := d[h], b.f[mid]
	u.row(h)[h], d[h] = 1, 0
	unit := powerNear(max(math.Abs(alpha), math.Abs(beta), largestOf(d)))
	alpha, beta = alpha*unit, beta*unit
	m := merger{d, make([]float64, n), make([]kind, n), func(g rotation, i, k int) {
		u.turn(g, i, k)
		v.turn(g, i, k)
	}}
	scale(d, unit)
	for i := range n {
		m.z[i] = alpha * v.row(i)[h]
		if i > h {
			m.z[i], m.kinds[i] = beta*v.row(i)[h+1], second
		}
	}
	middle := first
	if extra > 0 { // the vectors of both halves that their rows turn into 0
		g, r := rotationTo(m.z[h], beta*v.row(n)[h+1])
		v.turn(g, h, n)
		m.z[h], middle = r, both
	}
	near := 4 * precision * max(math.Abs(alpha), math.Abs(beta), largestOf(d))
	order := ordered(d, false)
	for i, at := range order {
		if at == h {
			order = append(order[:i], order[i+1:]...)
			break
		}
	}
	kept, rest := m.deflate(order, near, near)
	kept = append([]int{h}, kept...)
	if math.Abs(m.z[h]) <= near {
		m.z[h] = near
	}
	values, left, right := m.singular(kept, near)
	targets := placed(d, append(values, pick(d, rest)...))
	scale(d, 1/unit)
	u.replace(left, kept, m.kinds, rest, targets)
	m.kinds[h] = middle
	v.replace(right, kept, m.kinds, rest, targets)
}

// singular returns the singular values, in ascending order, of the matrix with the d of the
// indices kept on its diagonal and their z in its first row, whose d is 0, and the left
// and right vectors as rows. Others below near/2 count as that.
func (m *merger) singular(kept []int, near float64) (values, left, right []float64) {
	k, d := len(kept), pick(m.d, kept)
	if k > 1 {
		d[1] = max(d[1], near/2)
	}
	values, left, right = make([]float64, k), make([]float64, k*k), make([]float64, k*k)
	equation := newSecularEquation(d, pick(m.z, kept), 1, true)
	origins, above := equation.solve(right)
	for i := range k {
		from := d[origins[i]]
		values[i] = from + above[i]/(from+math.Sqrt(float64(from*from)+above[i]))
		l, r := left[i*k:][:k], right[i*k:][:k]
		for j, z := range equation.z {
			r[j] = z / r[j]
			l[j] = d[j] * r[j]
		}
		l[0] = -1
		normalize(l)
		normalize(r)
	}
	return values, left, right
}

// largestOf returns the largest absolute value of x.
func largestOf(x []float64) float64 {
	size := 0.0
	for _, v := range x {
		size = max(size, math.Abs(v))
	}
	return size
}

// powerNear returns the power of two that makes of size a number from 0.5 to 1; 1 of 0.
func powerNear(size float64) float64 {
	if size == 0 {
		return 1
	}
	_, exponent := math.Frexp(size)
	return math.Ldexp(1, min(-exponent, 1000))
}
