package lapack

import (
	"math"

	"gonum.org/v1/gonum/blas"
)

// fewSolved is how many columns take longer with vectors than with numbers, and solvedTogether how many of them
// the first-level cache holds with a small triangle.
const fewSolved, solvedTogether = 4, 96

// solveTriangle makes of b [n, k], whose rows are ldb apart, the x with t x = b, for the lower or upper triangle t
// of a [n, n], whose rows are lda apart and whose diagonal counts as ones if unit is set: half of the triangle
// first, whose x times the corner is subtracted.
func solveTriangle(b []float64, ldb int, a []float64, lda, n, k int, upper, unit bool) {
	if n <= leaf || k == 0 {
		solveRows(b, ldb, a, lda, n, k, upper, unit)
		return
	}
	h := n / 2
	below, last := b[h*ldb:], a[h*lda+h:]
	if upper {
		solveTriangle(below, ldb, last, lda, n-h, k, upper, unit)
		products{}.Dgemm(blas.NoTrans, blas.NoTrans, h, k, n-h, -1, a[h:], lda, below, ldb, 1, b, ldb)
		solveTriangle(b, ldb, a, lda, h, k, upper, unit)
		return
	}
	solveTriangle(b, ldb, a, lda, h, k, upper, unit)
	products{}.Dgemm(blas.NoTrans, blas.NoTrans, n-h, k, h, -1, a[h*lda:], lda, b, ldb, 1, below, ldb)
	solveTriangle(below, ldb, last, lda, n-h, k, upper, unit)
}

// solveRows is solveTriangle of few rows: as many columns at a time as the first-level cache holds.
func solveRows(b []float64, ldb int, a []float64, lda, n, k int, upper, unit bool) {
	for left := 0; left < k; left += solvedTogether {
		cols := min(solvedTogether, k-left)
		row := func(i int) []float64 { return b[i*ldb+left:][:cols] }
		for done := range n {
			i, from := done, 0 // row i takes from the done ones, from that row on
			if upper {
				i, from = n-1-done, n-done
			}
			if done > 0 && cols >= fewSolved {
				takeRows(row(i), done, a[i*lda+from:], 1, b[from*ldb+left:], ldb)
			} else {
				for at := from; at < from+done; at++ {
					weight, to := a[i*lda+at], row(i)
					for j, v := range row(at) {
						to[j] = math.FMA(-weight, v, to[j]) // as takeRows does
					}
				}
			}
			if !unit {
				divide(row(i), a[i*lda+i])
			}
		}
	}
}
