package lapack

import (
	"math"

	"gonum.org/v1/gonum/blas"

	"tpsh/internal/libm"
	"tpsh/runtime/kernel/gemm"
	"tpsh/runtime/kernel/vec"
)

// panel is how many columns are reduced before what that does to the others is a product.
const panel = 16

// strip is how many rows of a symmetric matrix are multiplied and changed together. Of 32
// changes are products of too few rows, of 128 too much of them is above the diagonal.
const strip = 64

// reflectors are Householder's, 1 - tau v vᵀ: v is a row of v [count, n], has a 1 after the
// zeros that it begins with, at shift + its index, and tau is as its index.
type reflectors struct {
	n, count, shift int
	v, tau          []float64
}

// newReflectors returns reflectors to be made, of which only the last one is kept if only
// values are wanted.
func newReflectors(n, count, shift int, valuesOnly bool) *reflectors {
	r := &reflectors{n: n, count: count, shift: shift, tau: make([]float64, count)}
	if valuesOnly {
		r.n, r.v = 0, make([]float64, n)
	} else {
		r.v = make([]float64, n*count)
	}
	return r
}

// make adds, at an index, the reflector that makes of x, the elements from shift + index on
// of a vector, beta and zeros. It returns the elements of v from there on, and beta.
func (r *reflectors) make(index int, x []float64) (v []float64, beta float64) {
	v = r.v[index*r.n+r.shift+index:][:len(x)]
	rest, alpha := length(x[1:]), x[0]
	v[0] = 1
	if rest == 0 {
		clear(v[1:])
		return v, alpha
	}
	beta = -math.Copysign(libm.Hypot(alpha, rest), alpha)
	r.tau[index] = (beta - alpha) / beta
	for i, e := range x[1:] {
		v[i+1] = e / (alpha - beta)
	}
	return v, beta
}

// length returns the length of x, or 0 if it is vanishing; x is of a scaled matrix.
func length(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v * v)
	}
	if s < vanishing*vanishing {
		return 0
	}
	return math.Sqrt(s)
}

// apply multiplies c [n, cols] by the reflectors, in order, from the left.
func (r *reflectors) apply(c []float64, cols int) {
	for from := (r.count - 1) / together * together; from >= 0 && r.count > 0; from -= together {
		r.applyBlock(c, cols, cols, from, min(together, r.count-from))
	}
}

// applyBlock multiplies c [n, cols], whose rows are ldc apart, by k reflectors from an index on, in order, from
// the left. They are 1 - vᵀ t v with an upper triangular t: Schreiber and Van Loan, "A
// storage-efficient WY representation for products of Householder transformations", SIAM J. Sci.
// Stat. Comput. 10(1), 1989.
func (r *reflectors) applyBlock(c []float64, ldc, cols, from, k int) {
	at := from + r.shift
	v, m := operandRows(r.v[from*r.n+at:], r.n), r.n-at
	c = c[at*ldc:]
	buffer := borrow(2 * k * cols)
	defer scratch.Put(buffer)
	w, tw := (*buffer)[:k*cols], (*buffer)[k*cols:]
	gemm.Multiply(nil, gemm.Product[float64]{M: k, N: cols, K: m, Count: 1, C: w, A: v, B: operandRows(c, ldc)})
	gemm.Multiply(nil, gemm.Product[float64]{M: k, N: cols, K: k, Count: 1, C: tw, A: operandRows(r.triangle(from, k), k), B: operandRows(w, cols)})
	add(c, ldc, gemm.Product[float64]{M: m, N: cols, K: k, Count: 1, A: turnedOperand(v), B: operandRows(tw, cols)}, true)
}

// triangle returns t [k, k] of the k reflectors from an index on.
func (r *reflectors) triangle(from, k int) []float64 {
	t, dots, at := make([]float64, k*k), make([]float64, k*k), from+r.shift
	v := operandRows(r.v[from*r.n+at:], r.n)
	gemm.Multiply(nil, gemm.Product[float64]{M: k, N: k, K: r.n - at, Count: 1, C: dots, A: v, B: turnedOperand(v)})
	for j := range k {
		tau := r.tau[from+j]
		for i := range j {
			s := 0.0
			for l, v := range t[i*k+i:][:j-i] {
				s += float64(v * dots[j*k+i+l])
			}
			t[i*k+j] = -tau * s
		}
		t[j*k+j] = tau
	}
	return t
}

