// Package lapack computes decompositions of matrices: inverses, determinants,
// Cholesky's, QR, singular values and eigenvalues, on products of package gemm. For singular values and
// those of symmetric matrices, reflectors make bidiagonal and tridiagonal matrices, which are divided
// and conquered, small ones by rotations of rows. All of this has the same bits on every processor. Eigenvalues
// of matrices that have no symmetry are found by gonum's LAPACK, whose last bits may differ.
//
// A matrix [m, n] is a slice of m*n float64 in row-major order. Results go into the
// first arguments, which the caller has made as large as they are to be and which
// alias nothing. Functions panic if the lengths do not fit, which is a defect of
// the caller, and return false where a matrix has no such decomposition: it is
// singular, or not positive definite, or holds what is not finite.
//
// Singular values come in descending order, eigenvalues in ascending order. The signs
// of vectors, and of the rows of R of QR, are as LAPACK gives them.
//
// For example, the inverse of a matrix [2, 2]:
//
//	inv := make([]float64, 4)
//	ok := lapack.Inverse(inv, []float64{2, 0, 0, 4}, 2)
package lapack

import (
	"math"

	"gonum.org/v1/gonum/blas"

	"tpsh/internal/libm"
)

// finite reports whether all elements are.
func finite(a []float64) bool {
	for _, v := range a {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// Inverse stores the inverse of a [n, n] in dst.
func Inverse(dst, a []float64, n int) bool {
	lu, pivots, ok := factors(a, n)
	if !ok {
		return false
	}
	copy(dst, identity(n))
	solveFactored(dst, lu, pivots, n, n)
	return true
}

// factors returns the factors of LU of a [n, n]; false if it has no inverse.
func factors(a []float64, n int) (lu []float64, pivots []int, ok bool) {
	lu, pivots = append([]float64(nil), a...), make([]int, n)
	if !finite(a) {
		return lu, pivots, false
	}
	return lu, pivots, factorLU(lu, n, n, n, pivots)
}

// solveFactored makes of b [n, k] the x with a x = b, for an a of which factorLU has made lu and pivots.
func solveFactored(b, lu []float64, pivots []int, n, k int) {
	for i, at := range pivots {
		swap(b[i*k:][:k], b[at*k:])
	}
	solveTriangle(b, k, lu, n, n, k, false, true)
	solveTriangle(b, k, lu, n, n, k, true, false)
}

// Solve stores the solution x of a x = b in dst, for a [n, n] and b [n, k].
func Solve(dst, a, b []float64, n, k int) bool {
	if n == 0 || k == 0 {
		return true
	}
	lu, pivots, ok := factors(a, n)
	if !ok {
		return false
	}
	copy(dst, b)
	solveFactored(dst, lu, pivots, n, k)
	return true
}

// LogDet returns the sign of the determinant of a [n, n], which is 0 of a singular
// matrix, and the logarithm of its absolute value.
func LogDet(a []float64, n int) (sign, log float64) {
	sign = 1
	if n == 0 {
		return sign, 0
	}
	buffer, pivots := borrow(n*n), make([]int, n)
	defer scratch.Put(buffer)
	lu := *buffer
	copy(lu, a)
	factorLU(lu, n, n, n, pivots)
	for i, at := range pivots {
		v := lu[i*n+i]
		if v == 0 {
			return 0, math.Inf(-1)
		}
		if (v < 0) != (at != i) {
			sign = -sign
		}
		log += libm.Log(math.Abs(v))
	}
	return sign, log
}

// withWork calls f, a function of LAPACK, to ask how much work space it wants, and then
// with that.
func withWork(f func(work []float64, size int)) {
	work := make([]float64, 1)
	f(work, -1)
	work = make([]float64, max(int(work[0]), 1))
	f(work, len(work))
}

// SVD stores u [m, k], the singular values s [k] in descending order and vᵀ [k, n]
// with u diag(s) vᵀ = a [m, n], where k is the lesser of m and n.
func SVD(u, s, vt, a []float64, m, n int) bool {
	k := min(m, n)
	if k == 0 {
		return true
	}
	if !finite(a) {
		return false
	}
	switch {
	case m > n: // q r, of which r is divided: as ranks do that have some of the rows each
		q, r, ur := make([]float64, m*n), make([]float64, n*n), make([]float64, n*n)
		QR(q, r, a, m, n)
		ok := squareSVD(ur, s, vt, r, n)
		products{}.Dgemm(blas.NoTrans, blas.NoTrans, m, n, n, 1, q, n, ur, n, 0, u, n)
		return ok
	case m < n:
		q, r, vr := make([]float64, n*m), make([]float64, m*m), make([]float64, m*m)
		QR(q, r, transposed(a, m, n), n, m)
		ok := squareSVD(u, s, vr, transposed(r, m, m), m)
		products{}.Dgemm(blas.NoTrans, blas.Trans, m, n, m, 1, vr, m, q, m, 0, vt, n)
		return ok
	}
	return squareSVD(u, s, vt, a, n)
}

// transposed returns the transpose of a [m, n].
func transposed(a []float64, m, n int) []float64 {
	t := make([]float64, m*n)
	transpose(t, a, m, n)
	return t
}

// transpose stores the transpose of a [m, n] in dst.
func transpose(dst, a []float64, m, n int) { transposeApart(dst, m, a, n, m, n) }

// transposeApart stores the transpose of a [m, n], whose rows are lda apart, in dst, whose rows are
// ldd apart, square after square: each lies in as many lines of the cache as a set of it holds, if
// rows are so long that they fall into one set.
func transposeApart(dst []float64, ldd int, a []float64, lda, m, n int) {
	for top := 0; top < m; top += squareSide {
		for left := 0; left < n; left += squareSide {
			rows, cols := min(squareSide, m-top), min(squareSide, n-left)
			if rows == squareSide && cols == squareSide {
				transposeSquare(dst[left*ldd+top:], ldd, a[top*lda+left:], lda)
				continue
			}
			for j := range cols {
				to := dst[(left+j)*ldd+top:][:rows]
				for i := range to {
					to[i] = a[(top+i)*lda+left+j]
				}
			}
		}
	}
}

// squareSide is how many elements a line of a cache has.
const squareSide = 8

// transposeSquare is transposeApart of a square of squareSide.
func transposeSquare(dst []float64, ldd int, a []float64, lda int) {
	row := func(i int) *[squareSide]float64 { return (*[squareSide]float64)(a[i*lda:]) }
	a0, a1, a2, a3, a4, a5, a6, a7 := row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)
	for j := range squareSide {
		to := (*[squareSide]float64)(dst[j*ldd:])
		to[0], to[1], to[2], to[3] = a0[j], a1[j], a2[j], a3[j]
		to[4], to[5], to[6], to[7] = a4[j], a5[j], a6[j], a7[j]
	}
}

// squareSVD is SVD of a [n, n].
func squareSVD(u, s, vt, a []float64, n int) bool {
	x, by := scaled(a)
	defer func() { scale(s, 1/by) }()
	d, f, left, right := toBidiagonal(x, n, false)
	b, v := newBidiagonalParts(d, f), make([]float64, n*n)
	if !b.decompose() {
		return false
	}
	b.store(u, s, v)
	left.apply(u, n)
	right.apply(v, n)
	copy(vt, transposed(v, n, n))
	return true
}

// Eigh stores the eigenvalues w [n], in ascending order, and the eigenvectors of the
// symmetric a [n, n] as the columns of v [n, n]. Of a it reads the lower triangle.
func Eigh(w, v, a []float64, n int) bool {
	if n == 0 {
		return true
	}
	if !finite(a) {
		return false
	}
	full, by := scaled(a)
	defer func() { scale(w, 1/by) }()
	d, e, q := toTridiagonal(full, n, false)
	t := &tridiagonalMatrix{d, e, make([]float64, n*n)}
	if !t.decompose() {
		return false
	}
	copy(w, d)
	copy(v, transposed(t.vt, n, n))
	q.apply(v, n)
	return true
}

// scaled returns a times by, a power of two, of which squares and their sums neither
// overflow nor vanish.
func scaled(a []float64) (x []float64, by float64) {
	x, by = append([]float64(nil), a...), safeScale(a)
	if by != 1 {
		scale(x, by)
	}
	return x, by
}

// safeScale returns a power of two, times which a has squares that, and whose sums, neither
// overflow nor vanish: 1 if it has them as it is.
func safeScale(a []float64) float64 {
	size := largestOf(a)
	if size == 0 || size > 0x1p-200 && size < 0x1p200 {
		return 1
	}
	return powerNear(size)
}
