package lapack

import "tpsh/runtime/kernel/gemm"

const (
	// fewReflectors are made one after the other; more are halved first, so that what the
	// first half does to the columns of the second is a product.
	fewReflectors = 8
	// together is how many reflectors change the columns behind them at once, and how many are
	// applied at once.
	together = 64
)

// QR stores q [m, k] and the upper triangular r [k, n] with q r = a [m, n], where k
// is the lesser of m and n, and the columns of q are orthonormal.
func QR(q, r, a []float64, m, n int) bool {
	k := min(m, n)
	if k == 0 {
		return true
	}
	buffer := borrow(m * n)
	defer scratch.Put(buffer)
	rt := *buffer
	h := triangularize(rt, a, m, n)
	for i := range k {
		clear(r[i*n:][:i])
		for j := i; j < n; j++ {
			r[i*n+j] = rt[j*m+i]
		}
	}
	clear(q)
	for i := range k {
		q[i*k+i] = 1
	}
	h.applyToIdentity(q, k)
	return true
}

// Reflectors stores in dst the factors of QR of a [m, n] as LAPACK's geqrf does: r in the
// upper triangle, and below it vectors of which, with tau [k], Householder's reflectors are.
func Reflectors(dst, tau, a []float64, m, n int) bool {
	if min(m, n) == 0 {
		copy(dst, a)
		return true
	}
	buffer := borrow(m * n)
	defer scratch.Put(buffer)
	rt := *buffer
	h := triangularize(rt, a, m, n)
	copy(tau, h.tau)
	for j := range min(m, n) {
		copy(rt[j*m+j+1:(j+1)*m], h.v[j*m+j+1:])
	}
	transpose(dst, rt, n, m)
	return true
}

// triangularize returns the reflectors whose product with r is a [m, n], and stores the
// transpose of r in rt [n, m], but for the zeros above its diagonal. Columns, which lie side by
// side there, are halved until they are few: Elmroth and Gustavson, "Applying recursion to serial and
// parallel QR factorization leads to better performance", IBM J. Res. Dev. 44(4), 2000.
func triangularize(rt, a []float64, m, n int) *reflectors {
	k, by := min(m, n), safeScale(a)
	transpose(rt, a, m, n)
	if by != 1 {
		scale(rt, by)
	}
	h := newReflectors(m, k, 0, false)
	h.reduce(rt, n)
	if by != 1 {
		scale(rt, 1/by)
	}
	return h
}

// reduce makes all reflectors, of the first of the columns, rows of x, which they all change.
func (r *reflectors) reduce(x []float64, columns int) {
	for lo := 0; lo < r.count; lo += together {
		hi := min(lo+together, r.count)
		r.eliminate(x, lo, hi)
		r.applyToColumns(x, lo, hi, columns)
	}
}

// eliminate makes reflectors [lo, hi), each of which turns a column, a row of x, into one of r,
// and changes with them those columns alone.
func (r *reflectors) eliminate(x []float64, lo, hi int) {
	if hi-lo > fewReflectors {
		mid := lo + (hi-lo+1)/2
		r.eliminate(x, lo, mid)
		r.applyToColumns(x, lo, mid, hi)
		r.eliminate(x, mid, hi)
		return
	}
	for j := lo; j < hi; j++ {
		_, beta := r.make(j, x[j*r.n+j:(j+1)*r.n])
		x[j*r.n+j] = beta
		r.applyToColumns(x, j, j+1, hi)
	}
}

// applyToColumns applies the transpose of the product of reflectors [lo, hi) to columns [hi, end), rows of x: to
// c, of these rows, it does c - (c vᵀ) t v.
func (r *reflectors) applyToColumns(x []float64, lo, hi, end int) {
	k, cols, m := hi-lo, end-hi, r.n-lo
	if cols == 0 {
		return
	}
	v, c := operandRows(r.v[lo*r.n+lo:], r.n), x[hi*r.n+lo:]
	buffer := borrow(2 * cols * k)
	defer scratch.Put(buffer)
	w, wt := (*buffer)[:cols*k], (*buffer)[cols*k:]
	gemm.Multiply(nil, gemm.Product[float64]{M: cols, N: k, K: m, Count: 1, C: w, A: operandRows(c, r.n), B: turnedOperand(v)})
	if k == 1 {
		for i, s := range w {
			wt[i] = r.tau[lo] * s
		}
	} else {
		gemm.Multiply(nil, gemm.Product[float64]{M: cols, N: k, K: k, Count: 1, C: wt, A: operandRows(w, k), B: operandRows(r.triangle(lo, k), k)})
	}
	add(c, r.n, gemm.Product[float64]{M: cols, N: m, K: k, Count: 1, A: operandRows(wt, k), B: v}, true)
}

// applyToIdentity makes of q [n, cols], the first columns of the identity, those of the product
// of the reflectors. What is to the left of a reflector's first element is not yet changed when
// its turn comes.
func (r *reflectors) applyToIdentity(q []float64, cols int) {
	for from := (r.count - 1) / together * together; from >= 0 && r.count > 0; from -= together {
		r.applyBlock(q[from:], cols, cols-from, from, min(together, r.count-from))
	}
}
