package lapack

import "math"

// small is the size of square matrices up to which what a reflector does to the elements behind it is
// done at once: vectors and panels take longer to begin than few elements take.
const small = 32

// smallTridiagonal is toTridiagonal of a small matrix: Golub and Van Loan, Matrix Computations, 4th
// edition, 8.3.1.
func smallTridiagonal(a []float64, n int) (d, e []float64, q *reflectors) {
	d, e, q = make([]float64, n), make([]float64, max(n-1, 0)), newReflectors(n, max(n-1, 0), 1, false)
	column, w := make([]float64, n), make([]float64, n)
	for j := range n {
		d[j] = a[j*n+j]
		if j+1 == n {
			break
		}
		x, w := column[j+1:], w[j+1:]
		for i := range x {
			x[i] = a[(j+1+i)*n+j]
		}
		v, beta := q.make(j, x)
		e[j] = beta
		lowerTimes(w, a[(j+1)*n+j+1:], n, v)
		tau := q.tau[j]
		half := tau * dot(w, v) / 2
		for i := range w {
			w[i] = tau * math.FMA(-half, v[i], w[i])
		}
		for i, vi := range v {
			row, wi := a[(j+1+i)*n+j+1:][:i+1], w[i]
			for k := range row {
				row[k] = math.FMA(-vi, w[k], math.FMA(-wi, v[k], row[k]))
			}
		}
	}
	return d, e, q
}

// lowerTimes stores in dst the product with x of the symmetric matrix whose lower triangle is that of a,
// whose rows are lda apart.
func lowerTimes(dst, a []float64, lda int, x []float64) {
	clear(dst)
	for i, xi := range x {
		row, s := a[i*lda:][:i+1], 0.0
		for k, v := range row[:i] {
			s = math.FMA(v, x[k], s)
			dst[k] = math.FMA(v, xi, dst[k])
		}
		dst[i] += math.FMA(row[i], xi, s)
	}
}

// smallBidiagonal is toBidiagonal of a small matrix: Golub and Van Loan, Matrix Computations, 4th
// edition, 5.4.8. It spoils a.
func smallBidiagonal(a []float64, n int) (d, f []float64, u, v *reflectors) {
	d, f = make([]float64, n), make([]float64, max(n-1, 0))
	u, v = newReflectors(n, n, 0, false), newReflectors(n, max(n-1, 0), 1, false)
	column, sums := make([]float64, n), make([]float64, n)
	for j := range n {
		x := column[j:]
		for i := range x {
			x[i] = a[(j+i)*n+j]
		}
		x, d[j] = u.make(j, x)
		if j+1 == n {
			break
		}
		sums := sums[j+1:]
		clear(sums)
		for i, xi := range x {
			for k, v := range a[(j+i)*n+j+1 : (j+i+1)*n] {
				sums[k] = math.FMA(xi, v, sums[k])
			}
		}
		for i, xi := range x {
			row, times := a[(j+i)*n+j+1:(j+i+1)*n], u.tau[j]*xi
			for k, s := range sums {
				row[k] = math.FMA(-times, s, row[k])
			}
		}
		x, f[j] = v.make(j, a[j*n+j+1:(j+1)*n])
		for i := j + 1; i < n; i++ {
			row := a[i*n+j+1 : (i+1)*n]
			times := v.tau[j] * dot(row, x)
			for k, xk := range x {
				row[k] = math.FMA(-times, xk, row[k])
			}
		}
	}
	return d, f, u, v
}
