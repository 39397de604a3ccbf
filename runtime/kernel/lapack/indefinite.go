package lapack

import (
	"math"

	"tpsh/internal/libm"
)

// An element is one of a matrix that is symmetric or Hermitian.
type element interface{ float64 | complex128 }

// arithmetic is what elements have besides that of Go: size is a norm, conj what the other
// triangle has, and of the element that is a number. Products and quotients are rounded, and
// never fused with a sum; less subtracts from row the products of x and by, and lessBoth those of
// x and p, and of y and q.
type arithmetic[T element] struct {
	size     func(T) float64
	conj     func(T) T
	of       func(float64) T
	mul, div func(x, y T) T
	less     func(row []T, by T, x []T)
	lessBoth func(row []T, p T, x []T, q T, y []T)
}

var realSymmetric = arithmetic[float64]{
	math.Abs, func(x float64) float64 { return x }, func(x float64) float64 { return x },
	func(x, y float64) float64 { return float64(x * y) }, func(x, y float64) float64 { return x / y },
	func(row []float64, by float64, x []float64) {
		for j, v := range x[:len(row)] {
			row[j] -= float64(by * v)
		}
	},
	func(row []float64, p float64, x []float64, q float64, y []float64) {
		for j, v := range x[:len(row)] {
			row[j] -= float64(p*v) + float64(q*y[j])
		}
	},
}

// complexArithmetic is that of complex matrices: Hermitian ones, or symmetric ones.
func complexArithmetic(hermitian bool) arithmetic[complex128] {
	conj := func(x complex128) complex128 { return x }
	if hermitian {
		conj = func(x complex128) complex128 { return complex(real(x), -imag(x)) }
	}
	size := func(x complex128) float64 { return math.Abs(real(x)) + math.Abs(imag(x)) }
	less := func(row []complex128, by complex128, x []complex128) {
		for j, v := range x[:len(row)] {
			row[j] -= libm.Mul(by, v)
		}
	}
	both := func(row []complex128, p complex128, x []complex128, q complex128, y []complex128) {
		for j, v := range x[:len(row)] {
			row[j] -= libm.Mul(p, v) + libm.Mul(q, y[j])
		}
	}
	return arithmetic[complex128]{size, conj, func(x float64) complex128 { return complex(x, 0) }, libm.Mul, libm.Div, less, both}
}

// LDL stores in ld [n, n] the factors l and d of the symmetric a [n, n], of which it reads the
// lower triangle, as LAPACK's sytrf packs them: d, of blocks of one or two, on the diagonal and
// beside it, and l, without its ones, below. In piv [n] it stores which rows, counted from 1,
// were exchanged: for a block of two, whose second row was, twice the negative. It returns which
// of d is the first that is 0 or NaN, counted from 1; 0 if none is.
func LDL(ld, piv, a []float64, n int) (info int) {
	copyTriangle(ld, a, n)
	return factorIndefinite(ld, piv, n, realSymmetric)
}

// ComplexLDL is LDL of a complex matrix of parts ar and ai [n, n], which is Hermitian or
// symmetric; ldr and ldi are the parts of ld.
func ComplexLDL(ldr, ldi, piv, ar, ai []float64, n int, hermitian bool) (info int) {
	a := joined(ar, ai, n, n)
	ld := make([]complex128, n*n)
	copyTriangle(ld, a.data, n)
	for i := range n {
		if hermitian {
			ld[i*n+i] = complex(real(ld[i*n+i]), 0)
		}
	}
	info = factorIndefinite(ld, piv, n, complexArithmetic(hermitian))
	(&complexMatrix{n, n, ld}).store(ldr, ldi)
	return info
}

// copyTriangle copies the lower triangle of a [n, n] to dst, above which there are zeros.
func copyTriangle[T element](dst, a []T, n int) {
	clear(dst)
	for i := range n {
		copy(dst[i*n:][:i+1], a[i*n:])
	}
}

