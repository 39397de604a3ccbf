package kernel

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// Scans go along the columns of tables of n rows of inner elements, which lie one behind the
// other. A row of a table is made of the one before it at once; of tables with rows of one
// element several are walked side by side, so that none waits for the others' results.

// A Scan makes each row of a table of the one that it made before and of what is there.
type Scan[T dtype.Number] struct {
	First T                               // what comes before the first row
	Lines func(dst, x []T, n int, r bool) // tables with rows of one element; from the last if r
	Into  func(dst, x, y []T)             // a row; dst may be x
}

// A Scans is a scan in each dtype that has it.
type Scans struct {
	F32 Scan[float32]
	F64 Scan[float64]
	I64 Scan[int64]
}

// The scans.
var (
	// CumSum adds; integers wrap around.
	CumSum = Scans{
		F32: Scan[float32]{0, sumLines[float32], vec.Add},
		F64: Scan[float64]{0, sumLines[float64], vec.Add64},
		I64: Scan[int64]{0, sumLines[int64], AddTo[int64]},
	}
	// CumProd multiplies; integers wrap around.
	CumProd = Scans{
		F32: Scan[float32]{1, productLines[float32], vec.Mul},
		F64: Scan[float64]{1, productLines[float64], vec.Mul64},
		I64: Scan[int64]{1, productLines[int64], MulTo[int64]},
	}
)

// To is, of each table [n, inner] of dst and of x,
//
//	for i := range n {
//		for j := range inner {
//			dst[i][j] = (dst[i-1][j] or, of the first row, s.First) by x[i][j]
//		}
//	}
//
// or, if reverse, the same from the last row to the first. It panics if the lengths differ.
// dst is not x.
func (s *Scan[T]) To(dst, x []T, n, inner int, reverse bool) {
	check2(len(dst), len(x))
	if len(x) == 0 {
		return
	}
	if inner == 1 {
		s.Lines(dst, x, n, reverse)
		return
	}
	first, step := 0, inner
	if reverse {
		first, step = (n-1)*inner, -inner
	}
	for size := n * inner; len(x) > 0; dst, x = dst[size:], x[size:] {
		for j := 0; j < inner; j += Block { // what is made of one row is near when the next is made
			k := min(Block, inner-j)
			at := first + j
			row := dst[at:][:k]
			Fill(row, s.First)
			s.Into(row, row, x[at:][:k])
			for range n - 1 {
				at += step
				next := dst[at:][:k]
				s.Into(next, row, x[at:][:k])
				row = next
			}
		}
	}
}

// sumLines is the Lines of sums.
func sumLines[T dtype.Number](dst, x []T, n int, reverse bool) {
	first, step := ends(n, reverse)
	for ; len(x) >= 4*n; dst, x = dst[4*n:], x[4*n:] {
		a, b, c, d := x[:n], x[n:][:n], x[2*n:][:n], x[3*n:][:n]
		p, q, r, s := dst[:n], dst[n:][:n], dst[2*n:][:n], dst[3*n:][:n]
		var v, w, y, z T
		for i, at := 0, first; i < n; i, at = i+1, at+step {
			v, w, y, z = v+a[at], w+b[at], y+c[at], z+d[at]
			p[at], q[at], r[at], s[at] = v, w, y, z
		}
	}
	for ; len(x) > 0; dst, x = dst[n:], x[n:] {
		var sum T
		for i, at := 0, first; i < n; i, at = i+1, at+step {
			sum += x[at]
			dst[at] = sum
		}
	}
}

// productLines is the Lines of products.
func productLines[T dtype.Number](dst, x []T, n int, reverse bool) {
	first, step := ends(n, reverse)
	for ; len(x) >= 4*n; dst, x = dst[4*n:], x[4*n:] {
		a, b, c, d := x[:n], x[n:][:n], x[2*n:][:n], x[3*n:][:n]
		p, q, r, s := dst[:n], dst[n:][:n], dst[2*n:][:n], dst[3*n:][:n]
		var v, w, y, z T = 1, 1, 1, 1
		for i, at := 0, first; i < n; i, at = i+1, at+step {
			v, w, y, z = v*a[at], w*b[at], y*c[at], z*d[at]
			p[at], q[at], r[at], s[at] = v, w, y, z
		}
	}
	for ; len(x) > 0; dst, x = dst[n:], x[n:] {
		product := T(1)
		for i, at := 0, first; i < n; i, at = i+1, at+step {
			product *= x[at]
			dst[at] = product
		}
	}
}