// A pending is a matrix a [n, n] from which lᵀ r is still to be subtracted, for the rows of
// l and r [., n] that there are.
type pending struct {
	n, rows    int
	apart      int // how far apart rows of l and r are: such that a column of them does not fall into one set of a cache
	a, l, r    []float64
	sums, work []float64
	x, ax      []float64 // for symmetricTimes
}

func newPending(a []float64, n int) *pending {
	apart := n + vec.Lanes/2
	return &pending{n: n, apart: apart, a: a, l: make([]float64, 2*panel*apart), r: make([]float64, 2*panel*apart), sums: make([]float64, 2*n), work: make([]float64, 4*panel),
		x: make([]float64, n), ax: make([]float64, n)}
}

// subtract subtracts from dst, elements from index from on, the sum of the rows of list, l
// or r, with weights.
func (p *pending) subtract(dst, weights, list []float64, from int) {
	if p.rows == 0 || len(dst) == 0 {
		return
	}
	sums := p.sums[:len(dst)]
	timesMatrix(sums, weights[:p.rows], list[from:], p.apart)
	vec.Sub64(dst, dst, sums)
}

// column copies column j, from the diagonal on, to the end of dst [n], and returns that.
func (p *pending) column(dst []float64, j int) []float64 {
	c := dst[j:p.n]
	for i := range c {
		c[i] = p.a[(j+i)*p.n+j]
	}
	return c
}

// at returns the elements at index i of the rows of list, l or r.
func (p *pending) at(list []float64, i int) []float64 {
	w := p.work[:p.rows]
	for j := range w {
		w[j] = list[j*p.apart+i]
	}
	return w
}

// dots returns the products of the rows of list, from index from on, with x. They stay when at
// is called.
func (p *pending) dots(list, x []float64, from int) []float64 {
	w := p.work[2*panel:][:p.rows]
	if p.rows > 0 {
		matrixTimes(w, list[from:], p.apart, x)
	}
	return w
}

// settle subtracts, in rows and columns from an index on, what is pending.
func (p *pending) settle(from int) {
	p.settleRows(from, p.n, from, p.n)
	p.rows = 0
}

// settleRows subtracts what is pending in rows [lo, hi) and columns [left, right).
func (p *pending) settleRows(lo, hi, left, right int) {
	if lo < hi && left < right && p.rows > 0 {
		products{}.Dgemm(blas.Trans, blas.NoTrans, hi-lo, right-left, p.rows, -1, p.l[lo:], p.apart, p.r[left:], p.apart, 1, p.a[lo*p.n+left:], p.n)
	}
}

// strips calls f with the rows [lo, hi) of a, from an index on, that lie in the same strip.
func (p *pending) strips(from int, f func(lo, hi int)) {
	for lo := from; lo < p.n; {
		hi := min(lo/strip*strip+strip, p.n)
		f(lo, hi)
		lo = hi
	}
}

// mirror makes the square of a on the diagonal in rows [lo, hi) symmetric by its lower
// triangle.
func (p *pending) mirror(lo, hi int) {
	for i := lo; i < hi; i++ {
		for j := lo; j < i; j++ {
			p.a[j*p.n+i] = p.a[i*p.n+j]
		}
	}
}

// symmetricTimes stores in dst a x, of rows and columns from an index on, of a symmetric a of
// which squares of as many rows as there are lanes on the diagonal are whole, and else what is
// below it: each two rows to the left of their square are read once, for what they and their
// transpose make of x.
func (p *pending) symmetricTimes(dst, x []float64, from int) {
	base := from / vec.Lanes * vec.Lanes // from where on lanes are full
	clear(p.x[base:from])
	copy(p.x[from:], x)
	clear(p.ax[base:])
	for i := from &^ 1; i < p.n; i += 2 {
		square := i / vec.Lanes * vec.Lanes
		next, weight := i, 0.0 // a last row without another is taken twice, without weight
		if i+1 < p.n {
			next, weight = i+1, p.x[i+1]
		}
		row0, row1 := p.a[i*p.n:(i+1)*p.n], p.a[next*p.n:(next+1)*p.n]
		var dot0, dot1 [vec.Lanes]float64
		if square > base {
			vec.RowPair64(p.ax[base:square], p.x[base:square], row0[base:square], row1[base:square], p.x[i], weight, &dot0, &dot1)
		}
		end := min(square+vec.Lanes, p.n)
		vec.RowDots64(p.x[square:end], row0[square:end], row1[square:end], &dot0, &dot1)
		p.ax[i] += sumLanes(&dot0)
		if next > i {
			p.ax[next] += sumLanes(&dot1)
		}
	}
	copy(dst, p.ax[from:])
}

