package lapack

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// general returns a matrix of package blas64 that shares the elements of a.
func general(a []float64, m, n int) blas64.General {
	return blas64.General{Rows: m, Cols: n, Stride: max(n, 1), Data: a}
}

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
		d := a[j*n+j] - blas64.Dot(vector(row), vector(row))
		if !(d > 0) {
			return j + 1
		}
		l[j*n+j] = math.Sqrt(d)
		for i := j + 1; i < n; i++ {
			l[i*n+j] = (a[i*n+j] - blas64.Dot(vector(l[i*n:i*n+j]), vector(row))) / l[j*n+j]
		}
	}
	return 0
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

// SolveTriangular stores the solution x of a x = b in dst, for b [n, k] and the upper or
// lower triangle of a [n, n], whose diagonal counts as ones if unit is set. A zero on the
// diagonal gives infinities.
func SolveTriangular(dst, a, b []float64, n, k int, upper, unit bool) bool {
	copy(dst, b)
	if n == 0 || k == 0 {
		return true
	}
	tri := blas64.Triangular{N: n, Stride: n, Data: a, Uplo: blas.Lower, Diag: blas.NonUnit}
	if upper {
		tri.Uplo = blas.Upper
	}
	if unit {
		tri.Diag = blas.Unit
	}
	blas64.Trsm(blas.Left, blas.NoTrans, 1, tri, general(dst, n, k))
	return true
}
