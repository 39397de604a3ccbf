package gemm

import (
	goruntime "runtime"
	"sync"

	"tpsh/runtime/dtype"
)

// blockA returns rows [i, i+rows) and columns [l, l+inner) of a.
func (s *shape[T]) blockA(ws *workspace[T], i, rows, l, inner int) block[T] {
	if s.directA || s.a.spreads() {
		return s.a.lying(i, l)
	}
	a := ws.widened(s.kernels, s.a.from(i, l), rows, inner)
	to := ws.packedA(rows*inner + s.lanes)
	tiles := ceil(rows, s.height)
	for t := range tiles {
		lo, hi := cut(rows, tiles, t)
		s.packPanel(to[lo*inner:], hi-lo, a.from(lo, 0), hi-lo, inner)
	}
	return block[T]{data: to, packed: true}
}

// spreads reports whether tiles may as well read the rows of o where they lie, once
// for every panel of b, as pack them: if the processor reads the second-level cache
// beside its multiply-adds, and rows do not lie whole pages apart, by which those of
// a tile would fall into one set of the first-level cache.
func (o *Operand[T]) spreads() bool {
	return here.second && !o.half() && o.Col == 1 && o.Row >= 0 && o.Row*elemBytes[T]()%page != 0
}

// blockB returns rows [l, l+inner) and columns [j, j+cols) of b.
func (s *shape[T]) blockB(ws *workspace[T], l, inner, j, cols int) block[T] {
	if s.directB {
		return s.b.lying(l, j)
	}
	to := ws.packedB(inner * ceil(cols, s.lanes) * s.lanes)
	s.packB(ws, to, l, inner, j, cols)
	return block[T]{data: to, packed: true}
}

// packB stores rows [l, l+inner) and columns [j, j+cols) of b in to: panel
// after panel, of each one row after the other.
func (s *shape[T]) packB(ws *workspace[T], to []T, l, inner, j, cols int) {
	b := s.b
	if b.Windows == nil {
		b = ws.widened(s.kernels, b.from(l, j), inner, cols)
		if b.Col == 1 && b.Row >= 0 {
			s.packRows(to, &b, inner, cols)
			return
		}
	}
	for done := 0; done < cols; {
		width := s.panel(cols-done) * s.lanes
		n := min(width, cols-done)
		if b.Windows != nil {
			s.packWindows(ws, to[done*inner:], width, l, inner, j+done, n)
		} else {
			s.packPanel(to[done*inner:], width, b.from(0, done).turned(), n, inner)
		}
		done += n
	}
}

// rowsAtOnce is how many rows of b are packed side by side: each piece of one goes to its
// panel. Of rows that lie pages apart, which the caches do not fetch ahead, the next
// lines so are read while the last ones are near.
const rowsAtOnce = 8

// packRows is packB of a b whose rows lie one element after the other.
func (s *shape[T]) packRows(to []T, b *Operand[T], inner, cols int) {
	for l := 0; l < inner; l += rowsAtOnce {
		rows := min(rowsAtOnce, inner-l)
		for done := 0; done < cols; {
			width := s.panel(cols-done) * s.lanes
			n := min(width, cols-done)
			s.copyRows(&to[done*inner+l*width], width, &b.Data[b.Offset+l*b.Row+done], b.Row, n, rows)
			done += n
		}
	}
}

// packPanel stores n rows of x [n, inner] so that its columns lie one after
// the other, width elements apart. It writes whole vectors: behind the end of
// a column that is not the last of to, others follow.
func (s *shape[T]) packPanel(to []T, width int, x Operand[T], n, inner int) {
	switch {
	case x.Row == 1 && x.Col >= 0:
		s.copyRows(&to[0], width, &x.Data[x.Offset], x.Col, n, inner)
	case x.Col == 1 && x.Row >= 0:
		// From the last rows to the first: a vector that reaches beyond its
		// column writes where the next column's first is still to come.
		for i := (n - 1) / s.lanes * s.lanes; i >= 0; i -= s.lanes {
			s.transpose(&to[i], width, &x.Data[x.Offset+i*x.Row], x.Row, min(s.lanes, n-i), inner)
		}
	default:
		for l := range inner {
			p := x.Offset + l*x.Col
			for i := range n {
				to[l*width+i] = x.Data[p]
				p += x.Row
			}
		}
	}
}