// sumLanes returns the sum of lanes.
func sumLanes(x *[vec.Lanes]float64) float64 {
	a, b := (x[0]+x[8])+(x[4]+x[12]), (x[1]+x[9])+(x[5]+x[13])
	c, d := (x[2]+x[10])+(x[6]+x[14]), (x[3]+x[11])+(x[7]+x[15])
	return (a + c) + (b + d)
}

// timesMatrix stores in dst x a, for a matrix a with as many rows as x has elements and as
// many columns as dst has, whose rows are ld apart.
func timesMatrix(dst, x, a []float64, ld int) {
	gemm.Multiply(nil, gemm.Product[float64]{M: 1, N: len(dst), K: len(x), Count: 1, C: dst,
		A: operand(blas.NoTrans, x, len(x)), B: operand(blas.NoTrans, a, ld)})
}

// matrixTimes stores in dst a x, for a matrix a of which rows are ld apart.
func matrixTimes(dst, a []float64, ld int, x []float64) {
	for i := 0; i < len(dst); i += 2 {
		next := min(i+1, len(dst)-1)
		var dot0, dot1 [vec.Lanes]float64
		vec.RowDots64(x, a[i*ld:][:len(x)], a[next*ld:][:len(x)], &dot0, &dot1)
		dst[i] = sumLanes(&dot0)
		if next > i {
			dst[next] = sumLanes(&dot1)
		}
	}
}

// toTridiagonal returns the diagonal d [n] and e [n-1] beside it of a symmetric tridiagonal
// matrix, of which a [n, n] is the product with the reflectors from the left and their
// transpose from the right. Of a it reads the lower triangle, and spoils it. What reflectors do to the columns of
// other panels is done at once: Dongarra, Hammarling and Sorensen, "Block reduction of
// matrices to condensed forms for eigenvalue computations", J. Comput. Appl. Math. 27, 1989.
// Where only values are wanted, the reflectors are not kept.
func toTridiagonal(a []float64, n int, valuesOnly bool) (d, e []float64, q *reflectors) {
	if n <= small {
		return smallTridiagonal(a, n)
	}
	d, e, q = make([]float64, n), make([]float64, max(n-1, 0)), newReflectors(n, max(n-1, 0), 1, valuesOnly)
	p, below := newPending(a, n), make([]float64, n)
	p.strips(0, p.mirror)
	for j := range n {
		column := p.column(below, j)
		p.subtract(column, p.at(p.l, j), p.r, j)
		d[j] = column[0]
		if j+1 == n {
			break
		}
		v, beta := q.make(j, column[1:])
		e[j] = beta
		into, w := p.next(j+1, j+1)
		p.symmetricTimes(w, v, j+1)
		p.subtract(w, p.dots(p.l, v, j+1), p.r, j+1)
		tau, dot := q.tau[j], 0.0
		for i := range w {
			w[i] *= tau
			dot += float64(w[i] * v[i])
		}
		for i := range w {
			w[i] -= float64(tau * dot / 2 * v[i])
		}
		copy(into, v)
		p.rows++
		l, r := p.next(j+1, j+1)
		copy(l, w)
		copy(r, v)
		p.rows++
		if p.rows == 2*panel {
			p.strips(j+1, func(lo, hi int) { p.settleRows(lo, hi, j+1, hi) })
			p.rows = 0
		}
	}
	return d, e, q
}