// keptPivot is the share of the largest element of its column from which on an element on the
// diagonal is a block by itself: blocks of both sizes let elements grow alike.
var keptPivot = (1 + math.Sqrt(17)) / 8

// factorIndefinite factors the lower triangle of a [n, n] in place: Bunch and Kaufman, "Some
// stable methods for calculating inertia and solving symmetric linear systems", Math. Comp. 31,
// 1977, with the choice of pivots that LAPACK has.
func factorIndefinite[T element](a []T, piv []float64, n int, f arithmetic[T]) (info int) {
	x, y := make([]T, n), make([]T, n)
	for k := 0; k < n; {
		with, two, ok := choosePivot(a, n, k, f)
		if !ok && info == 0 {
			info = k + 1
		}
		last := k
		if two {
			last = k + 1
		}
		if with != last {
			exchange(a, n, k, last, with, f)
		}
		switch {
		case two:
			piv[k], piv[k+1] = float64(-with-1), float64(-with-1)
			eliminateTwo(a, x, y, n, k, f)
		case ok:
			piv[k] = float64(with + 1)
			eliminateOne(a, x, n, k, f)
		default:
			piv[k] = float64(k + 1)
		}
		k = last + 1
	}
	return info
}

// choosePivot returns the row that comes to the place of row k, or, if two are a block, to that
// of row k+1. It is not ok if column k is zeros, or begins with NaN.
func choosePivot[T element](a []T, n, k int, f arithmetic[T]) (with int, two, ok bool) {
	own, most, at := f.size(a[k*n+k]), 0.0, k
	for i := k + 1; i < n; i++ {
		if v := f.size(a[i*n+k]); v > most {
			most, at = v, i
		}
	}
	if math.IsNaN(own) || max(own, most) == 0 {
		return k, false, false
	}
	if own >= keptPivot*most {
		return k, false, true
	}
	row := 0.0
	for j := k; j < at; j++ {
		row = max(row, f.size(a[at*n+j]))
	}
	for i := at + 1; i < n; i++ {
		row = max(row, f.size(a[i*n+at]))
	}
	switch {
	case own >= keptPivot*most*(most/row):
		return k, false, true
	case f.size(a[at*n+at]) >= keptPivot*row:
		return at, false, true
	default:
		return at, true, true
	}
}

// exchange exchanges rows and columns from and to, which comes after it, of what is left from
// column k on.
func exchange[T element](a []T, n, k, from, to int, f arithmetic[T]) {
	for i := to + 1; i < n; i++ {
		a[i*n+from], a[i*n+to] = a[i*n+to], a[i*n+from]
	}
	for i := from + 1; i < to; i++ {
		a[i*n+from], a[to*n+i] = f.conj(a[to*n+i]), f.conj(a[i*n+from])
	}
	a[to*n+from] = f.conj(a[to*n+from])
	a[from*n+from], a[to*n+to] = a[to*n+to], a[from*n+from]
	if from == k+1 {
		a[from*n+k], a[to*n+k] = a[to*n+k], a[from*n+k]
	}
}

// eliminateOne makes column k one of l, and subtracts what it stands for from those after it;
// x [n] is for the column's conjugate.
func eliminateOne[T element](a, x []T, n, k int, f arithmetic[T]) {
	for i := k + 1; i < n; i++ {
		row := a[i*n:][:i+1]
		x[i] = f.conj(f.div(row[k], a[k*n+k]))
		f.less(row[k+1:], row[k], x[k+1:])
		row[k] = f.conj(x[i])
		row[i] = f.div(row[i]+f.conj(row[i]), f.of(2)) // a Hermitian diagonal is real, but for rounding
	}
}

// eliminateTwo is eliminateOne of columns k and k+1, a block of two.
func eliminateTwo[T element](a, x, y []T, n, k int, f arithmetic[T]) {
	for i := k + 2; i < n; i++ {
		row := a[i*n:][:i+1]
		p, q := divideTwo(a, n, k, row[k], row[k+1], f)
		x[i], y[i] = f.conj(p), f.conj(q)
		f.lessBoth(row[k+2:], row[k], x[k+2:], row[k+1], y[k+2:])
		row[k], row[k+1] = p, q
		row[i] = f.div(row[i]+f.conj(row[i]), f.of(2))
	}
}

