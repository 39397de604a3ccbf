package lapack

import "math"

// LU stores in dst the factors of a [m, n], as LAPACK's getrf does: u in the upper
// triangle, and below it l, without the ones on its diagonal. piv [k], of the lesser of
// m and n, are the rows that were exchanged for row 0, 1, ..., counted from 1; p [m, m] is
// the permutation for which p l u = a.
func LU(dst, piv, p, a []float64, m, n int) bool {
	copy(dst, a)
	pivots := make([]int, min(m, n))
	factorLU(dst, m, n, n, pivots)
	for i, at := range pivots {
		piv[i] = float64(at + 1)
	}
	return Permutation(p, piv, m)
}

// Permutation stores in p [m, m] the permutation that the pivots of LU stand for; false
// if one of them is no row.
func Permutation(p, piv []float64, m int) bool {
	rows := make([]int, m)
	for i := range rows {
		rows[i] = i
	}
	for i, v := range piv {
		at := int(v) - 1
		if i >= m || at < 0 || at >= m || float64(at+1) != v {
			return false
		}
		rows[i], rows[at] = rows[at], rows[i]
	}
	clear(p)
	for i, row := range rows {
		p[row*m+i] = 1
	}
	return true
}

// PivotRows returns which rows of a [m, k], m >= k, elimination with partial pivoting takes
// for pivots, in order.
func PivotRows(a []float64, m, k int) []int {
	pivots, rows := make([]int, k), make([]int, m)
	factorLU(append([]float64(nil), a...), m, k, k, pivots)
	for i := range rows {
		rows[i] = i
	}
	for i, at := range pivots {
		rows[i], rows[at] = rows[at], rows[i]
	}
	return rows[:k]
}

// LUInfo returns which of the diagonal of u is the first that is 0, counted from 1, for
// the factors of a [n, n]; 0 if none is.
func LUInfo(a []float64, n int) int {
	lu, piv, p := make([]float64, n*n), make([]float64, n), make([]float64, n*n)
	LU(lu, piv, p, a, n, n)
	for i := range n {
		if lu[i*n+i] == 0 {
			return i + 1
		}
	}
	return 0
}

// CholeskyInfo returns the order of the first leading minor of the symmetric a [n, n] that
// is not positive definite, 0 if all are. Of a it reads the lower triangle.
func CholeskyInfo(a []float64, n int) int {
	l := make([]float64, n*n)
	for j := range n {
		row := l[j*n : j*n+j]
		d := a[j*n+j] - dot(row, row)
		if !(d > 0) {
			return j + 1
		}
		l[j*n+j] = math.Sqrt(d)
		for i := j + 1; i < n; i++ {
			l[i*n+j] = (a[i*n+j] - dot(l[i*n:i*n+j], row)) / l[j*n+j]
		}
	}
	return 0
}

// dot returns the sum of the products of the elements of x and the first ones of y: of every fourth,
// and of these sums in pairs.
func dot(x, y []float64) float64 {
	var s0, s1, s2, s3 float64
	y = y[:len(x)]
	for len(x) >= 4 {
		s0, s1 = math.FMA(x[0], y[0], s0), math.FMA(x[1], y[1], s1)
		s2, s3 = math.FMA(x[2], y[2], s2), math.FMA(x[3], y[3], s3)
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		s0 = math.FMA(v, y[i], s0)
	}
	return (s0 + s1) + (s2 + s3)
}

// SolveTriangular stores the solution x of a x = b in dst, for b [n, k] and the upper or
// lower triangle of a [n, n], whose diagonal counts as ones if unit is set. A zero on the
// diagonal gives infinities.
func SolveTriangular(dst, a, b []float64, n, k int, upper, unit bool) bool {
	copy(dst, b)
	if n == 0 || k == 0 {
		return true
	}
	solveTriangle(dst, k, a, n, n, k, upper, unit)
	return true
}
