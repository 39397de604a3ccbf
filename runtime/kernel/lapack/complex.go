package lapack

import (
	"math"
	"math/cmplx"

	"tpsh/internal/libm"
)

// A complexMatrix is a matrix [rows, cols] in row-major order.
type complexMatrix struct {
	rows, cols int
	data       []complex128
}

// joined returns the matrix [m, n] of which re and im are the parts.
func joined(re, im []float64, m, n int) *complexMatrix {
	a := &complexMatrix{m, n, make([]complex128, m*n)}
	for i := range a.data {
		a.data[i] = complex(re[i], im[i])
	}
	return a
}

// store stores the parts of a in re and im.
func (a *complexMatrix) store(re, im []float64) {
	for i, v := range a.data {
		re[i], im[i] = real(v), imag(v)
	}
}

func (a *complexMatrix) row(i int) []complex128 { return a.data[i*a.cols : (i+1)*a.cols] }

// adjoint returns the conjugate transpose of a.
func (a *complexMatrix) adjoint() *complexMatrix {
	t := &complexMatrix{a.cols, a.rows, make([]complex128, len(a.data))}
	for i := range a.rows {
		for j, v := range a.row(i) {
			t.data[j*t.cols+i] = cmplx.Conj(v)
		}
	}
	return t
}

// A householder is the reflector 1 - tau v vᴴ of the rows or columns from first on.
type householder struct {
	first int
	v     []complex128 // v[0] is 1
	tau   complex128
}

// reflect returns the reflector h, of rows or columns from first on, for which hᴴ x is
// beta in its first element and 0 in the others; beta is real, as LAPACK's larfg makes it.
func reflect(x []complex128, first int) (h householder, beta float64) {
	h = householder{first, make([]complex128, len(x)), 0}
	copy(h.v, x)
	h.v[0] = 1
	rest := 0.0
	for _, v := range x[1:] {
		rest = libm.Hypot(rest, libm.AbsComplex(v))
	}
	alpha := x[0]
	if rest == 0 && imag(alpha) == 0 {
		return h, real(alpha)
	}
	beta = -math.Copysign(libm.Hypot(libm.AbsComplex(alpha), rest), real(alpha))
	h.tau = complex((beta-real(alpha))/beta, -imag(alpha)/beta)
	for i := range h.v[1:] {
		h.v[i+1] = libm.Div(h.v[i+1], alpha-complex(beta, 0))
	}
	return h, beta
}

// left multiplies a by h from the left, or by hᴴ if adjoint is set; columns before from
// stay as they are.
func (h *householder) left(a *complexMatrix, from int, adjoint bool) {
	tau := h.tau
	if adjoint {
		tau = cmplx.Conj(tau)
	}
	if tau == 0 {
		return
	}
	sums := make([]complex128, a.cols)
	for i, v := range h.v {
		c := cmplx.Conj(v)
		for j, x := range a.row(h.first + i)[from:] {
			sums[from+j] += libm.Mul(c, x)
		}
	}
	for i, v := range h.v {
		row, f := a.row(h.first+i), libm.Mul(tau, v)
		for j := from; j < a.cols; j++ {
			row[j] -= libm.Mul(f, sums[j])
		}
	}
}

// right multiplies a by h from the right; rows before from stay as they are.
func (h *householder) right(a *complexMatrix, from int) {
	for i := from; i < a.rows && h.tau != 0; i++ {
		row := a.row(i)[h.first:]
		var s complex128
		for j, v := range h.v {
			s += libm.Mul(row[j], v)
		}
		for j, v := range h.v {
			row[j] -= libm.Mul(libm.Mul(s, h.tau), cmplx.Conj(v))
		}
	}
}

// column returns a copy of column j of a from row i on.
func (a *complexMatrix) column(i, j int) []complex128 {
	x := make([]complex128, 0, a.rows-i)
	for ; i < a.rows; i++ {
		x = append(x, a.data[i*a.cols+j])
	}
	return x
}

