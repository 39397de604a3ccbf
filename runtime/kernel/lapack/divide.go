package lapack

import (
	"math"

	"gonum.org/v1/gonum/blas"
)

// undivided is the size of matrices up to which rotations find values, and from which on
// matrices are divided.
const undivided = 32

// vanishing is what counts as 0, of matrices whose largest element is at least 2⁻²⁰⁰: its
// square and its inverse are still numbers.
const vanishing = 0x1p-500

// A kind says where the vector of a value has elements when two halves of a matrix are put
// together: in the first, in both, or in the second.
type kind int

const (
	first kind = iota
	both
	second
)

// A vectors is a square part of a matrix, whose rows are vectors: rows and columns
// [lo, hi) of one with ld columns, of which those before mid belong to the first half.
type vectors struct {
	data            []float64
	ld, lo, mid, hi int
}

// row returns row i of the part.
func (v *vectors) row(i int) []float64 { return v.data[(v.lo+i)*v.ld+v.lo:][:v.hi-v.lo] }

// turn turns rows i and k by g.
func (v *vectors) turn(g rotation, i, k int) {
	x, y := v.row(i), v.row(k)
	for j, a := range x {
		b := y[j]
		x[j], y[j] = g.of(a, b)
	}
}

// gather returns columns [from, to) of the given rows, one after the other.
func (v *vectors) gather(rows []int, from, to int) []float64 {
	out := make([]float64, 0, len(rows)*(to-from))
	for _, i := range rows {
		out = append(out, v.row(i)[from:to]...)
	}
	return out
}

// replace makes of the rows of indices kept, whose elements are as kinds says, their sums
// with the weights that the rows of s [k, k] have, and puts all in order: sum i becomes row
// targets[i], and row rest[i] becomes row targets[k + i]. It spoils s.
func (v *vectors) replace(s []float64, kept []int, kinds []kind, rest, targets []int) {
	k := len(kept)
	sorted, columns := make([]int, 0, k), make([]int, 0, k)
	var ends [3]int
	for kd := first; kd <= second; kd++ {
		for j, row := range kept {
			if kinds[row] == kd {
				sorted, columns = append(sorted, row), append(columns, j)
			}
		}
		ends[kd] = len(sorted)
	}
	permuted := make([]float64, k)
	for i := range k {
		row := s[i*k:][:k]
		for j, from := range columns {
			permuted[j] = row[from]
		}
		copy(row, permuted)
	}
	n, h := v.hi-v.lo, v.mid-v.lo
	stay := v.gather(rest, 0, n)
	upper, lower := v.gather(sorted[:ends[both]], 0, h), v.gather(sorted[ends[first]:], h, n)
	out := make([]float64, k*n)
	to, from := ends[both], ends[first]
	if k > 0 {
		multiply(out, n, s, k, upper, k, h, to)
		multiply(out[h:], n, s[from:], k, lower, k, n-h, k-from)
	}
	for i := range k {
		copy(v.row(targets[i]), out[i*n:])
	}
	for i := range rest {
		copy(v.row(targets[k+i]), stay[i*n:][:n])
	}
}

// multiply stores a b, of [m, k] and [k, n], in dst, whose rows are ldd apart; those of a
// are lda apart.
func multiply(dst []float64, ldd int, a []float64, lda int, b []float64, m, n, k int) {
	if m == 0 || n == 0 {
		return
	}
	if k == 0 {
		for i := range m {
			clear(dst[i*ldd:][:n])
		}
		return
	}
	products{}.Dgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, a, lda, b, n, 0, dst, ldd)
}

// A merger puts two halves together whose matrix is a diagonal one and a vector: d [n] on
// the diagonal, and z [n].
type merger struct {
	d, z  []float64
	kinds []kind
	turn  func(g rotation, i, k int) // turns the vectors of d[i] and d[k]
}

// deflate returns the indices, of order, of the d that change, and those of others, whose z
// is as good as 0: smaller than small, or made so by a rotation of two d that are as good as
// equal, which disturbs by no more than near. d ascends along order.
func (m *merger) deflate(order []int, small, near float64) (kept, rest []int) {
	last := -1
	for _, i := range order {
		if math.Abs(m.z[i]) <= small {
			rest = append(rest, i)
			continue
		}
		if last < 0 {
			last = i
			continue
		}
		g, r := rotationTo(m.z[i], m.z[last])
		if gap := m.d[i] - m.d[last]; math.Abs(gap*g.c*g.s) > near {
			kept = append(kept, last)
			last = i
			continue
		}
		m.turn(g, i, last)
		if m.kinds[i] != m.kinds[last] {
			m.kinds[i], m.kinds[last] = both, both
		}
		m.z[i], m.z[last] = r, 0
		a, b := m.d[i], m.d[last]
		m.d[i], m.d[last] = float64(g.c*g.c*a)+float64(g.s*g.s*b), float64(g.s*g.s*a)+float64(g.c*g.c*b)
		rest, last = append(rest, last), i
	}
	if last >= 0 {
		kept = append(kept, last)
	}
	return kept, rest
}

// pick returns the elements of x of the given indices.
func pick(x []float64, indices []int) []float64 {
	out := make([]float64, len(indices))
	for i, from := range indices {
		out[i] = x[from]
	}
	return out
}

// placed stores values in d in ascending order, and returns where each of them went.
func placed(d, values []float64) (targets []int) {
	targets = make([]int, len(values))
	for to, from := range ordered(values, false) {
		d[to], targets[from] = values[from], to
	}
	return targets
}

// normalize makes the length of x 1, whose length has no overflow.
func normalize(x []float64) {
	s := 0.0
	for _, v := range x {
		s += float64(v * v)
	}
	s = 1 / math.Sqrt(s)
	for i := range x {
		x[i] *= s
	}
}
