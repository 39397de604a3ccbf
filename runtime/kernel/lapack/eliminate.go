package lapack

import (
	"math"

	"gonum.org/v1/gonum/blas"

	"tpsh/runtime/kernel/vec"
)

// fewColumns are eliminated one by one. Those of a larger matrix are brought side by side
// first: rows that lie pages apart drive each other out of the caches.
const fewColumns = 32

// fewTerms are added without vectors.
const fewTerms = 16

// factorLU makes of a [m, n], whose rows are lda apart, its factors as LAPACK's getrf does: u
// in the upper triangle, and below it l, without the ones on its diagonal; pivots are the rows
// that were exchanged for row 0, 1, .... It reports whether no element of u's diagonal is 0.
// Columns are halved until they are few, so that nearly all is products: Toledo, "Locality of
// reference in LU decomposition with partial pivoting", SIAM J. Matrix Anal. Appl. 18(4), 1997.
func factorLU(a []float64, m, n, lda int, pivots []int) bool {
	k := min(m, n)
	switch {
	case k == 0:
		return true
	case n <= fewColumns && lda > 2*n:
		return factorCopy(a, m, n, lda, pivots)
	case k <= 2*fewColumns && (k <= fewColumns || lda == n):
		return factorRows(a, m, n, lda, pivots)
	}
	h := k / 2
	first := factorLU(a, m, h, lda, pivots[:h])
	for i, at := range pivots[:h] {
		swap(a[i*lda+h:][:n-h], a[at*lda+h:])
	}
	solveTriangle(a[h:], lda, a, lda, h, n-h, false, true)
	products{}.Dgemm(blas.NoTrans, blas.NoTrans, m-h, n-h, h, -1, a[h*lda:], lda, a[h:], lda, 1, a[h*lda+h:], lda)
	second := factorLU(a[h*lda+h:], m-h, n-h, lda, pivots[h:k])
	for i := h; i < k; i++ {
		pivots[i] += h
		swap(a[i*lda:][:h], a[pivots[i]*lda:])
	}
	return first && second
}

// factorRows is factorLU of few rows or columns, where they lie. What two rows of u do to those below
// them is done at once.
func factorRows(a []float64, m, n, lda int, pivots []int) bool {
	k, ok := min(m, n), true
	row := func(i int) []float64 { return a[i*lda:][:n] }
	for j := 0; j < k; j += 2 {
		ok = bringPivot(a, j, m, n, lda, pivots) && ok
		if j+1 == k {
			break // no row is below, or no column behind
		}
		first := row(j)
		for i := j + 1; i < m; i++ {
			below := row(i)
			below[j+1] = math.FMA(-below[j], first[j+1], below[j+1])
		}
		ok = bringPivot(a, j+1, m, n, lda, pivots) && ok
		second := row(j + 1)
		takeTwo(second[j+2:], first[j+2:], first[j+2:], second[j], 0)
		for i := j + 2; i < m; i++ {
			below := row(i)
			takeTwo(below[j+2:], first[j+2:], second[j+2:], below[j], below[j+1])
		}
	}
	return ok
}

// bringPivot exchanges row j for the one below with the largest element of column j, which is divided
// by it. It returns false if that is 0.
func bringPivot(a []float64, j, m, n, lda int, pivots []int) bool {
	at, most := j, math.Abs(a[j*lda+j])
	for i := j + 1; i < m; i++ {
		if v := math.Abs(a[i*lda+j]); v > most {
			at, most = i, v
		}
	}
	pivots[j] = at
	if at != j {
		swap(a[j*lda:][:n], a[at*lda:])
	}
	pivot := a[j*lda+j]
	if pivot == 0 {
		return false
	}
	for i := j + 1; i < m; i++ {
		a[i*lda+j] /= pivot
	}
	return true
}

// takeTwo takes from dst times0 x0 and times1 x1.
func takeTwo(dst, x0, x1 []float64, times0, times1 float64) {
	if len(dst) > fewTerms {
		vec.AddRows64(dst, x0, x1, -times0, -times1)
		return
	}
	x0, x1 = x0[:len(dst)], x1[:len(dst)]
	for i, v := range dst {
		dst[i] = math.FMA(-times1, x1[i], math.FMA(-times0, x0[i], v))
	}
}

// factorCopy is factorLU of a copy whose columns lie side by side, which it puts back.
func factorCopy(a []float64, m, n, lda int, pivots []int) bool {
	apart := m + vec.Lanes/2 // so that elements of a row do not fall into one set of a cache
	buffer := borrow(n * apart)
	defer scratch.Put(buffer)
	columns := *buffer
	transposeApart(columns, apart, a, lda, m, n)
	ok := factorColumns(columns, m, n, apart, pivots)
	transposeApart(a, lda, columns, apart, n, m)
	return ok
}

// factorColumns is factorLU of columns of m elements, which are so far apart. Each is finished
// before the next one is changed at all, by two earlier ones at a time: Golub and Van Loan,
// Matrix Computations, 4th edition, 3.2.9.
func factorColumns(columns []float64, m, n, apart int, pivots []int) bool {
	ok := true
	column := func(j int) []float64 { return columns[j*apart:][:m] }
	for j := range n {
		c := column(j)
		for i, at := range pivots[:min(j, m)] {
			c[i], c[at] = c[at], c[i]
		}
		eliminateColumn(c, min(j, m), column)
		if j >= m {
			continue
		}
		at := j + largestAt(c[j:])
		pivots[j] = at
		for k := range j + 1 {
			before := column(k)
			before[j], before[at] = before[at], before[j]
		}
		if c[j] == 0 {
			ok = false
			continue
		}
		divide(c[j+1:], c[j])
	}
	return ok
}

// eliminateColumn takes from c the first finished columns times its elements of u.
func eliminateColumn(c []float64, finished int, column func(j int) []float64) {
	k := 0
	for ; k+1 < finished; k += 2 {
		first, second := column(k), column(k+1)
		c[k+1] -= float64(c[k] * first[k+1])
		vec.AddRows64(c[k+2:], first[k+2:], second[k+2:], -c[k], -c[k+1])
	}
	if k < finished {
		vec.AddRows64(c[k+1:], column(k)[k+1:], column(k)[k+1:], -c[k], 0)
	}
}

// largestAt returns the index of the first of the elements of x with the largest absolute value.
func largestAt(x []float64) int {
	at, most := 0, math.Abs(x[0])
	for i, v := range x {
		if v = math.Abs(v); v > most {
			at, most = i, v
		}
	}
	return at
}

// divide divides x, by way of the inverse if that is a number.
func divide(x []float64, by float64) {
	if math.Abs(by) >= 0x1p-1022 {
		scale(x, 1/by)
		return
	}
	for i := range x {
		x[i] /= by
	}
}

// swap exchanges the elements of x and the first ones of y.
func swap(x, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		x[i], y[i] = y[i], v
	}
}
