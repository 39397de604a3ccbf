package gemm

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// A product of one row by a b that is far away takes as long as b takes to
// arrive. That is least if b is read in the order in which it lies, which the
// processor recognises and fetches ahead, better than instructions can: so a few
// rows of b pass by side by side, and the sums, which stay in the first-level
// cache, are taken up again for each few rows. With more rows the sums cost more
// than that saves, and tiles, which go down b, are as fast.

const (
	// streamRows is how many rows of b pass by side by side.
	streamRows = 16

	// streamBytes is the size of the sums of a panel.
	streamBytes = 16 << 10
)

// canStream reports whether there is a stream for s, and a b that is far away.
func (s *shape[T]) canStream() bool {
	return s.directA && s.directB && s.m <= len(s.streams) && s.k*s.n*elemBytes[T]() > farBytes && s.n >= s.streams[s.m-1].columns
}

// runStream computes columns [lo, hi) of the product in c, whose rows are ldc
// apart.
func (s *shape[T]) runStream(ws *workspace[T], c []T, ldc, lo, hi int) {
	columns := s.streams[s.m-1].columns
	whole := (hi - lo) / columns * columns
	step := max(streamBytes/(elemBytes[T]()*s.m*columns), 1) * columns
	sums := ws.sums(s.m * step)
	for j := 0; j < whole; j += step {
		cols := min(step, whole-j)
		s.stream(c[j:], ldc, lo+j, cols, 0)
		for l := Block; l < s.k; l += Block {
			s.stream(sums, cols, lo+j, cols, l)
			for i := range s.m {
				addTo(c[i*ldc+j:][:cols], sums[i*cols:][:cols])
			}
		}
	}
	if whole < hi-lo {
		rest := *s
		rest.width = s.widest(s.m) // which may be less than a stream's
		rest.runBlocks(ws, c[whole:], ldc, lo+whole, hi)
	}
}

// stream stores in c the sums of the block from l on of columns [j, j+cols),
// which are whole panels.
func (s *shape[T]) stream(c []T, ldc, j, cols, l int) {
	f, size := s.streams[s.m-1], elemBytes[T]()
	for first, end := l, min(l+Block, s.k); l < end; l += streamRows {
		a, b := &s.a.Data[s.a.Offset+l*s.a.Col], &s.b.Data[s.b.Offset+l*s.b.Row+j]
		f.stream(&c[0], ldc*size, a, s.a.Row*size, s.a.Col*size, b, s.b.Row*size, min(streamRows, end-l), cols/f.columns, l == first)
	}
}

// addTo adds x to dst.
func addTo[T dtype.Float](dst, x []T) {
	switch dst := any(dst).(type) {
	case []float32:
		vec.Add(dst, dst, any(x).([]float32))
	case []float64:
		vec.Add64(dst, dst, any(x).([]float64))
	}
}
