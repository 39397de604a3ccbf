// Package lapack computes decompositions of matrices: inverses, determinants,
// Cholesky's, QR, singular values and eigenvalues. It is gonum's LAPACK behind
// functions on flat slices.
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

	"gonum.org/v1/gonum/mat"
)

// dense returns a matrix that shares the elements of a.
func dense(a []float64, m, n int) *mat.Dense { return mat.NewDense(m, n, a) }

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
	if n == 0 {
		return true
	}
	var lu mat.LU
	lu.Factorize(dense(a, n, n))
	if singular(&lu, n) || !finite(a) {
		return false
	}
	eye := make([]float64, n*n)
	for i := range n {
		eye[i*n+i] = 1
	}
	return usable(lu.SolveTo(dense(dst, n, n), false, dense(eye, n, n)))
}

// usable reports whether err is nil or says only that a matrix is close to singular.
func usable(err error) bool {
	_, near := err.(mat.Condition)
	return err == nil || near
}

// singular reports whether a factor has a zero on its diagonal.
func singular(lu *mat.LU, n int) bool {
	var u mat.TriDense
	lu.UTo(&u)
	for i := range n {
		if u.At(i, i) == 0 {
			return true
		}
	}
	return false
}

// Solve stores the solution x of a x = b in dst, for a [n, n] and b [n, k].
func Solve(dst, a, b []float64, n, k int) bool {
	if n == 0 || k == 0 {
		return true
	}
	var lu mat.LU
	lu.Factorize(dense(a, n, n))
	if singular(&lu, n) || !finite(a) {
		return false
	}
	return usable(lu.SolveTo(dense(dst, n, k), false, dense(b, n, k)))
}

// LogDet returns the sign of the determinant of a [n, n], which is 0 of a singular
// matrix, and the logarithm of its absolute value.
func LogDet(a []float64, n int) (sign, log float64) {
	if n == 0 {
		return 1, 0
	}
	var lu mat.LU
	lu.Factorize(dense(a, n, n))
	log, sign = lu.LogDet()
	if math.IsInf(log, -1) {
		sign = 0
	}
	return sign, log
}

// Cholesky stores the lower triangular l with l lᵀ = a [n, n] in dst. Of a it reads
// the lower triangle.
func Cholesky(dst, a []float64, n int) bool {
	if n == 0 {
		return true
	}
	sym := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			sym.SetSym(i, j, a[i*n+j])
		}
	}
	var c mat.Cholesky
	if !c.Factorize(sym) {
		return false
	}
	var l mat.TriDense
	c.LTo(&l)
	for i := range n {
		for j := range n {
			dst[i*n+j] = l.At(i, j)
		}
	}
	return true
}

// QR stores q [m, k] and the upper triangular r [k, n] with q r = a [m, n], where k
// is the lesser of m and n, and the columns of q are orthonormal.
func QR(q, r, a []float64, m, n int) bool {
	k := min(m, n)
	if k == 0 {
		return true
	}
	tall := dense(a, m, n)
	if m < n { // gonum factors tall matrices: q comes of the first columns
		tall = mat.DenseCopyOf(tall.Slice(0, m, 0, m))
	}
	var f mat.QR
	f.Factorize(tall)
	var full mat.Dense
	f.QTo(&full)
	qs := dense(q, m, k)
	qs.Copy(full.Slice(0, m, 0, k))
	rs := dense(r, k, n)
	rs.Mul(qs.T(), dense(a, m, n))
	for i := range k {
		for j := range min(i, n) {
			rs.Set(i, j, 0)
		}
	}
	return true
}

// SVD stores u [m, k], the singular values s [k] in descending order and vᵀ [k, n]
// with u diag(s) vᵀ = a [m, n], where k is the lesser of m and n.
func SVD(u, s, vt, a []float64, m, n int) bool {
	k := min(m, n)
	if k == 0 {
		return true
	}
	var f mat.SVD
	if !finite(a) || !f.Factorize(dense(a, m, n), mat.SVDThin) {
		return false
	}
	f.Values(s)
	var us, vs mat.Dense
	f.UTo(&us)
	f.VTo(&vs)
	dense(u, m, k).Copy(&us)
	dense(vt, k, n).Copy(vs.T())
	return true
}

// Eigh stores the eigenvalues w [n], in ascending order, and the eigenvectors of the
// symmetric a [n, n] as the columns of v [n, n]. Of a it reads the lower triangle.
func Eigh(w, v, a []float64, n int) bool {
	if n == 0 {
		return true
	}
	sym := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			sym.SetSym(i, j, a[i*n+j])
		}
	}
	var f mat.EigenSym
	if !finite(a) || !f.Factorize(sym, true) {
		return false
	}
	f.Values(w)
	var vs mat.Dense
	f.VectorsTo(&vs)
	dense(v, n, n).Copy(&vs)
	return true
}

// Exp stores the exponential of a [n, n] in dst.
func Exp(dst, a []float64, n int) bool {
	if n == 0 {
		return true
	}
	if !finite(a) {
		return false
	}
	var e mat.Dense
	e.Exp(dense(a, n, n))
	dense(dst, n, n).Copy(&e)
	return true
}
