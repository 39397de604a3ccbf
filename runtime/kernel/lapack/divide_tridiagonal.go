package lapack

import "math"

// A tridiagonalMatrix is symmetric [n, n] with d [n] on its diagonal and e [n-1] beside it.
// The rows of vt [n, n] become its eigenvectors.
type tridiagonalMatrix struct {
	d, e, vt []float64
}

// decompose makes of d the eigenvalues, in ascending order, and of the rows of vt, which are
// zeros, the eigenvectors. It spoils e. Elements of e that do not count cut the matrix, and
// what is left is divided and conquered: Cuppen, "A divide and conquer method for the
// symmetric tridiagonal eigenproblem", Numer. Math. 36, 1981.
func (t *tridiagonalMatrix) decompose() bool {
	n, unit := len(t.d), powerNear(max(largestOf(t.d), largestOf(t.e)))
	scale(t.d, unit)
	scale(t.e, unit)
	for lo := 0; lo < n; {
		hi := lo + 1
		for hi < n && math.Abs(t.e[hi-1]) > max(vanishing, precision/2*math.Sqrt(math.Abs(t.d[hi-1]))*math.Sqrt(math.Abs(t.d[hi]))) {
			hi++
		}
		if !t.divide(lo, hi) {
			return false
		}
		lo = hi
	}
	all := vectors{t.vt, n, 0, n, n}
	rest := make([]int, n)
	for i := range rest {
		rest[i] = i
	}
	all.replace(nil, nil, nil, rest, placed(t.d, append([]float64(nil), t.d...)))
	scale(t.d, 1/unit)
	return true
}

// divide is decompose of rows and columns [lo, hi).
func (t *tridiagonalMatrix) divide(lo, hi int) bool {
	n := hi - lo
	if n > undivided {
		mid := lo + n/2
		beside := t.e[mid-1]
		t.d[mid-1] -= math.Abs(beside)
		t.d[mid] -= math.Abs(beside)
		if !t.divide(lo, mid) || !t.divide(mid, hi) {
			return false
		}
		t.merge(lo, mid, hi, beside)
		return true
	}
	d, z := append([]float64(nil), t.d[lo:hi]...), identity(n)
	if !tridiagonal(d, t.e[lo:max(hi-1, lo)], z) {
		return false
	}
	for i, from := range ordered(d, false) {
		t.d[lo+i] = d[from]
		copy(t.vt[(lo+i)*len(t.d)+lo:][:n], z[from*n:])
	}
	return true
}

// merge puts the decomposed parts [lo, mid) and [mid, hi) together, between which beside
// was: the matrix is diag(d) + rho z zᵀ of their vectors.
func (t *tridiagonalMatrix) merge(lo, mid, hi int, beside float64) {
	v := vectors{t.vt, len(t.d), lo, mid, hi}
	n, h, d := hi-lo, mid-lo, t.d[lo:hi]
	m := merger{d, make([]float64, n), make([]kind, n), v.turn}
	size, most := 0.0, 0.0
	for i := range n {
		if i < h {
			m.z[i] = v.row(i)[h-1] * math.Sqrt2 / 2
		} else {
			m.z[i], m.kinds[i] = math.Copysign(math.Sqrt2/2, beside)*v.row(i)[h], second
		}
		size, most = max(size, math.Abs(d[i])), max(most, math.Abs(m.z[i]))
	}
	rho := 2 * math.Abs(beside)
	near := 4 * precision * max(size, rho*most)
	kept, rest := m.deflate(ordered(d, false), near/rho, near)
	k := len(kept)
	values, s := pick(d, kept), make([]float64, k*k)
	equation := newSecularEquation(pick(d, kept), pick(m.z, kept), rho, false)
	origins, above := equation.solve(s)
	for i := range k {
		values[i] = equation.d[origins[i]] + above[i]
		row := s[i*k:][:k]
		for j, z := range equation.z {
			row[j] = z / row[j]
		}
		normalize(row)
	}
	values = append(values, pick(d, rest)...)
	v.replace(s, kept, m.kinds, rest, placed(d, values))
}
