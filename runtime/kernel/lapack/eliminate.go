package lapack

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack/gonum"
)

// fewColumns are eliminated one by one. Those of a larger matrix are brought side by side
// first: rows that lie pages apart drive each other out of the caches.
const fewColumns = 32

// factorLU makes of a [m, n], whose rows are lda apart, its factors as LAPACK's getrf does: u
// in the upper triangle, and below it l, without the ones on its diagonal; pivots are the rows
// that were exchanged for row 0, 1, .... It reports whether no element of u's diagonal is 0.
// Columns are halved until they are few, so that nearly all is products: Toledo, "Locality of
// reference in LU decomposition with partial pivoting", SIAM J. Matrix Anal. Appl. 18(4), 1997.
func factorLU(a []float64, m, n, lda int, pivots []int) bool {
	k := min(m, n)
	switch {
	case k == 0:
		return true
	case n <= fewColumns && lda > 2*n:
		return factorCopy(a, m, n, lda, pivots)
	case k <= 2*fewColumns && (k <= fewColumns || lda == n):
		return gonum.Implementation{}.Dgetf2(m, n, a, lda, pivots)
	}
	h := k / 2
	first := factorLU(a, m, h, lda, pivots[:h])
	for i, at := range pivots[:h] {
		swap(a[i*lda+h:][:n-h], a[at*lda+h:])
	}
	products{}.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, h, n-h, 1, a, lda, a[h:], lda)
	products{}.Dgemm(blas.NoTrans, blas.NoTrans, m-h, n-h, h, -1, a[h*lda:], lda, a[h:], lda, 1, a[h*lda+h:], lda)
	second := factorLU(a[h*lda+h:], m-h, n-h, lda, pivots[h:k])
	for i := h; i < k; i++ {
		pivots[i] += h
		swap(a[i*lda:][:h], a[pivots[i]*lda:])
	}
	return first && second
}

// factorCopy is factorLU of a copy whose rows follow one another, which it puts back.
func factorCopy(a []float64, m, n, lda int, pivots []int) bool {
	near := make([]float64, m*n)
	for i := range m {
		copy(near[i*n:][:n], a[i*lda:])
	}
	ok := factorLU(near, m, n, n, pivots)
	for i := range m {
		copy(a[i*lda:], near[i*n:][:n])
	}
	return ok
}

// swap exchanges the elements of x and the first ones of y.
func swap(x, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		x[i], y[i] = y[i], v
	}
}