// toBidiagonal returns the diagonal d [n] and f [n-1] above it of an upper bidiagonal
// matrix, of which a [n, n] is the product with u from the left and the transpose of v from
// the right. As in toTridiagonal, a panel changes the others at once. All is done to the
// transpose of a, of which a column is a row.
func toBidiagonal(a []float64, n int, valuesOnly bool) (d, f []float64, u, v *reflectors) {
	if n <= small {
		return smallBidiagonal(a, n)
	}
	d, f = make([]float64, n), make([]float64, max(n-1, 0))
	u, v = newReflectors(n, n, 0, valuesOnly), newReflectors(n, max(n-1, 0), 1, valuesOnly)
	p, column := newPending(transposed(a, n, n), n), make([]float64, n)
	for j := range n {
		row := p.a[j*n+j : (j+1)*n]
		p.subtract(row, p.at(p.l, j), p.r, j)
		x, beta := u.make(j, row)
		d[j] = beta
		if j+1 == n {
			break
		}
		y, r := p.next(j+1, j) // y xᵀ is what u subtracts
		c, z := column[j+1:], p.x[j+1:]
		p.crossTimes(y, c, z, x, u.tau[j], j)
		copy(r, x)
		p.rows++
		alpha := c[0]
		x, f[j] = v.make(j, c)
		if v.tau[j] != 0 {
			p.rowStep(z, x, alpha, f[j], v.tau[j], j+1)
		}
		if p.rows > 2*panel-2 {
			p.settle(j + 1)
		}
	}
	return d, f, u, v
}

// crossTimes makes the step from reflector u, of x and tau, of row j of the matrix to column j
// behind it, in one pass over the rows below: it stores tau (a x) in y, what column j is after
// that in c, and cᵀ a in z, with a as it lies. A row makes an element of y, and that one of c, before it is
// weighted for z: Howell, Demmel, Fulton, Hammarling and Marmol, "Cache efficient
// bidiagonalization using BLAS 2.5 operators", ACM TOMS 34(3), 2008.
func (p *pending) crossTimes(y, c, z, x []float64, tau float64, j int) {
	rows, n := p.a[(j+1)*p.n:], p.n
	ofProduct, ofColumn := p.corrections(x, j)
	clear(z)
	for i := 0; i < len(y); i += 2 {
		next := min(i+1, len(y)-1)
		row0, row1 := rows[i*n+j:(i+1)*n], rows[next*n+j:(next+1)*n]
		var dot0, dot1 [vec.Lanes]float64
		vec.RowDots64(x, row0, row1, &dot0, &dot1)
		y[i] = float64(tau * (sumLanes(&dot0) - ofProduct[i]))
		c[i] = row0[0] - ofColumn[i] - y[i]
		weight := 0.0 // of row1, if it is not row0 again
		if next > i {
			y[next] = float64(tau * (sumLanes(&dot1) - ofProduct[next]))
			c[next] = row1[0] - ofColumn[next] - y[next]
			weight = c[next]
		}
		vec.AddRows64(z, row0[1:], row1[1:], c[i], weight)
	}
}

// rowStep has pending what reflector v, of x and tau, does to rows and columns from an index on. It
// made beta of alpha, the first element of c, of which z is the product with what lies there: x
// is c / (alpha - beta), after beta was taken from its first element.
func (p *pending) rowStep(z, x []float64, alpha, beta, tau float64, from int) {
	l, r := p.next(from, from)
	first := p.a[from*p.n+from : (from+1)*p.n]
	for i := range r {
		r[i] = (z[i] - float64(beta*first[i])) / (alpha - beta)
	}
	p.subtract(r, p.dots(p.l, x, from), p.r, from)
	scale(r, tau)
	copy(l, x)
	p.rows++
}

// corrections returns what is pending of the products of rows from j + 1 on with x, and of
// their elements in column j.
func (p *pending) corrections(x []float64, j int) (ofProduct, ofColumn []float64) {
	size := p.n - j - 1
	sums := p.sums[:2*size]
	if p.rows == 0 {
		clear(sums)
	} else {
		p.dots(p.r, x, j)
		p.at(p.r, j)
		gemm.Multiply(nil, gemm.Product[float64]{M: 2, N: size, K: p.rows, Count: 1, C: sums, A: operandRows(p.work, 2*panel), B: operandRows(p.l[j+1:], p.apart)})
	}
	return sums[size:], sums[:size]
}

// next returns the elements of the rows of l and r that come next, from indices on.
func (p *pending) next(fromL, fromR int) (l, r []float64) {
	at := p.rows * p.apart
	return p.l[at+fromL : at+p.n], p.r[at+fromR : at+p.n]
}

// scale multiplies x.
func scale(x []float64, by float64) {
	for i := range x {
		x[i] *= by
	}
}