// A workspace is the memory that one goroutine packs into.
type workspace[T dtype.Float] struct {
	a, b, c, turned, wide []T
	lines                 []dtype.BF16 // copies of operands of tiles
	least                 []uint16     // notes of panels of tiles
}

// A shelf is where workspaces wait for the next call. Unlike a sync.Pool it keeps
// them through a collection: large tensors make those frequent, and a workspace of
// some megabytes takes longer to make anew than most products.
type shelf[T dtype.Float] struct {
	mu   sync.Mutex
	list []*workspace[T]
}

// The shelves of one type: for a product's own goroutines, and for what
// they share, which takes more room.
type shelves[T dtype.Float] struct{ own, shared shelf[T] }

var (
	rooms32 shelves[float32]
	rooms64 shelves[float64]
)

func (s *shelf[T]) take() *workspace[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.list) - 1
	if last < 0 {
		return new(workspace[T])
	}
	ws := s.list[last]
	s.list = s.list[:last]
	return ws
}

// put takes ws back, unless there are more than products under way are likely to
// need.
func (s *shelf[T]) put(ws *workspace[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) < 2*goruntime.GOMAXPROCS(0) {
		s.list = append(s.list, ws)
	}
}

// room returns a workspace of unspecified contents.
func room[T dtype.Float]() *workspace[T] { return shelvesOf[T]().own.take() }

// leave gives ws back.
func (ws *workspace[T]) leave() { shelvesOf[T]().own.put(ws) }

func shelvesOf[T dtype.Float]() *shelves[T] {
	if s, ok := any(&rooms32).(*shelves[T]); ok {
		return s
	}
	return any(&rooms64).(*shelves[T])
}

func (ws *workspace[T]) packedA(n int) []T { return enough(&ws.a, n) }
func (ws *workspace[T]) packedB(n int) []T { return enough(&ws.b, n) }
func (ws *workspace[T]) sums(n int) []T    { return enough(&ws.c, n) }

// turnedC is room for a product before it is turned back. What computes it may need sums
// besides.
func (ws *workspace[T]) turnedC(n int) []T { return enough(&ws.turned, n) }

// enough returns the first n elements of *x, which it replaces if it has
// fewer. They begin where a page does.
func enough[T dtype.Float](x *[]T, n int) []T {
	if len(*x) < n {
		*x = make([]T, max(n, 1<<13))
	}
	return (*x)[:n]
}

// widened returns the first rows and columns of x in elements of T.
func (ws *workspace[T]) widened(ks *kernels[T], x Operand[T], rows, cols int) Operand[T] {
	if !x.half() {
		return x
	}
	if x.Row == 1 && x.Col != 1 {
		return ws.widened(ks, x.turned(), cols, rows).turned()
	}
	wide := enough(&ws.wide, rows*cols)
	if x.F16 != nil {
		widenGrid(wide, x.F16, x.Grid, rows, cols, ks.widenF16)
	} else {
		widenGrid(wide, x.BF16, x.Grid, rows, cols, ks.widenBF16)
	}
	return Operand[T]{Data: wide, Grid: Grid{Row: cols, Col: 1}}
}

// widenGrid stores the values of x at g in dst [rows, cols].
func widenGrid[T dtype.Float, H half](dst []T, x []H, g Grid, rows, cols int, widen func(dst []T, src []H)) {
	for i := range rows {
		row, p := dst[i*cols:][:cols], g.Offset+i*g.Row
		if g.Col == 1 {
			widen(row, x[p:p+cols])
			continue
		}
		for j := range row {
			row[j] = T(x[p].Float32())
			p += g.Col
		}
	}
}