// divideTwo returns the row (x, y) divided from the right by the block of rows and columns k and
// k+1, whose element beside the diagonal is the largest.
func divideTwo[T element](a []T, n, k int, x, y T, f arithmetic[T]) (T, T) {
	beside := a[(k+1)*n+k]
	unit := f.of(f.size(beside))
	p, q, r := f.div(a[k*n+k], unit), f.div(a[(k+1)*n+k+1], unit), f.div(beside, unit)
	det := f.mul(f.mul(p, q)-f.mul(r, f.conj(r)), unit)
	return f.div(f.mul(q, x)-f.mul(r, y), det), f.div(f.mul(p, y)-f.mul(f.conj(r), x), det)
}

// LDLSolve stores in dst the solution x of a x = b [n, k], for the factors ld and piv that LDL
// gives of a [n, n]. It returns false if piv is none of it.
func LDLSolve(dst, ld, piv, b []float64, n, k int) bool {
	copy(dst, b)
	return solveIndefinite(dst, ld, piv, n, k, realSymmetric)
}

// ComplexLDLSolve is LDLSolve of complex matrices, given as parts.
func ComplexLDLSolve(xr, xi, ldr, ldi, piv, br, bi []float64, n, k int, hermitian bool) bool {
	x := joined(br, bi, n, k)
	ok := solveIndefinite(x.data, joined(ldr, ldi, n, n).data, piv, n, k, complexArithmetic(hermitian))
	x.store(xr, xi)
	return ok
}

// blocksOf returns for each row whether it begins a block of two; false if piv is none.
func blocksOf(piv []float64) (two []bool, ok bool) {
	n := len(piv)
	two = make([]bool, n)
	for i := 0; i < n; i++ {
		p := math.Abs(piv[i])
		if !(p >= 1 && p <= float64(n)) || p != math.Trunc(p) {
			return nil, false
		}
		if piv[i] > 0 {
			continue
		}
		if i+1 == n || piv[i+1] != piv[i] {
			return nil, false
		}
		two[i] = true
		i++
	}
	return two, true
}

// solveIndefinite solves for b [n, cols], in place.
func solveIndefinite[T element](b, a []T, piv []float64, n, cols int, f arithmetic[T]) bool {
	two, ok := blocksOf(piv)
	if !ok {
		return false
	}
	row := func(i int) []T { return b[i*cols:][:cols] }
	exchanged := func(i int) {
		x, y := row(i), row(int(math.Abs(piv[i]))-1)
		for j := range x {
			x[j], y[j] = y[j], x[j]
		}
	}
	less := func(i, from int, by T) { f.less(row(i), by, row(from)) }
	for k := 0; k < n; k++ { // l and d
		last := k
		if two[k] {
			last = k + 1
		}
		exchanged(last)
		for i := last + 1; i < n; i++ {
			for j := k; j <= last; j++ {
				less(i, j, a[i*n+j])
			}
		}
		x := row(k)
		for j := range x {
			if last == k {
				x[j] = f.div(x[j], a[k*n+k])
			} else { // from the left: the conjugate of a row, from the right
				p, q := divideTwo(a, n, k, f.conj(x[j]), f.conj(row(last)[j]), f)
				x[j], row(last)[j] = f.conj(p), f.conj(q)
			}
		}
		k = last
	}
	for k := n - 1; k >= 0; k-- { // the adjoint of l
		first, last := k, k
		if k > 0 && two[k-1] {
			first = k - 1
		}
		for j := first; j <= last; j++ {
			for i := last + 1; i < n; i++ {
				less(j, i, f.conj(a[i*n+j]))
			}
		}
		exchanged(last)
		k = first
	}
	return true
}
