package lapack

import (
	"math"
	"math/cmplx"

	"tpsh/internal/libm"
)

// epsilon is the distance of 1 from the next larger float64.
const epsilon = 0x1p-52

// qrSteps is how many steps of QR an eigenvalue may take: LAPACK allows 30 for each.
const qrSteps = 60

// ComplexEig stores the parts of the eigenvalues of a complex matrix of parts ar and ai [n, n]
// in wr and wi, and those of the eigenvectors, as columns of length 1 whose greatest element is
// real, in vr and vi. It reports whether it could: elements are finite, and QR converges.
func ComplexEig(wr, wi, vr, vi, ar, ai []float64, n int) bool {
	q := complexIdentity(n)
	t, ok := complexSchur(ar, ai, n, q)
	if !ok {
		return false
	}
	for i := range n {
		w := t.row(i)[i]
		wr[i], wi[i] = real(w), imag(w)
	}
	eigenvectors(t, q).store(vr, vi)
	return true
}

// ComplexEigValues is ComplexEig without the vectors.
func ComplexEigValues(wr, wi, ar, ai []float64, n int) bool {
	t, ok := complexSchur(ar, ai, n, nil)
	if !ok {
		return false
	}
	for i := range n {
		w := t.row(i)[i]
		wr[i], wi[i] = real(w), imag(w)
	}
	return true
}

// complexIdentity returns the identity of n rows.
func complexIdentity(n int) *complexMatrix {
	q := &complexMatrix{n, n, make([]complex128, n*n)}
	for i := range n {
		q.row(i)[i] = 1
	}
	return q
}

// complexSchur returns the triangular t with q t qᴴ = a, of parts ar and ai; q, which is the
// identity before, is left out if it is nil. Reflections make of a Hessenberg's form; then
// come steps of QR with Wilkinson's shifts: Golub and Van Loan, "Matrix Computations",
// chapter 7.
func complexSchur(ar, ai []float64, n int, q *complexMatrix) (*complexMatrix, bool) {
	if !finite(ar) || !finite(ai) {
		return nil, false
	}
	a := joined(ar, ai, n, n)
	for k := 0; k+2 < n; k++ {
		h, beta := reflect(a.column(k+1, k), k+1)
		h.left(a, k+1, true)
		h.right(a, 0)
		a.row(k + 1)[k] = complex(beta, 0)
		for i := k + 2; i < n; i++ {
			a.row(i)[k] = 0
		}
		if q != nil {
			h.right(q, 0)
		}
	}
	steps := 0
	for hi := n - 1; hi > 0; {
		lo := hi
		for lo > 0 && !negligibleBelow(a, lo) {
			lo--
		}
		switch {
		case lo == hi:
			hi, steps = hi-1, 0
			continue
		case steps == qrSteps:
			return nil, false
		}
		qrStep(a, q, lo, hi, wilkinson(a, hi, steps))
		steps++
	}
	return a, true
}

// negligibleBelow reports whether the element of a left of the diagonal in row i is too small to
// count, and clears it then.
func negligibleBelow(a *complexMatrix, i int) bool {
	size := size1(a.row(i)[i]) + size1(a.row(i - 1)[i-1])
	if size == 0 {
		size = norm1(a)
	}
	if size1(a.row(i)[i-1]) > epsilon*size {
		return false
	}
	a.row(i)[i-1] = 0
	return true
}

// size1 is the sum of the absolute values of the parts of z, as LAPACK compares numbers.
func size1(z complex128) float64 { return math.Abs(real(z)) + math.Abs(imag(z)) }

// norm1 is the greatest element of a, measured by size1.
func norm1(a *complexMatrix) float64 {
	most := 0.0
	for _, v := range a.data {
		most = max(most, size1(v))
	}
	return most
}

// wilkinson returns the eigenvalue of the block of two rows that ends in row hi which is the
// nearer to its last element; every tenth step an exceptional one.
func wilkinson(a *complexMatrix, hi, steps int) complex128 {
	d := a.row(hi)[hi]
	if steps%10 == 9 {
		return d + complex(float64(0.75*size1(a.row(hi)[hi-1])), 0)
	}
	half := (a.row(hi - 1)[hi-1] - d) / 2
	bc := libm.Mul(a.row(hi - 1)[hi], a.row(hi)[hi-1])
	if bc == 0 {
		return d
	}
	root := libm.SqrtComplex(libm.Mul(half, half) + bc)
	if float64(real(half)*real(root))+float64(imag(half)*imag(root)) < 0 {
		root = -root
	}
	return d - libm.Div(bc, half+root)
}

