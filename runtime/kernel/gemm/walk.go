package gemm

import (
	"unsafe"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/vec"
)

// run computes s.
func (s *shape[T]) run(c crew.Crew) {
	switch {
	case s.isDot():
		s.runDot()
	case s.rowBlocks > 1:
		s.runShared(c)
	case s.colBlocks > 1:
		kept := *s // s itself does not escape: most products are small
		c.Do(s.colBlocks, func(i int) { kept.runCols(kept.cutCols(i)) })
	default:
		s.runCols(0, s.n)
	}
}

// runCols computes columns [lo, hi) of c, packing for itself what needs be.
func (s *shape[T]) runCols(lo, hi int) {
	var ws *workspace[T]
	if s.needsRoom() {
		ws = room[T]()
		defer ws.leave()
	}
	c, ldc := s.c, s.rowC()
	switch {
	case !s.turned || s.m == 1:
		c = c[lo:]
	default:
		c, ldc = ws.turnedC(s.m*(hi-lo)), hi-lo
	}
	switch {
	case s.streamed:
		s.runStream(ws, c, ldc, lo, hi)
	case s.byCols:
		s.runByCols(c, ldc, lo, hi)
	case s.skinny:
		s.runPanels(ws, c, ldc, lo, hi)
	default:
		s.runBlocks(ws, c, ldc, lo, hi)
	}
	if s.turned && s.m > 1 {
		s.turnBack(c, lo, hi)
	}
}

// runBlocks computes columns [lo, hi) of the product in c, whose rows are ldc
// apart, block of a after block of a.
func (s *shape[T]) runBlocks(ws *workspace[T], c []T, ldc, lo, hi int) {
	for l := 0; l < s.k; l += Block {
		inner := min(Block, s.k-l)
		a := s.blockA(ws, 0, s.m, l, inner)
		step := hi - lo
		if !s.directB {
			step = maxColBytes / (Block * elemBytes[T]())
		}
		for j := lo; j < hi; j += step {
			cols := min(step, hi-j)
			b := s.blockB(ws, l, inner, j, cols)
			s.multiplyBlocks(c[j-lo:], ldc, a, b, s.m, cols, inner, s.add || l > 0)
		}
	}
}

// runPanels is runBlocks panel of b after panel of b. So b is read in the
// order in which it lies, if it lies by columns.
func (s *shape[T]) runPanels(ws *workspace[T], c []T, ldc, lo, hi int) {
	step := s.width * s.lanes
	for j := lo; j < hi; j += step {
		cols := min(step, hi-j)
		for l := 0; l < s.k; l += Block {
			inner := min(Block, s.k-l)
			a, b := s.blockA(ws, 0, s.m, l, inner), s.blockB(ws, l, inner, j, cols)
			s.multiplyBlocks(c[j-lo:], ldc, a, b, s.m, cols, inner, s.add || l > 0)
		}
	}
}

// runByCols is runBlocks of a b that lies by columns and is read where it lies.
func (s *shape[T]) runByCols(c []T, ldc, lo, hi int) {
	tiles := ceil(s.m, len(s.colTiles))
	for j := lo; j < hi; j += s.lanes {
		for l := 0; l < s.k; l += Block {
			b := s.b.from(l, j)
			for t := range tiles {
				i, end := cut(s.m, tiles, t)
				a := s.a.from(i, l)
				s.colTiles[end-i-1](&c[i*ldc+j-lo], ldc, &a.Data[a.Offset], a.Row, a.Col, &b.Data[b.Offset], b.Col,
					min(Block, s.k-l), min(s.lanes, hi-j), s.add || l > 0, 0, 0)
			}
		}
	}
}

// turnBack stores x, columns [lo, hi) of the turned product, in c.
func (s *shape[T]) turnBack(x []T, lo, hi int) {
	for i := range s.m {
		row, p := x[i*(hi-lo):][:hi-lo], lo*s.m+i
		for _, v := range row {
			s.c[p] = v
			p += s.m
		}
	}
}

// runShared computes s: b is packed by and for all goroutines, each then takes
// rows of a.
func (s *shape[T]) runShared(c crew.Crew) {
	shelf := &shelvesOf[T]().shared
	shared := shelf.take()
	defer shelf.put(shared)
	groupCols := min(s.n, s.shared/Block&^(s.lanes*s.width-1))
	padded := ceil(groupCols, s.lanes) * s.lanes
	groupInner := min(s.k, s.shared/padded/Block*Block)
	packed := shared.packedB(padded * groupInner)
	kept := *s
	for j := 0; j < s.n; j += groupCols {
		cols := min(groupCols, s.n-j)
		for l := 0; l < s.k; l += groupInner {
			inner := min(groupInner, s.k-l)
			g := group[T]{&kept, packed, j, cols, l, inner}
			c.Do(g.packTasks(), g.pack)
			c.Do(s.rowBlocks, g.multiply)
		}
	}
}

// A group is a part of b that is packed at once: rows [l, l+inner), columns
// [j, j+cols).
type group[T dtype.Float] struct {
	*shape[T]
	packed   []T
	j, cols  int
	l, inner int
}