// product returns the product of reflectors, in order, and the first rows of the real
// matrix x [n, n], below which there are zeros to rows in all.
func product(list []householder, x []float64, rows, n int) *complexMatrix {
	y := &complexMatrix{rows, n, make([]complex128, rows*n)}
	for i, v := range x {
		y.data[i] = complex(v, 0)
	}
	for i := len(list) - 1; i >= 0; i-- {
		list[i].left(y, 0, false)
	}
	return y
}

// ComplexSVD is SVD of a complex matrix of parts ar and ai [m, n]; ur and ui are the parts
// of u, vtr and vti those of vᴴ. Reflections from both sides make of it a real bidiagonal
// matrix: Golub and Kahan, SIAM J. Numer. Anal. 2, 1965.
func ComplexSVD(ur, ui, s, vtr, vti, ar, ai []float64, m, n int) bool {
	k := min(m, n)
	if k == 0 {
		return true
	}
	if !finite(ar) || !finite(ai) {
		return false
	}
	a := joined(ar, ai, m, n)
	if m < n {
		a = a.adjoint()
	}
	lefts, rights, d, f := bidiagonal(a)
	b, bu, bv := newBidiagonalParts(d, f), make([]float64, k*k), make([]float64, k*k)
	if !b.decompose() {
		return false
	}
	b.store(bu, s, bv)
	u, v := product(lefts, bu, a.rows, k), product(rights, bv, k, k)
	if m < n {
		u, v = v, u
	}
	u.store(ur, ui)
	v.adjoint().store(vtr, vti)
	return true
}

// bidiagonal returns reflectors for which the product of the adjoints of the lefts, a and
// the rights is real and upper bidiagonal, d on its diagonal and f above it, above rows of
// zeros. It spoils a, which is tall.
func bidiagonal(a *complexMatrix) (lefts, rights []householder, d, f []float64) {
	n := a.cols
	d, f = make([]float64, n), make([]float64, n-1)
	for k := range n {
		h, beta := reflect(a.column(k, k), k)
		h.left(a, k+1, true)
		lefts, d[k] = append(lefts, h), beta
		if k+1 == n {
			break
		}
		row := a.row(k)[k+1:]
		for j := range row {
			row[j] = cmplx.Conj(row[j])
		}
		g, beta := reflect(row, k+1)
		g.right(a, k+1)
		rights, f[k] = append(rights, g), beta
	}
	return lefts, rights, d, f
}

// ComplexEigh is Eigh of a Hermitian matrix of parts ar and ai [n, n]; vr and vi are the
// parts of v. Reflections make of it a real tridiagonal matrix.
func ComplexEigh(w, vr, vi, ar, ai []float64, n int) bool {
	if n == 0 {
		return true
	}
	if !finite(ar) || !finite(ai) {
		return false
	}
	a := joined(ar, ai, n, n)
	for i := range n {
		a.data[i*n+i] = complex(ar[i*n+i], 0)
		for j := range i {
			a.data[j*n+i] = cmplx.Conj(a.data[i*n+j])
		}
	}
	var list []householder
	d, e := make([]float64, n), make([]float64, n-1)
	for k := range n {
		d[k] = real(a.data[k*n+k])
		if k+1 == n {
			break
		}
		h, beta := reflect(a.column(k+1, k), k+1)
		h.left(a, k+1, true)
		h.right(a, k+1)
		list, e[k] = append(list, h), beta
	}
	t := &tridiagonalMatrix{d, e, make([]float64, n*n)}
	if !t.decompose() {
		return false
	}
	copy(w, d)
	product(list, transposed(t.vt, n, n), n, n).store(vr, vi)
	return true
}

