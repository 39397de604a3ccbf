package gemm

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// A product of a few rows by a b that is far away takes as long as b takes to
// arrive. That is least if b is read in the order in which it lies, which the
// processor recognises and fetches ahead, better than instructions can: so a few
// rows of b pass by side by side, and the sums, which stay in a near cache, are
// taken up again for each few rows. On AMD's Zen that is so of one row of a: with
// more the sums cost more than that saves, and tiles, which go down b, are as fast.
// On Intel's, one core of which can have but 16 lines on their way by instructions,
// it is so of up to 6 rows (but for 3, of which there are tiles of 8 vectors), and of
// all if the rows of b lie whole pages apart: lines that a tile fetches ahead then
// drive each other out of the caches.

const (
	// streamRows is how many rows of b pass by side by side for one row of a, and
	// streamMoreRows for several. Of one a pass takes the least on AMD's Zen if a set
	// of the first-level cache has room for all of them, where they lie whole pages
	// apart: 16 take 1.1 to 1.25 times as long as 8, with strides that are none, too.
	streamRows     = 8
	streamMoreRows = 32

	// streamBytes is the size of the sums of one row, and streamMoreBytes that of
	// each of several.
	streamBytes     = 16 << 10
	streamMoreBytes = 4 << 10

	// mostStreamed is the most rows of a that b passes by if its rows lie an odd
	// number of pages apart.
	mostStreamed = 16

	page = 4 << 10
)

// canStream reports whether there is a stream for s, and a b that is far away.
func (s *shape[T]) canStream() bool {
	size := elemBytes[T]()
	if !s.directA || !s.directB || len(s.streams) == 0 || s.k*s.n*size <= farBytes || s.n < s.streams[0].columns {
		return false
	}
	switch step := s.b.Row * size; {
	case s.m == 1:
		return true
	case !here.second || len(s.streams) == 1:
		return false
	case s.m <= len(s.streams) && s.m != len(s.tiles[8]):
		return true
	case s.m <= mostStreamed:
		return step%page == 0
	default:
		return step%(2*page) == 0
	}
}

// runStream computes columns [lo, hi) of the product in c, whose rows are ldc
// apart.
func (s *shape[T]) runStream(ws *workspace[T], c []T, ldc, lo, hi int) {
	columns := s.streams[0].columns
	whole := (hi - lo) / columns * columns
	step := streamBytes / elemBytes[T]()
	if s.m > 1 {
		step = streamMoreBytes / elemBytes[T]()
	}
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
		rest.width = s.widest(ceil(s.m, ceil(s.m, s.height))) // which may be less than a stream's
		rest.runBlocks(ws, c[whole:], ldc, lo+whole, hi)
	}
}

// stream stores in c the sums of the block from l on of columns [j, j+cols),
// which are whole panels.
func (s *shape[T]) stream(c []T, ldc, j, cols, l int) {
	size, rows, panel := elemBytes[T](), streamRows, cols
	if s.m > 1 { // a panel is read for some rows of a, and from the caches for the others
		rows, panel = streamMoreRows, s.streams[0].columns
	}
	groups := ceil(s.m, len(s.streams))
	for first, end := l, min(l+Block, s.k); l < end; l += rows {
		for at := 0; at < cols; at += panel {
			b := &s.b.Data[s.b.Offset+l*s.b.Row+j+at]
			for g := range groups {
				i, next := cut(s.m, groups, g)
				f, a := s.streams[next-i-1], &s.a.Data[s.a.Offset+i*s.a.Row+l*s.a.Col]
				f.stream(&c[i*ldc+at], ldc*size, a, s.a.Row*size, s.a.Col*size, b, s.b.Row*size, min(rows, end-l), panel/f.columns, l == first)
			}
		}
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
