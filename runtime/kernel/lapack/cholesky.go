package lapack

import (
	"math"

	"tpsh/runtime/kernel/gemm"
	"tpsh/runtime/kernel/vec"
)

// choleskyRows is how many rows of Cholesky's factor are made between products, and fewRows how many
// of one of at most two times choleskyRows.
const choleskyRows, fewRows = 48, 16

// Cholesky stores the lower triangular l with l lᵀ = a [n, n] in dst. Of a it reads
// the lower triangle. A column of l is a row of its transpose, of which some are made at a time.
// What they take from earlier ones is one product, so that they are written once; then each takes
// from the next what is left: Golub and Van Loan, Matrix Computations, 4th edition, 4.2.
func Cholesky(dst, a []float64, n int) bool {
	if n <= fewRows {
		return smallCholesky(dst, a, n)
	}
	together := choleskyRows
	if n <= 2*choleskyRows {
		together = fewRows
	}
	apart := n + vec.Lanes/2 // so that a column does not fall into one set of a cache
	buffer := borrow(n * apart)
	defer scratch.Put(buffer)
	u := *buffer
	for lo := 0; lo < n; lo += together {
		hi := min(lo+together, n)
		rows := u[lo*apart+lo:]
		transposeApart(rows, apart, a[lo*n+lo:], n, n-lo, hi-lo)
		above := operandRows(u[lo:], apart)
		add(rows, apart, gemm.Product[float64]{M: hi - lo, N: n - lo, K: lo, Count: 1, A: turnedOperand(above), B: above}, true)
		for j := range hi - lo {
			row := rows[j*apart+j:][:n-lo-j]
			takeRows(row, j, rows[j:], apart, rows[j:], apart)
			if !(row[0] > 0) {
				return false
			}
			row[0] = math.Sqrt(row[0])
			divide(row[1:], row[0])
		}
		transposeApart(dst[lo*n+lo:], n, rows, apart, hi-lo, n-lo)
		for i := lo; i < hi; i++ {
			clear(dst[i*n+i+1 : (i+1)*n])
		}
	}
	return true
}

// smallCholesky is Cholesky of a small matrix, row by row.
func smallCholesky(dst, a []float64, n int) bool {
	for i := range n {
		row := dst[i*n:][:n]
		for j := range i + 1 {
			other, s := dst[j*n:][:n], a[i*n+j]
			for k, v := range row[:j] {
				s = math.FMA(-v, other[k], s)
			}
			if j < i {
				row[j] = s / other[j]
				continue
			}
			if !(s > 0) {
				return false
			}
			row[i] = math.Sqrt(s)
		}
		clear(row[i+1:])
	}
	return true
}

// takeRows takes from dst the first count of rows, which are apart, times weights, which are a step apart.
func takeRows(dst []float64, count int, weights []float64, step int, rows []float64, apart int) {
	row := func(k int) []float64 { return rows[k*apart:][:len(dst)] }
	k := 0
	for ; k+1 < count; k += 2 {
		vec.AddRows64(dst, row(k), row(k+1), -weights[k*step], -weights[(k+1)*step])
	}
	if k < count {
		vec.AddRows64(dst, row(k), row(k), -weights[k*step], 0)
	}
}
