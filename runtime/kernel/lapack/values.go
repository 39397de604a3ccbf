package lapack

import (
	"math"
	"slices"
)

// SingularValues stores the singular values of a [m, n] in s [k] in descending order, where
// k is the lesser of m and n. Without vectors they take a fraction of the time of SVD.
func SingularValues(s, a []float64, m, n int) bool {
	if min(m, n) == 0 {
		return true
	}
	if !finite(a) {
		return false
	}
	if m < n {
		a, m, n = transposed(a, m, n), n, m
	}
	if m > n { // those of r
		f := make([]float64, m*n)
		Reflectors(f, make([]float64, n), a, m, n)
		a = f[:n*n]
		for i := range n {
			clear(a[i*n:][:i])
		}
	}
	x, by := scaled(a)
	d, f, _, _ := toBidiagonal(x, n, true)
	b := &bidiagonalMatrix{n: n, d: d, f: f}
	if !b.values() {
		return false
	}
	for i, v := range d {
		d[i] = math.Abs(v) / by
	}
	slices.Sort(d)
	slices.Reverse(d)
	copy(s, d)
	return true
}

// Eigenvalues stores the eigenvalues of the symmetric a [n, n] in w [n] in ascending order.
// Of a it reads the lower triangle. Without vectors they take a fraction of the time of
// Eigh.
func Eigenvalues(w, a []float64, n int) bool {
	if n == 0 {
		return true
	}
	if !finite(a) {
		return false
	}
	x, by := scaled(a)
	d, e, _ := toTridiagonal(x, n, true)
	if !tridiagonalValues(d, e) {
		return false
	}
	slices.Sort(d)
	scale(d, 1/by)
	copy(w, d)
	return true
}

// tridiagonalValues makes of d [n] the eigenvalues of the symmetric tridiagonal matrix with
// the diagonal d and e [n-1] beside it, which it spoils: steps of QR without roots, of
// Pal, Walker and Kahan (Parlett, The Symmetric Eigenvalue Problem, 8.15), that know only
// the squares of e. Where QR without vectors waits for a root and a quotient in turns, this
// waits for one quotient.
func tridiagonalValues(d, e []float64) bool {
	n, unit := len(d), powerNear(max(largestOf(d), largestOf(e)))
	scale(d, unit)
	scale(e, unit)
	for i, v := range e {
		e[i] = v * v
	}
	for hi, left := n-1, sweeps*n; hi > 0; {
		lo := hi
		for lo > 0 {
			if least := precision * (math.Abs(d[lo-1]) + math.Abs(d[lo])); e[lo-1] <= max(vanishing*vanishing, least*least) {
				e[lo-1] = 0
				break
			}
			lo--
		}
		if lo == hi {
			hi--
			continue
		}
		if left--; left < 0 {
			return false
		}
		squareStep(d[lo:hi+1], e[lo:hi], shift(d[hi-1], math.Sqrt(e[hi-1]), d[hi]))
	}
	scale(d, 1/unit)
	return true
}

// squareStep is a step of QR with a shift on the matrix with the diagonal d and the roots
// of e beside it, none of which is 0.
func squareStep(d, e []float64, shift float64) {
	c, s, gamma := 1.0, 0.0, d[0]-shift
	p := gamma * gamma
	for i, square := range e {
		r := p + square
		if i > 0 {
			e[i-1] = s * r
		}
		before, up := c, r/p // the inverse of the next c, which need not wait for that
		c, s = p/r, square/r
		next := d[i+1]
		above := float64(c*(next-shift)) - float64(s*gamma)
		d[i] = gamma + (next - above)
		gamma = above
		if c < 0x1p-1000 { // up may be infinite
			p = before * square
		} else {
			p = gamma * gamma * up
		}
	}
	last := len(e)
	e[last-1], d[last] = s*p, shift+gamma
}