// ComplexLogDet returns the determinant of a complex matrix of parts ar and ai [n, n] as a
// number of absolute value 1, or 0 if it is singular, and the logarithm of its absolute
// value. Rows are exchanged as in LU.
func ComplexLogDet(ar, ai []float64, n int) (sign complex128, log float64) {
	a := joined(ar, ai, n, n)
	sign = 1
	for k := range n {
		at := k
		for i := k + 1; i < n; i++ {
			if libm.AbsComplex(a.row(i)[k]) > libm.AbsComplex(a.row(at)[k]) {
				at = i
			}
		}
		pivot := a.row(at)[k]
		size := libm.AbsComplex(pivot)
		if size == 0 {
			return 0, math.Inf(-1)
		}
		if at != k {
			sign = -sign
			for j, v := range a.row(k) {
				a.row(k)[j], a.row(at)[j] = a.row(at)[j], v
			}
		}
		sign, log = libm.Div(libm.Mul(sign, pivot), complex(size, 0)), log+libm.Log(size)
		for i := k + 1; i < n; i++ {
			row, f := a.row(i), libm.Div(a.row(i)[k], pivot)
			for j := k + 1; j < n; j++ {
				row[j] -= libm.Mul(f, a.row(k)[j])
			}
		}
	}
	return sign, log
}

// ComplexLU is LU of a complex matrix of parts ar and ai [m, n]; its factors have the parts
// lur and lui. Pivots are the greatest by the sum of the absolute values of their parts, as
// those of LAPACK's zgetrf.
func ComplexLU(lur, lui, piv, p, ar, ai []float64, m, n int) bool {
	a := joined(ar, ai, m, n)
	for k := range min(m, n) {
		at := k
		for i := k + 1; i < m; i++ {
			if size1(a.row(i)[k]) > size1(a.row(at)[k]) {
				at = i
			}
		}
		piv[k] = float64(at + 1)
		if at != k {
			for j, v := range a.row(k) {
				a.row(k)[j], a.row(at)[j] = a.row(at)[j], v
			}
		}
		pivot := a.row(k)[k]
		if pivot == 0 {
			continue // the column is 0 from here on
		}
		for i := k + 1; i < m; i++ {
			row := a.row(i)
			row[k] = libm.Div(row[k], pivot)
			for j := k + 1; j < n; j++ {
				row[j] -= libm.Mul(row[k], a.row(k)[j])
			}
		}
	}
	a.store(lur, lui)
	return Permutation(p, piv, m)
}

// ComplexInfo is LUInfo, or with cholesky CholeskyInfo, of a complex matrix of parts ar and ai [n, n].
func ComplexInfo(ar, ai []float64, n int, cholesky bool) int {
	if !cholesky {
		lur, lui, piv, p := make([]float64, n*n), make([]float64, n*n), make([]float64, n), make([]float64, n*n)
		ComplexLU(lur, lui, piv, p, ar, ai, n, n)
		for i := range n {
			if lur[i*n+i] == 0 && lui[i*n+i] == 0 {
				return i + 1
			}
		}
		return 0
	}
	l := joined(ar, ai, n, n)
	for k := range n {
		row := l.row(k)
		for j := range k {
			for i := range j {
				row[j] -= libm.Mul(row[i], cmplx.Conj(l.row(j)[i]))
			}
			row[j] = libm.Div(row[j], l.row(j)[j])
		}
		size := real(row[k])
		for _, v := range row[:k] {
			size -= float64(real(v)*real(v)) + float64(imag(v)*imag(v))
		}
		if !(size > 0) || math.IsInf(size, 1) {
			return k + 1
		}
		row[k] = complex(math.Sqrt(size), 0)
	}
	return 0
}

// ComplexReflectors is Reflectors of a complex matrix of parts ar and ai [m, n]: dr and di are
// those of r and of the vectors below it, taur and taui those of the factors.
func ComplexReflectors(dr, di, taur, taui, ar, ai []float64, m, n int) bool {
	a := joined(ar, ai, m, n)
	for k := range min(m, n) {
		h, beta := reflect(a.column(k, k), k)
		h.left(a, k+1, true)
		taur[k], taui[k] = real(h.tau), imag(h.tau)
		a.row(k)[k] = complex(beta, 0)
		for i, v := range h.v[1:] {
			a.row(k + 1 + i)[k] = v
		}
	}
	a.store(dr, di)
	return true
}