// ends returns where a scan of n elements begins, and how far it goes from one to the next.
func ends(n int, reverse bool) (first, step int) {
	if reverse {
		return n - 1, -1
	}
	return 0, 1
}

// CumExtremeTo is, of each table [n, inner] of values, at and x,
//
//	for i := range n {
//		for j := range inner {
//			if i == 0 || x[i][j] >= values[i-1][j] || x[i][j] is NaN {
//				values[i][j], at[i][j] = x[i][j], i
//			} else {
//				values[i][j], at[i][j] = values[i-1][j], at[i-1][j]
//			}
//		}
//	}
//
// or with <= in the place of >=, if least. It panics if the lengths differ. values is not x.
func CumExtremeTo[T dtype.Number](values []T, at []int64, x []T, n, inner int, least bool) {
	check3(len(values), len(at), len(x))
	size := n * inner
	for ; len(x) > 0; values, at, x = values[size:], at[size:], x[size:] {
		switch {
		case inner > 1:
			extremeRows(values[:size], at[:size], x[:size], inner, least)
		case least:
			leastLine(values[:n], at[:n], x[:n])
		default:
			greatestLine(values[:n], at[:n], x[:n])
		}
	}
}

// greatestLine is CumExtremeTo of a table with rows of one element.
func greatestLine[T dtype.Number](values []T, at []int64, x []T) {
	values, at = values[:len(x)], at[:len(x)]
	most, where := x[0], 0
	for i, v := range x {
		if v >= most || v != v {
			most, where = v, i
		}
		values[i], at[i] = most, int64(where)
	}
}

// leastLine is greatestLine of the least.
func leastLine[T dtype.Number](values []T, at []int64, x []T) {
	values, at = values[:len(x)], at[:len(x)]
	least, where := x[0], 0
	for i, v := range x {
		if v <= least || v != v {
			least, where = v, i
		}
		values[i], at[i] = least, int64(where)
	}
}

// extremeRows is CumExtremeTo of one table.
func extremeRows[T dtype.Number](values []T, at []int64, x []T, inner int, least bool) {
	copy(values[:inner], x)
	clear(at[:inner])
	for lo := inner; lo < len(x); lo += inner {
		row, to, where := x[lo:][:inner], values[lo:][:inner], at[lo:][:inner]
		before, was, i := values[lo-inner:][:inner], at[lo-inner:][:inner], int64(lo/inner)
		for j, v := range row {
			best, from := before[j], was[j]
			if least && v <= best || !least && v >= best || v != v {
				best, from = v, i
			}
			to[j], where[j] = best, from
		}
	}
}

// RecurTo is, of each table [n, inner] of dst, x and a,
//
//	for i := range n {
//		for j := range inner {
//			dst[i][j] = x[i][j] + a[i][j] * dst[i-1][j]
//		}
//	}
//
// without the product in the first row, whose a does not count; or, if reverse, the same from
// the last row to the first. Products are rounded before they are added. It panics if the
// lengths differ. dst is none of the others.
func RecurTo[T dtype.Float](dst, x, a []T, n, inner int, reverse bool) {
	check3(len(dst), len(x), len(a))
	for size := n * inner; len(x) > 0; dst, x, a = dst[size:], x[size:], a[size:] {
		y, v, w := dst[:size], x[:size], a[:size]
		if reverse {
			copy(y[size-inner:], v[size-inner:])
			for i := size - inner - 1; i >= 0; i-- {
				y[i] = v[i] + T(w[i]*y[i+inner])
			}
			continue
		}
		copy(y[:inner], v)
		for i := inner; i < size; i++ {
			y[i] = v[i] + T(w[i]*y[i-inner])
		}
	}
}
