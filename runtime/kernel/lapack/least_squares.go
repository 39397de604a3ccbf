package lapack

import "math"

// LeastSquares stores the y [n, k] of least length for which a y is nearest to b, for a [m, n] and
// b [m, k], and returns the rank of a: how many of its singular values are above rcond times the
// greatest. The others count as 0. Singular values are looked for only where the triangle of QR
// does not say that all of them are above that.
func LeastSquares(y, a, b []float64, m, n, k int, rcond float64) (rank int, ok bool) {
	if min(m, n) == 0 {
		clear(y)
		return 0, true
	}
	if !finite(a) {
		return 0, false
	}
	if safeScale(a) == 1 && nearestByQR(y, a, b, m, n, k, rcond) {
		return min(m, n), true
	}
	return nearestBySVD(y, a, b, m, n, k, rcond)
}

// nearestByQR is LeastSquares of a scaled matrix, or false unless its rank is sure to be full.
func nearestByQR(y, a, b []float64, m, n, k int, rcond float64) bool {
	if m < n { // a is l qᵀ, and y is q of the z with l z = b
		buffer := borrow(n * m)
		defer scratch.Put(buffer)
		l := *buffer
		copy(l, a)
		h := newReflectors(n, m, 0, false)
		h.reduce(l, m)
		if !fullRank(l, m, n, n, rcond) {
			return false
		}
		copy(y, b)
		clear(y[m*k:])
		solveTriangle(y, k, l, n, m, k, false, false)
		h.apply(y, k)
		return true
	}
	buffer := borrow((n + k) * m) // of the transposes of a and b, side by side
	defer scratch.Put(buffer)
	both := *buffer
	transpose(both, a, m, n)
	transpose(both[n*m:], b, m, k)
	newReflectors(m, n, 0, false).reduce(both, n+k)
	if !fullRank(both, n, m, m, rcond) {
		return false
	}
	r := make([]float64, n*n)
	transposeApart(r, n, both, m, n, n)
	transposeApart(y, k, both[n*m:], m, k, n)
	solveTriangle(y, k, r, n, n, k, true, false)
	return true
}

// fullRank reports whether all singular values of the lower triangular l [n, n], whose rows are ldl
// apart, are well above rcond times the greatest, and above what rounding makes of size rows: of
// Frobenius' norms of l and of its inverse the product is less.
func fullRank(l []float64, n, ldl, size int, rcond float64) bool {
	sum := 0.0
	for i := range n {
		row := l[i*ldl:][:i+1]
		if row[i] == 0 {
			return false
		}
		sum += dot(row, row)
	}
	inverse := identity(n)
	solveTriangle(inverse, n, l, ldl, n, n, false, false)
	return math.Sqrt(sum)*length(inverse)*max(rcond, float64(size)*precision) < 0.5
}

// nearestBySVD is LeastSquares by the singular values and vectors.
func nearestBySVD(y, a, b []float64, m, n, k int, rcond float64) (rank int, ok bool) {
	count := min(m, n)
	u, s, vt := make([]float64, m*count), make([]float64, count), make([]float64, count*n)
	if !SVD(u, s, vt, a, m, n) {
		return 0, false
	}
	z := make([]float64, count*k)
	multiply(z, k, transposed(u, m, count), m, b, count, k, m)
	for i, v := range s {
		if v > float64(rcond*s[0]) {
			rank++
			for j := range k {
				z[i*k+j] /= v
			}
		} else {
			clear(z[i*k:][:k])
		}
	}
	multiply(y, k, transposed(vt, count, n), count, z, n, k, count)
	return rank, true
}
