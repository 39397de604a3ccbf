package lapack

import (
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"

	"tpsh/runtime/kernel/gemm"
)

// products is gonum's BLAS, but for products of matrices, which package gemm makes, and
// for those with triangles, which are divided until they are such. The blocked algorithms of gonum's
// LAPACK are then as fast as these. This package itself calls Dgemm alone, which has nothing of gonum's.
type products struct{ gonum.Implementation }

func init() { blas64.Use(products{}) }

// leaf is the size of triangles that are not divided.
const leaf = 32

// scratch are buffers for products before they are added.
var scratch = sync.Pool{New: func() any { return new([]float64) }}

// Dgemm computes c = alpha op(a) op(b) + beta c, for op(a) [m, k] and op(b) [k, n].
func (p products) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	if m*n*k == 0 || alpha == 0 {
		p.Implementation.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	product := gemm.Product[float64]{M: m, N: n, K: k, Count: 1, A: operand(tA, a, lda), B: operand(tB, b, ldb)}
	if alpha == 1 && beta == 0 && ldc == n {
		product.C = c[:m*n]
		gemm.Multiply(nil, product)
		return
	}
	if beta == 1 && (alpha == 1 || alpha == -1) {
		add(c, ldc, product, alpha < 0)
		return
	}
	buffer := borrow(m * n)
	defer scratch.Put(buffer)
	y := *buffer
	product.C = y
	gemm.Multiply(nil, product)
	for i := range m {
		row, from := c[i*ldc:][:n], y[i*n:][:n]
		if beta == 0 {
			for j, v := range from {
				row[j] = alpha * v
			}
			continue
		}
		for j, v := range from {
			row[j] = float64(beta*row[j]) + float64(alpha*v)
		}
	}
}

// borrow returns a buffer of n elements, to be put back into scratch.
func borrow(n int) *[]float64 {
	buffer := scratch.Get().(*[]float64)
	if cap(*buffer) < n {
		*buffer = make([]float64, n)
	}
	*buffer = (*buffer)[:n]
	return buffer
}

// add adds a product to c, whose rows are ldc apart, where it lies; or subtracts it: then it
// is that of the negated operand that is smaller.
func add(c []float64, ldc int, p gemm.Product[float64], subtract bool) {
	if p.M == 0 || p.N == 0 {
		return
	}
	p.Add, p.CRow, p.C = true, ldc, c[:(p.M-1)*ldc+p.N]
	if !subtract {
		gemm.Multiply(nil, p)
		return
	}
	smaller, rows, cols := &p.A, p.M, p.K
	if p.N < p.M {
		smaller, rows, cols = &p.B, p.K, p.N
	}
	buffer := borrow(rows * cols)
	defer scratch.Put(buffer)
	*smaller = negated(*buffer, *smaller, rows, cols)
	gemm.Multiply(nil, p)
}

// negated returns o [rows, cols] with all signs changed in dst, in the order in which it lies.
func negated(dst []float64, o gemm.Operand[float64], rows, cols int) gemm.Operand[float64] {
	lines, length, apart := rows, cols, o.Row
	grid := gemm.Grid{Row: cols, Col: 1}
	if o.Col != 1 {
		lines, length, apart = cols, rows, o.Col
		grid = gemm.Grid{Row: 1, Col: rows}
	}
	for i := range lines {
		to := dst[i*length:][:length]
		for j, v := range o.Data[i*apart:][:length] {
			to[j] = -v
		}
	}
	return gemm.Operand[float64]{Data: dst, Grid: grid}
}

// operand returns op(a) as package gemm takes it.
func operand(t blas.Transpose, a []float64, lda int) gemm.Operand[float64] {
	if t == blas.NoTrans {
		return operandRows(a, lda)
	}
	return turnedOperand(operandRows(a, lda))
}

// operandRows returns a matrix whose rows are ld apart.
func operandRows(a []float64, ld int) gemm.Operand[float64] {
	return gemm.Operand[float64]{Data: a, Grid: gemm.Grid{Row: ld, Col: 1}}
}

// turnedOperand returns the transpose of o.
func turnedOperand(o gemm.Operand[float64]) gemm.Operand[float64] {
	o.Row, o.Col = o.Col, o.Row
	return o
}

// A triangle is op(a) of a triangular matrix [n, n], in halves of h and n - h.
type triangle struct {
	n, h  int
	lower bool // of op(a)
	tA    blas.Transpose
	a     []float64
	lda   int
}

// halved returns op(a) in halves.
func halved(ul blas.Uplo, tA blas.Transpose, n int, a []float64, lda int) triangle {
	return triangle{n, n / 2, (ul == blas.Lower) == (tA == blas.NoTrans), tA, a, lda}
}

// second returns the lower right part of a.
func (t *triangle) second() []float64 { return t.a[t.h*t.lda+t.h:] }

// corner returns the part of a that is the square or rectangle of op(a) off the diagonal.
func (t *triangle) corner() []float64 {
	if t.lower == (t.tA == blas.NoTrans) {
		return t.a[t.h*t.lda:]
	}
	return t.a[t.h:]
}

// parts returns b, of rows or columns as many as the triangle, in two, and their sizes.
func (t *triangle) parts(s blas.Side, b []float64, ldb int) (b1, b2 []float64) {
	if s == blas.Left {
		return b, b[t.h*ldb:]
	}
	return b, b[t.h:]
}

// update computes to = beta to + alpha times the product of the corner and from, on the
// side s; other is the size of b along which there is no triangle.
func (p products) update(t *triangle, s blas.Side, toSecond bool, other int, alpha float64, from []float64, beta float64, to []float64, ldb int) {
	size, inner := t.h, t.n-t.h
	if toSecond {
		size, inner = inner, size
	}
	if s == blas.Left {
		p.Dgemm(t.tA, blas.NoTrans, size, other, inner, alpha, t.corner(), t.lda, from, ldb, beta, to, ldb)
		return
	}
	p.Dgemm(blas.NoTrans, t.tA, other, size, inner, alpha, from, ldb, t.corner(), t.lda, beta, to, ldb)
}

// sides returns the size of b [m, n] along the triangle, and the other.
func sides(s blas.Side, m, n int) (size, other int) {
	if s == blas.Left {
		return m, n
	}
	return n, m
}

// shaped returns rows and columns of b for a triangle of size on side s.
func shaped(s blas.Side, size, other int) (m, n int) { return sides(s, size, other) }

// Dtrmm computes b = alpha op(a) b, or alpha b op(a) on the right, for b [m, n].
func (p products) Dtrmm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	size, other := sides(s, m, n)
	if size <= leaf || other == 0 {
		p.Implementation.Dtrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	t := halved(ul, tA, size, a, lda)
	b1, b2 := t.parts(s, b, ldb)
	m1, n1 := shaped(s, t.h, other)
	m2, n2 := shaped(s, size-t.h, other)
	if t.lower == (s == blas.Left) { // the second half has a part of both
		p.Dtrmm(s, ul, tA, d, m2, n2, alpha, t.second(), lda, b2, ldb)
		p.update(&t, s, true, other, alpha, b1, 1, b2, ldb)
		p.Dtrmm(s, ul, tA, d, m1, n1, alpha, a, lda, b1, ldb)
		return
	}
	p.Dtrmm(s, ul, tA, d, m1, n1, alpha, a, lda, b1, ldb)
	p.update(&t, s, false, other, alpha, b2, 1, b1, ldb)
	p.Dtrmm(s, ul, tA, d, m2, n2, alpha, t.second(), lda, b2, ldb)
}