// packCols is the number of columns that a task packs.
const packCols = 128

// packTasks returns the number of tasks of pack.
func (g group[T]) packTasks() int { return ceil(g.cols, packCols) * ceil(g.inner, Block) }

// pack packs one part.
func (g group[T]) pack(task int) {
	ws := room[T]()
	defer ws.leave()
	blocks := ceil(g.inner, Block)
	l, j := task%blocks*Block, task/blocks*packCols
	inner := min(Block, g.inner-l)
	to := g.block(l)[j*inner:]
	g.packB(ws, to, g.l+l, inner, g.j+j, min(packCols, g.cols-j))
}

// block returns where rows [l, l+Block) of the group are.
func (g group[T]) block(l int) []T { return g.packed[l*ceil(g.cols, g.lanes)*g.lanes:] }

// multiply computes one part of the rows.
func (g group[T]) multiply(task int) {
	ws := room[T]()
	defer ws.leave()
	lo, hi := cut(g.m, g.rowBlocks, task)
	if lo == hi {
		return
	}
	for l := 0; l < g.inner; l += Block {
		inner := min(Block, g.inner-l)
		a := g.blockA(ws, lo, hi-lo, g.l+l, inner)
		b := block[T]{data: g.block(l), packed: true}
		g.multiplyBlocks(g.c[lo*g.rowC()+g.j:], g.rowC(), a, b, hi-lo, g.cols, inner, g.add || g.l+l > 0)
	}
}

// A block is a part of an operand that tiles read: packed, or where it lies.
type block[T dtype.Float] struct {
	data     []T
	packed   bool
	row, col int // the strides, if it is not packed
}

// lying returns o from row i and column j on, where it lies. (An operand is large: to
// copy it, as from does, takes as long as a small product.)
func (o *Operand[T]) lying(i, j int) block[T] {
	return block[T]{data: o.Data[o.Offset+i*o.Row+j*o.Col:], row: o.Row, col: o.Col}
}

// multiplyBlocks computes m rows and n columns of c, or if add is set adds to
// them.
func (s *shape[T]) multiplyBlocks(c []T, ldc int, a, b block[T], m, n, k int, add bool) {
	tiles := ceil(m, s.height)
	f := s.fetching(b, tiles, k)
	for j := 0; j < n; {
		v := s.panel(n - j)
		width := v * s.lanes
		cols := min(width, n-j)
		pb, rowB := b.panel(j, width, k)
		ahead := uintptr(unsafe.Pointer(pb)) + f.ahead
		ofRows := s.tiles[v]
		if cols == width && s.goesPast(&c[j], v) {
			ofRows = s.pastTiles
		}
		for t := range tiles {
			lo, hi := cut(m, tiles, t)
			pa, rowA, colA := a.tile(lo, hi-lo, k)
			ofRows[hi-lo-1](&c[lo*ldc+j], ldc, pa, rowA, colA, pb, rowB, k, cols-width+s.lanes, add, ahead, f.step)
			ahead += f.tile
		}
		j += cols
	}
	if s.past {
		vec.Settle()
	}
}

// bytesAhead is how much of b is fetched before it is needed, where b is read
// where it lies: what is on its way for the whole of a memory's latency. If a panel has
// no more than that, the next one is fetched: rows so far on may not be of b.
const bytesAhead = 4 << 10

// fetch says which bytes of b a tile has fetched ahead of their use: those that lie ahead
// bytes behind its own panel, step bytes further on for each step of the inner dim, and tile
// bytes further on for each tile of the panel.
type fetch struct {
	ahead, tile uintptr
	step        int
}

// fetching returns what tiles are to fetch: if b is packed each its part of
// the next panel, else the rows that follow.
func (s *shape[T]) fetching(b block[T], tiles, k int) fetch {
	width := s.width * s.lanes * elemBytes[T]()
	if b.packed {
		step := ceil(width, tiles)
		return fetch{ahead: uintptr(width * k), tile: uintptr(step * k), step: step}
	}
	row := b.row * elemBytes[T]()
	if tiles > 1 || k*width <= bytesAhead {
		return fetch{ahead: uintptr(width), tile: uintptr(width / tiles), step: row}
	}
	return fetch{ahead: uintptr(bytesAhead / width * row), step: row}
}

// tile returns where rows [i, i+rows) of a are, and their strides.
func (a *block[T]) tile(i, rows, k int) (p *T, row, col int) {
	if a.packed {
		return &a.data[i*k], 1, rows
	}
	return &a.data[i*a.row], a.row, a.col
}

// panel returns where the panel of b that begins with column j is, and its
// stride.
func (b *block[T]) panel(j, width, k int) (p *T, row int) {
	if b.packed {
		return &b.data[j*k], width
	}
	return &b.data[j], b.row
}

// panel returns the width in vectors of the next panel of n more columns: the
// greatest of which at most the last vector is not full.
func (s *shape[T]) panel(n int) int {
	v := s.width
	for (v-1)*s.lanes >= n {
		v /= 2
	}
	return v
}
