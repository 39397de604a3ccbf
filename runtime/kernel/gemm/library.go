package gemm

import "math"

// A Library computes products in the place of this package, in an order of
// sums of its own. Matrices lie by columns, ld elements apart, and are
// transposed where trans says so: it stores op(a) op(b), of m by k and k by n
// elements, in c, whatever that held. Several goroutines may call it at once.
type Library interface {
	Sgemm(transA, transB bool, m, n, k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int)
	Dgemm(transA, transB bool, m, n, k int, a *float64, lda int, b *float64, ldb int, c *float64, ldc int)
}

// library is what computes products, if it is not this package. Only
// UseLibrary sets it.
var library Library

// UseLibrary makes l compute, for as long as the process lives, the products of
// float32 and float64 matrices whose rows or columns lie one element after the
// other. All others remain with this package. A program calls it at most once,
// before it multiplies: no lock guards the choice.
func UseLibrary(l Library) { library = l }

// byLibrary has l compute the product s and reports whether it could.
func (s *shape[T]) byLibrary(l Library) bool {
	transA, lda, ok := s.a.inColumns(s.m, s.k)
	if !ok {
		return false
	}
	transB, ldb, ok := s.b.inColumns(s.k, s.n)
	if !ok || max(s.m, s.n, s.k, lda, ldb) > math.MaxInt32 {
		return false
	}
	// What lies by rows is by columns its own transpose, and cᵀ = bᵀ aᵀ.
	a, b, c := &s.a.Data[s.a.Offset], &s.b.Data[s.b.Offset], &s.c[0]
	switch a := any(a).(type) {
	case *float32:
		l.Sgemm(transB, transA, s.n, s.m, s.k, any(b).(*float32), ldb, a, lda, any(c).(*float32), s.n)
	case *float64:
		l.Dgemm(transB, transA, s.n, s.m, s.k, any(b).(*float64), ldb, a, lda, any(c).(*float64), s.n)
	}
	return true
}

// inColumns returns how a library reads the transpose of o, of rows by cols
// elements: whether it is to be transposed, and the distance of its columns. It
// reports false if neither rows nor columns of o lie one element after the
// other.
func (o *Operand[T]) inColumns(rows, cols int) (trans bool, ld int, ok bool) {
	switch {
	case o.half(), o.Windows != nil:
	case (o.Col == 1 || cols == 1) && (o.Row >= cols || rows == 1):
		return false, max(o.Row, cols), true
	case (o.Row == 1 || rows == 1) && (o.Col >= rows || cols == 1):
		return true, max(o.Col, rows), true
	}
	return false, 0, false
}
