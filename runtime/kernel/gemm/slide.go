package gemm

import (
	"fmt"
	"slices"

	"tpsh/runtime/dtype"
)

// A slideFunc computes what windows of one channel sum up to: it is
//
//	for i := range rows {
//		for j := range n {
//			total := -0
//			for each part of taps {
//				sum := 0
//				for t in the part {
//					sum = fma(x[i*rowX+j+taps[t]], w[t], sum)
//				}
//				total = sum + total
//			}
//			c[i*ldc+j] = total
//		}
//	}
//
// for n of at least its vectors, which are its own number, and rows and count of at
// least 1. Strides are in bytes; of taps, twice the bytes, and 1 more for the last of a part.
type slideFunc[T dtype.Float] func(c *T, ldc int, x *T, rowX int, w *T, taps *int, count, n, rows int)

// A rowSumsFunc sums products of as many rows as a vector has lanes: it is
//
//	for t := range count {
//		for i := range lanes {
//			sum := 0
//			for j := range n {
//				sum += x[j*rowX+taps[t]+i] * y[j*rowY+i], rounded
//			}
//			sums[t*lanes+i] = sum
//		}
//	}
//
// for its own count. Strides and taps are in bytes.
type rowSumsFunc[T dtype.Float] func(sums, x *T, rowX int, y *T, rowY int, taps *int, n int)

// A Slide is windows of one channel, whose sums are kept in registers: each has
// the elements at Taps of one channel, whose products are summed in parts, and these in
// order.
type Slide[T dtype.Float] struct {
	kernels *kernels[T]
	taps    []int // see slideFunc
	most    int   // the greatest of what NewSlide was given
}

// NewSlide returns the windows of elements taps, the parts of which are so many each,
// or nil if the instructions in use have none. A part has at most Block elements.
func NewSlide[T dtype.Float](taps, parts []int) *Slide[T] {
	s := &Slide[T]{kernels: active[T](), most: slices.Max(taps)}
	if len(s.kernels.slides) == 0 || slices.Max(parts) > Block {
		return nil
	}
	s.taps = make([]int, len(taps))
	for i, t := range taps {
		s.taps[i] = 2 * t * elemBytes[T]()
	}
	last := -1
	for _, n := range parts {
		last += n
		s.taps[last]++
	}
	return s
}

// Lanes returns how many places in a row To takes at least.
func (s *Slide[T]) Lanes() int { return s.kernels.lanes }

// To stores in rows of c, ldc elements apart, the sums of n windows each, the first elements
// of which follow one another in rows of x, rowX elements apart. It panics if what it takes lies
// outside.
func (s *Slide[T]) To(c []T, ldc int, x []T, rowX int, w []T, n, rows int) {
	lastC, lastX := (rows-1)*ldc+n, (rows-1)*rowX+n+s.most
	if n < s.Lanes() || rows < 1 || len(w) < len(s.taps) || ldc < 0 || rowX < 0 || lastC > len(c) || lastX > len(x) {
		panic(fmt.Sprintf("gemm: %d rows of %d windows of %d elements in %d, to %d elements", rows, n, len(w), len(x), len(c)))
	}
	width := len(s.kernels.slides) - 1
	for n < s.kernels.lanes<<width {
		width--
	}
	b := elemBytes[T]()
	s.kernels.slides[width](&c[0], ldc*b, &x[0], rowX*b, &w[0], &s.taps[0], len(s.taps), n, rows)
}

// RowLanes returns how many rows RowSums takes, 0 if the instructions in use have none.
func RowLanes[T dtype.Float]() int {
	ks := active[T]()
	if len(ks.rowSums) == 0 {
		return 0
	}
	return ks.lanes
}

// RowSums stores in sums [len(taps), RowLanes] the sums of rounded products of x and y, one column
// after the other:
//
//	sums[t, i] = Σ x[taps[t]+j*rowX+i] * y[j*rowY+i], over j in order, up to n
//
// It panics if what it takes lies outside.
func RowSums[T dtype.Float](sums, x []T, rowX int, y []T, rowY int, taps []int, n int) {
	ks := active[T]()
	lastX, lastY := (n-1)*rowX+slices.Max(taps)+ks.lanes, (n-1)*rowY+ks.lanes
	if n < 1 || slices.Min(taps) < 0 || rowX < 0 || rowY < 0 || lastX > len(x) || lastY > len(y) || len(sums) < len(taps)*ks.lanes {
		panic(fmt.Sprintf("gemm: %d columns of rows in %d and %d elements, to %d", n, len(x), len(y), len(sums)))
	}
	b := elemBytes[T]()
	var bytes [16]int
	for first := 0; first < len(taps); first += len(ks.rowSums) {
		some := taps[first:min(first+len(ks.rowSums), len(taps))]
		for i, t := range some {
			bytes[i] = t * b
		}
		ks.rowSums[len(some)-1](&sums[first*ks.lanes], &x[0], rowX*b, &y[0], rowY*b, &bytes[0], n)
	}
}

// Turn stores in to the first n of rows of from, stride elements apart, turned: element [l, i] of to,
// whose rows lie width elements apart, is element [i, l] of from, for l up to cols. What lies
// behind the n elements of a row of to is unspecified. It panics if width is less than n, rounded up to whole
// vectors, or what it takes lies outside.
func Turn[T dtype.Float](to []T, width int, from []T, stride, n, cols int) {
	ks := active[T]()
	whole := ceil(n, ks.lanes) * ks.lanes
	if n < 1 || cols < 1 || width < whole || stride < 0 || (cols-1)*width+whole > len(to) || (n-1)*stride+cols > len(from) {
		panic(fmt.Sprintf("gemm: %d rows of %d in %d elements, turned into %d, %d apart", n, cols, len(from), len(to), width))
	}
	for i := 0; i < n; i += ks.lanes {
		ks.transpose(&to[i], width, &from[i*stride], stride, min(ks.lanes, n-i), cols)
	}
}
