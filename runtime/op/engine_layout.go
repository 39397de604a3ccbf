package op

import (
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A span is a dim as the engine walks it.
type span struct{ size, stride int }

// A layout says where elements lie in a buffer: element 0 at offset, the
// others by the spans, outermost first. It has no span of size 1, and
// neighbours that one stride serves are merged, so a contiguous tensor has at
// most one span.
type layout struct {
	offset int
	spans  []span
}

// broadcastLayout returns the layout of x broadcast to s, which x fits.
func broadcastLayout(x *tensor.Tensor, s shape.Shape) layout {
	l := layout{offset: x.Offset()}
	if x.Numel() == 1 {
		return l
	}
	l.spans = make([]span, 0, len(s))
	lead := len(s) - x.Ndim()
	for i, size := range s {
		stride := 0
		if d := i - lead; d >= 0 && x.Shape()[d] != 1 {
			stride = x.Strides()[d]
		}
		l.add(span{size, stride})
	}
	return l
}

// add appends a span, or merges it with the last.
func (l *layout) add(s span) {
	if s.size == 1 {
		return
	}
	if k := len(l.spans) - 1; k >= 0 && l.spans[k].stride == s.stride*s.size {
		l.spans[k] = span{l.spans[k].size * s.size, s.stride}
		return
	}
	l.spans = append(l.spans, s)
}

// pieces returns how many pieces a single stride serves, and their elements; none where
// all elements are one, or lie in order, or there are none.
func (l *layout) pieces() (pieces, elements int) {
	if l.constant() || len(l.spans) == 1 && l.spans[0].stride == 1 {
		return 0, 0
	}
	elements = 1
	for _, s := range l.spans {
		elements *= s.size
	}
	if elements == 0 {
		return 0, 0
	}
	return elements / l.spans[len(l.spans)-1].size, elements
}

// constant reports whether every element is the one at offset.
func (l *layout) constant() bool {
	return len(l.spans) == 0 || len(l.spans) == 1 && l.spans[0].stride == 0
}

// runs calls f for each piece of elements lo to hi that a single stride
// serves: n elements, the first being element at, and lying at off.
func (l *layout) runs(lo, hi int, f func(at, off, stride, n int)) {
	k := len(l.spans) - 1
	if k < 0 {
		f(lo, l.offset, 0, hi-lo)
		return
	}
	inner := l.spans[k]
	row, col := lo/inner.size, lo%inner.size
	for lo < hi {
		n := min(inner.size-col, hi-lo)
		f(lo, l.rowOffset(row)+col*inner.stride, inner.stride, n)
		lo += n
		row, col = row+1, 0
	}
}

// grids calls f for each table of elements among lo to hi that a stride of rows and one of
// columns serve: near is where it lies in row-major order, far where in the buffer. l has
// at least two spans.
func (l *layout) grids(lo, hi int, f func(near, far kernel.Grid, rows, cols int)) {
	k := len(l.spans) - 1
	inner, outer := l.spans[k], l.spans[k-1]
	row, col := lo/inner.size, lo%inner.size
	for lo < hi {
		rows, cols := 1, min(inner.size-col, hi-lo)
		if cols == inner.size {
			rows = min(outer.size-row%outer.size, (hi-lo)/cols)
		}
		far := kernel.Grid{Offset: l.rowOffset(row) + col*inner.stride, Row: outer.stride, Col: inner.stride}
		f(kernel.Grid{Offset: lo, Row: cols, Col: 1}, far, rows, cols)
		lo += rows * cols
		row, col = row+rows, 0
	}
}

// rowOffset returns where the row-th run of the innermost span begins.
func (l *layout) rowOffset(row int) int {
	off := l.offset
	for i := len(l.spans) - 2; i > 0; i-- {
		off += row % l.spans[i].size * l.spans[i].stride
		row /= l.spans[i].size
	}
	if len(l.spans) > 1 {
		off += row * l.spans[0].stride
	}
	return off
}