// qrStep does a step of QR with a shift on rows lo to hi of Hessenberg's form, and keeps the
// rotations in q, if it is not nil.
func qrStep(a, q *complexMatrix, lo, hi int, shift complex128) {
	x, y := a.row(lo)[lo]-shift, a.row(lo + 1)[lo]
	for k := lo; k < hi; k++ {
		if k > lo {
			x, y = a.row(k)[k-1], a.row(k + 1)[k-1]
		}
		c, s, r := complexRotation(x, y)
		if k > lo {
			a.row(k)[k-1], a.row(k + 1)[k-1] = r, 0
		}
		upper, lower := a.row(k), a.row(k+1)
		for j := k; j < a.cols; j++ {
			u, v := upper[j], lower[j]
			upper[j], lower[j] = libm.Mul(c, u)+libm.Mul(s, v), libm.Mul(c, v)-libm.Mul(cmplx.Conj(s), u)
		}
		turnColumns(a, min(k+3, hi+1), k, c, s)
		if q != nil {
			turnColumns(q, q.rows, k, c, s)
		}
	}
}

// complexRotation returns c, which is real, and s, of which the rotation [c s; -conj(s) c] makes
// (r, 0) of (x, y).
func complexRotation(x, y complex128) (c, s, r complex128) {
	size := libm.Hypot(libm.AbsComplex(x), libm.AbsComplex(y))
	switch {
	case y == 0 || size == 0:
		return 1, 0, x
	case x == 0:
		return 0, libm.Div(cmplx.Conj(y), complex(libm.AbsComplex(y), 0)), complex(libm.AbsComplex(y), 0)
	}
	phase := libm.Div(x, complex(libm.AbsComplex(x), 0))
	return complex(libm.AbsComplex(x)/size, 0), libm.Div(libm.Mul(phase, cmplx.Conj(y)), complex(size, 0)), libm.Mul(phase, complex(size, 0))
}

// turnColumns multiplies the first rows of columns k and k+1 of a by the adjoint of a rotation.
func turnColumns(a *complexMatrix, rows, k int, c, s complex128) {
	for i := range rows {
		row := a.row(i)
		u, v := row[k], row[k+1]
		row[k], row[k+1] = libm.Mul(c, u)+libm.Mul(cmplx.Conj(s), v), libm.Mul(c, v)-libm.Mul(s, u)
	}
}

// eigenvectors returns those of q t qᴴ for the triangle t, by substitution from below.
func eigenvectors(t, q *complexMatrix) *complexMatrix {
	n := t.rows
	out := &complexMatrix{n, n, make([]complex128, n*n)}
	least := max(epsilon*norm1(t), math.SmallestNonzeroFloat64/epsilon)
	x := make([]complex128, n)
	for k := range n {
		clear(x)
		x[k] = 1
		for i := k - 1; i >= 0; i-- {
			var sum complex128
			for j := i + 1; j <= k; j++ {
				sum += libm.Mul(t.row(i)[j], x[j])
			}
			gap := t.row(k)[k] - t.row(i)[i]
			if size1(gap) < least {
				gap = complex(least, 0) // a multiple eigenvalue: the vector is near to the other's
			}
			x[i] = libm.Div(sum, gap)
			rescale(x[i : k+1])
		}
		v := make([]complex128, n)
		for i := range n {
			for j := 0; j <= k; j++ {
				v[i] += libm.Mul(q.row(i)[j], x[j])
			}
		}
		normalizeComplex(v)
		for i := range n {
			out.row(i)[k] = v[i]
		}
	}
	return out
}

// rescale divides x by its first element if that is so large that squares overflow.
func rescale(x []complex128) {
	if size := libm.AbsComplex(x[0]); size > 1e100 {
		for i := range x {
			x[i] = libm.Div(x[i], complex(size, 0))
		}
	}
}

// normalizeComplex gives v the length 1, and makes its greatest element real.
func normalizeComplex(v []complex128) {
	length, at := 0.0, 0
	for i, z := range v {
		length = libm.Hypot(length, libm.AbsComplex(z))
		if libm.AbsComplex(z) > libm.AbsComplex(v[at]) {
			at = i
		}
	}
	by := libm.Div(cmplx.Conj(v[at]), complex(libm.AbsComplex(v[at])*length, 0))
	for i := range v {
		v[i] = libm.Mul(v[i], by)
	}
	v[at] = complex(real(v[at]), 0)
}
