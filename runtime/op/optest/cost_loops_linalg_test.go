package optest

import "tpsh/runtime/op"

// Decompositions are a library's: their operations are not counted one by one, but
// are those of Golub and Van Loan, Matrix Computations, 4th edition, for each matrix
// [m, n] of a batch.
func init() {
	addLoop(decomposed(func(m, n, _ int) int { return 2 * n * n * n }), "matrix_inverse")
	addLoop(decomposed(func(m, n, k int) int { return 2*n*n*n/3 + 2*n*n*k }), "matrix_solve")
	addLoop(decomposed(func(m, n, k int) int { a, l := max(m, n), min(m, n); return 2*a*l*l - 2*l*l*l/3 + 4*a*l*k - l*l*k }), "matrix_lstsq")
	addLoop(decomposed(func(m, n, _ int) int { return 2 * n * n * n / 3 }), "log_det")
	addLoop(decomposed(func(m, n, _ int) int { return n * n * n / 3 }), "matrix_cholesky")
	addLoop(decomposed(func(m, n, _ int) int { k := min(m, n); return 4*m*n*k - 4*k*k*k/3 }), "matrix_qr")
	addLoop(decomposed(func(m, n, _ int) int { a, k := max(m, n), min(m, n); return 6*a*k*k + 20*k*k*k }), "matrix_svd")
	addLoop(decomposed(func(m, n, _ int) int { return 9 * n * n * n }), "matrix_eigh")
	addLoop(decomposed(func(m, n, _ int) int { a, k := max(m, n), min(m, n); return 4*a*k*k - 4*k*k*k/3 }), "matrix_svdvals")
	addLoop(decomposed(func(_, n, _ int) int { return 4 * n * n * n / 3 }), "matrix_eigvalsh")
	addLoop(decomposed(func(m, n, _ int) int { return 20 * n * n * n }), "matrix_exp")
	addLoop(decomposed(func(m, n, _ int) int { k := min(m, n); return 2*m*n*k - (m+n)*k*k + 2*k*k*k/3 }), "matrix_lu", "matrix_reflectors")
	addLoop(decomposed(func(m, n, _ int) int { return n }), "matrix_pivots")
	addLoop(decomposed(func(m, n, _ int) int { return 2 * n * n * n / 3 }), "matrix_info")
	addLoop(decomposed(func(m, n, k int) int { return n * n * k }), "matrix_triangular")
	addLoop(decomposed(func(m, n, _ int) int { return 25 * n * n * n }), "matrix_eig")
	addLoop(decomposed(func(_, n, _ int) int { return 10 * n * n * n }), "matrix_eigvals")
	addLoop(decomposed(func(n, _, _ int) int { return 8 * n * n * n / 3 }), "complex_log_det")
	addLoop(decomposed(func(m, n, _ int) int { a, k := max(m, n), min(m, n); return 24*a*k*k + 80*k*k*k }), "complex_svd")
	addLoop(decomposed(func(n, _, _ int) int { return 36 * n * n * n }), "complex_eigh")
	addLoop(decomposed(func(m, n, _ int) int { k := min(m, n); return 8*m*n*k - 4*(m+n)*k*k + 4*(2*k*k*k/3) }), "complex_lu", "complex_reflectors")
	addLoop(decomposed(func(n, _, _ int) int { return 8 * n * n * n / 3 }), "complex_info")
	addLoop(decomposed(func(n, _, _ int) int { return 100 * n * n * n }), "complex_eig")
	addLoop(decomposed(func(n, _, _ int) int { return 40 * n * n * n }), "complex_eigvals")
	addLoop(decomposed(func(n, _, _ int) int { return n * n * n / 3 }), "matrix_ldl")
	addLoop(decomposed(func(n, _, _ int) int { return 4 * n * n * n / 3 }), "complex_ldl")
	addLoop(decomposed(func(n, _, k int) int { return 2 * n * n * k }), "matrix_ldl_solve")
	addLoop(decomposed(func(n, _, k int) int { return 8 * n * n * k }), "complex_ldl_solve")
}

// decomposed is a loop over matrices [m, n], with right sides of k columns if there
// are some, each of which takes flops.
func decomposed(flops func(m, n, k int) int) loop {
	return whole(func(c *count, call *op.Call) {
		s := call.In[0].Shape()
		k := 0
		if len(call.In) > 1 {
			k = call.In[1].Shape()[len(s)-1]
		}
		c.ops(s[:len(s)-2].Numel(), flops(s[len(s)-2], s[len(s)-1], k))
	})
}
