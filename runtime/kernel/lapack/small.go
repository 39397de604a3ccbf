package lapack

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// small is the size of square matrices up to which gonum's reductions, that are made for
// few elements, and rotations of whole rows take less than products do.
const small = 48

// smallSVD is squareSVD of a small matrix, which it spoils.
func smallSVD(u, s, vt, q []float64, n int) bool {
	d, f, tauQ, tauP := smallBidiagonal(q, n)
	b := &bidiagonalMatrix{n, d, f, identity(n), identity(n)}
	p := append([]float64(nil), q...)
	withWork(func(work []float64, size int) {
		gonum.Implementation{}.Dorgbr(lapack.GeneratePT, n, n, n, p, n, tauP, work, size)
	})
	withWork(func(work []float64, size int) {
		gonum.Implementation{}.Dorgbr(lapack.GenerateQ, n, n, n, q, n, tauQ, work, size)
	})
	if !b.values() {
		return false
	}
	values := make([]float64, n)
	for i, v := range b.d {
		values[i] = math.Abs(v)
	}
	lefts, rights := make([]float64, n*n), make([]float64, n*n)
	for i, from := range ordered(values, true) {
		s[i] = values[from]
		copy(lefts[i*n:][:n], b.ut[from*n:])
		for j, v := range b.vt[from*n:][:n] {
			rights[i*n+j] = math.Copysign(1, b.d[from]) * v
		}
	}
	products{}.Dgemm(blas.NoTrans, blas.Trans, n, n, n, 1, q, n, lefts, n, 0, u, n)
	products{}.Dgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, rights, n, p, n, 0, vt, n)
	return true
}

// smallBidiagonal makes of q [n, n] an upper bidiagonal matrix with d on its diagonal and f
// above it, and leaves the reflectors that did in q, tauQ and tauP.
func smallBidiagonal(q []float64, n int) (d, f, tauQ, tauP []float64) {
	d, f, tauQ, tauP = make([]float64, n), make([]float64, n-1), make([]float64, n), make([]float64, n)
	withWork(func(work []float64, size int) {
		gonum.Implementation{}.Dgebrd(n, n, q, n, d, f, tauQ, tauP, work, size)
	})
	return d, f, tauQ, tauP
}

// smallTridiagonal makes of the symmetric q [n, n] a tridiagonal matrix with d on its
// diagonal and e beside it, and leaves the reflectors that did in q and tau.
func smallTridiagonal(q []float64, n int) (d, e, tau []float64) {
	d, e, tau = make([]float64, n), make([]float64, n-1), make([]float64, n-1)
	withWork(func(work []float64, size int) {
		gonum.Implementation{}.Dsytrd(blas.Lower, n, q, n, d, e, tau, work, size)
	})
	return d, e, tau
}

// smallEigh is Eigh of a small matrix that is finite, which it spoils.
func smallEigh(w, v, q []float64, n int) bool {
	d, e, tau := smallTridiagonal(q, n)
	withWork(func(work []float64, size int) {
		gonum.Implementation{}.Dorgtr(blas.Lower, n, q, n, tau, work, size)
	})
	z := identity(n)
	if !tridiagonal(d, e, z) {
		return false
	}
	rows := make([]float64, n*n)
	for i, from := range ordered(d, false) {
		w[i] = d[from]
		copy(rows[i*n:][:n], z[from*n:])
	}
	products{}.Dgemm(blas.NoTrans, blas.Trans, n, n, n, 1, q, n, rows, n, 0, v, n)
	return true
}
