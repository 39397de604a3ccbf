package gemm

import (
	"slices"
	"unsafe"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
)

// A product of bfloat16 is computed by the tile instruction of AMX where that gives the
// bits of the order of a sum. It takes subnormal numbers for zeros, and makes zeros of
// results that are such. So what packs operands looks for the least exponent of the numbers
// in each panel. The least bit of a number of bfloat16 is worth 2⁻⁷ of its exponent's power:
// all products of two panels, and all their sums, however rounded, are multiples of
//
//	2 to the power of (exponent in a) - 7 + (exponent in b) - 7
//
// If that is a normal number, and no operand is subnormal, there is no subnormal number
// on the way, and the instruction does what the comment of the package says. If not, what
// these panels are multiplied to is computed again in float32.

const (
	panelSide  = 32                                  // rows of a, or columns of b, of a panel
	tileSide   = panelSide / 2                       // of a tile
	panelBlock = panelSide * PairBlock / 2           // what a panel takes of PairBlock steps, in float32
	chunkSteps = 512                                 // steps of the inner dim for which a panel of b stays in the first-level cache
	chunkSize  = chunkSteps / PairBlock * panelBlock // what a panel takes of them, in float32

	// mostPackedA is how many bytes of a are packed at once, by each goroutine: what the
	// second-level cache holds beside panels of b.
	mostPackedA = 512 << 10

	// mostPackedB is how many bytes of b are packed at once if it is read for few rows.
	mostPackedB = 256 << 10

	// fewPanels is the most panels of a for which b is packed where it is used.
	fewPanels = 2

	// worthTiles is the number of multiplications from which on tiles are faster.
	worthTiles = 1 << 13
)

// A tileConfig says how many rows and bytes of a row each tile has, as the instruction
// LDTILECFG reads it.
type tileConfig struct {
	palette uint8
	_       [15]uint8
	bytes   [16]uint16
	rows    [16]uint8
}

// configOf returns the tiles of panels of so many rows of a and columns of b.
func configOf(rows, cols int) tileConfig {
	t := tileConfig{palette: 1}
	for i := range 2 {
		r, c := min(max(rows-i*tileSide, 0), tileSide), min(max(cols-i*tileSide, 0), tileSide)
		t.rows[4+i], t.bytes[4+i] = uint8(r), 64 // a
		t.rows[6+i], t.bytes[6+i] = 16, uint16(4*c)
		for j := range 2 {
			t.rows[2*i+j], t.bytes[2*j+i] = uint8(r), uint16(4*c)
		}
	}
	for i := range 8 { // one without rows or columns is none
		if t.rows[i] == 0 || t.bytes[i] == 0 {
			t.rows[i], t.bytes[i] = 0, 0
		}
	}
	return t
}

// An amxFunc multiplies panels of a, each of its own number of tiles, by one panel of b, for k
// times PairBlock steps, and stores what they give in c or, if add is set, adds it there. Rows of c
// are ldc elements apart; panels of a, nextA bytes.
type amxFunc func(config *tileConfig, c *float32, ldc int, a, b *float32, k, panels, nextA int, add bool)

// amxFuncs are the functions and what packs for them.
type amxFuncs struct {
	tiles [2][2]amxFunc // by the numbers of tiles of a and b, less one
	// lines stores n lines along the inner dim, of k elements and stride bytes apart, in tiles
	// of a, and linesTurned in tiles of b. pairs stores k lines across the inner dim, at most 32, in
	// tiles of b of n columns, and pairsTurned in tiles of a. All note in least what they see.
	lines, linesTurned, pairsTurned func(dst *float32, src *uint16, stride, n, k int, least *[32]uint16)
	pairs                           func(dst *float32, next int, src *uint16, stride, n, k int, least *[32]uint16)
}

// A tiled is a product of bfloat16 that is computed by tiles.
type tiled struct {
	*amxFuncs
	plain   *kernels[float32] // for what is computed again
	m, n, k int
	a, b    Operand[float32]
	c       []float32
	shared  int // how many elements of b are packed at once for all
	// leastA and leastB are, of each panel, twice the least size of a number that is not zero,
	// less one.
	leastA, leastB []uint16
}

// multiplyTiled returns what computes product i of p by f.
func multiplyTiled(f *amxFuncs, plain *kernels[float32]) func(p *Product[float32], i int, c crew.Crew) {
	return func(p *Product[float32], i int, c crew.Crew) {
		t := tiled{amxFuncs: f, plain: plain, m: p.M, n: p.N, k: p.K, a: p.A, b: p.B, c: p.C[i*p.M*p.N:][:p.M*p.N]}
		if p.At != nil {
			t.a.Offset, t.b.Offset = p.At(i)
		}
		t.a.check(t.m, t.k)
		t.b.check(t.k, t.n)
		t.shared = min(maxShared, c.Size()*maxAlone) / 2
		t.run(c)
	}
}

// run computes t.
func (t *tiled) run(c crew.Crew) {
	ws := room[float32]()
	defer ws.leave()
	panelsA, panelsB := ceil(t.m, panelSide), ceil(t.n, panelSide)
	t.leastA, t.leastB = ws.leasts(panelsA, panelsB)
	if panelsA <= fewPanels {
		t.runFew(ws, c)
	} else {
		t.runMany(c)
	}
	t.again(c)
}

// leasts returns room for what is noted of panels, of which nothing is yet.
func (ws *workspace[T]) leasts(a, b int) (ofA, ofB []uint16) {
	if len(ws.least) < a+b {
		ws.least = make([]uint16, a+b)
	}
	all := ws.least[:a+b]
	for i := range all {
		all[i] = 0xffff
	}
	return all[:a], all[a:]
}

// runFew computes a product of a few rows: each goroutine packs the parts of b that
// it needs.
func (t *tiled) runFew(ws *workspace[float32], c crew.Crew) {
	panels, tasks := ceil(t.n, panelSide), 1
	if c.Size() > 1 {
		tasks = min(panels, 4*c.Size())
	}
	inner := min(t.k, mostPackedA/2/(panelSide*fewPanels)) // a multiple of PairBlock unless all
	kept := *t
	for l := 0; l < t.k; l += inner {
		steps := min(inner, t.k-l)
		a := ws.packedA(ceil(t.m, panelSide) * ceil(steps, PairBlock) * panelBlock)
		t.packA(ws, a, 0, t.m, l, steps)
		c.Do(tasks, func(i int) {
			lo, hi := cut(panels, tasks, i)
			kept.multiplyFew(a, l, steps, lo*panelSide, min(hi*panelSide, kept.n))
		})
	}
}

// multiplyFew computes columns [lo, hi) of steps [l, l+inner), of which a is packed.
func (t *tiled) multiplyFew(a []float32, l, inner, lo, hi int) {
	ws := room[float32]()
	defer ws.leave()
	// Lines across the inner dim are read in long pieces, those along it whole.
	cols, steps := mostPackedB/2/(4*PairBlock), 4*PairBlock
	if t.b.Row == 1 {
		cols, steps = 2*panelSide, mostPackedB/2/(2*panelSide)
	}
	for j := lo; j < hi; j += cols {
		n := min(cols, hi-j)
		for s := 0; s < inner; s += steps {
			k := min(steps, inner-s)
			b := ws.packedB(ceil(n, panelSide) * ceil(k, PairBlock) * panelBlock)
			t.packB(ws, b, l+s, k, j, n)
			t.multiplyPanels(0, t.m, a[s/PairBlock*panelBlock:], ceil(inner, PairBlock)*panelBlock, j, n, b, k, l+s > 0)
		}
	}
}

// runMany computes a product of many rows: b is packed by and for all goroutines, each then
// takes rows of a.
func (t *tiled) runMany(c crew.Crew) {
	shelf := &shelvesOf[float32]().shared
	shared := shelf.take()
	defer shelf.put(shared)
	cols := min(ceil(t.n, panelSide)*panelSide, t.shared/chunkSteps/panelSide*panelSide)
	inner := t.shared / cols / chunkSteps * chunkSteps
	g := tiledGroup{tiled: t, packed: shared.packedB(cols / panelSide * ceil(min(inner, t.k), PairBlock) * panelBlock)}
	for j := 0; j < t.n; j += cols {
		for l := 0; l < t.k; l += inner {
			g.j, g.cols, g.l, g.inner = j, min(cols, t.n-j), l, min(inner, t.k-l)
			g.tasks(c.Size())
			c.Do(ceil(g.cols, g.packCols), g.pack)
			c.Do(ceil(t.m, g.rows), g.multiply)
		}
	}
}

// A tiledGroup is a part of b that is packed at once: rows [l, l+inner), columns [j, j+cols).
type tiledGroup struct {
	*tiled
	packed         []float32
	j, cols        int
	l, inner       int
	packCols, rows int // of a task
}

// tasks settles how much a task does.
func (g *tiledGroup) tasks(goroutines int) {
	g.packCols, g.rows = g.cols, mostPackedA/2/g.inner/panelSide*panelSide
	g.rows = min(max(g.rows, panelSide), 8*panelSide)
	if goroutines > 1 {
		g.packCols = ceil(ceil(g.cols, panelSide), 2*goroutines) * panelSide
		parts := ceil(ceil(g.m, g.rows), 2*goroutines) * 2 * goroutines
		g.rows = min(g.rows, ceil(ceil(g.m, panelSide), parts)*panelSide)
	}
}

// pack packs the part of one task.
func (g *tiledGroup) pack(task int) {
	ws := room[float32]()
	defer ws.leave()
	j := task * g.packCols
	to := g.packed[j/panelSide*ceil(g.inner, PairBlock)*panelBlock:]
	g.packB(ws, to, g.l, g.inner, g.j+j, min(g.packCols, g.cols-j))
}

// multiply computes the rows of one task.
func (g *tiledGroup) multiply(task int) {
	ws := room[float32]()
	defer ws.leave()
	i := task * g.rows
	rows, panel := min(g.rows, g.m-i), ceil(g.inner, PairBlock)*panelBlock
	a := ws.packedA(ceil(rows, panelSide) * panel)
	g.packA(ws, a, i, rows, g.l, g.inner)
	g.multiplyPanels(i, rows, a, panel, g.j, g.cols, g.packed, g.inner, g.l > 0)
}

// multiplyPanels computes m rows of c from row i on and n columns from column j on: the
// product of panels a, nextA elements apart, and b, of which k steps are one after the
// other. If add is set it is added to c.
func (t *tiled) multiplyPanels(i, m int, a []float32, nextA int, j, n int, b []float32, k int, add bool) {
	blocks := ceil(k, PairBlock)
	whole := m / panelSide
	for q := 0; q < n; q += panelSide {
		cols := min(panelSide, n-q)
		tilesB := ceil(cols, tileSide) - 1
		full, rest := configOf(panelSide, cols), configOf(m-whole*panelSide, cols)
		for first := 0; first < blocks; first += chunkSteps / PairBlock {
			steps := min(chunkSteps/PairBlock, blocks-first)
			pb, pa, at := &b[(q/panelSide*blocks+first)*panelBlock], first*panelBlock, i*t.n+j+q
			if whole > 0 {
				t.tiles[1][tilesB](&full, &t.c[at], t.n, &a[pa], pb, steps, whole, 4*nextA, add || first > 0)
			}
			if rows := m - whole*panelSide; rows > 0 {
				t.tiles[ceil(rows, tileSide)-1][tilesB](&rest, &t.c[at+whole*panelSide*t.n], t.n, &a[pa+whole*nextA], pb, steps, 1, 0, add || first > 0)
			}
		}
	}
}

// packA packs rows [i, i+m) and columns [l, l+inner) of a in to, panel after panel.
func (t *tiled) packA(ws *workspace[float32], to []float32, i, m, l, inner int) {
	a := ws.along(t.a.from(i, l), m, inner)
	panel := ceil(inner, PairBlock) * panelBlock
	for lo := 0; lo < m; lo += tileSide {
		n, dst := min(tileSide, m-lo), &to[lo/panelSide*panel+lo%panelSide*PairBlock/2]
		var least [32]uint16
		fill(&least)
		o := a.from(lo, 0)
		src := (*uint16)(unsafe.Pointer(&o.BF16[o.Offset]))
		if a.Col == 1 {
			t.lines(dst, src, 2*a.Row, n, inner, &least)
		} else {
			t.pairsTurned(dst, src, 2*a.Col, n, inner, &least)
		}
		note(&t.leastA[(i+lo)/panelSide], &least)
	}
}

// packB packs rows [l, l+inner) and columns [j, j+n) of b in to, panel after panel.
func (t *tiled) packB(ws *workspace[float32], to []float32, l, inner, j, n int) {
	b := ws.along(t.b.from(l, j), inner, n)
	panel := ceil(inner, PairBlock) * panelBlock
	if b.Col == 1 && (n > 1 || b.Row != 1) {
		t.packPairs(to, &b, inner, j, n, panel)
		return
	}
	for lo := 0; lo < n; lo += tileSide {
		o := b.from(0, lo)
		var least [32]uint16
		fill(&least)
		t.linesTurned(&to[lo/panelSide*panel+lo%panelSide*PairBlock/2], (*uint16)(unsafe.Pointer(&o.BF16[o.Offset])), 2*b.Col, min(tileSide, n-lo), inner, &least)
		note(&t.leastB[(j+lo)/panelSide], &least)
	}
}

// leastColumns is how many columns share a note where lines are read across the inner
// dim, in long pieces.
const leastColumns = 32 * panelSide

// packPairs is packB of a b whose rows lie one element after the other.
func (t *tiled) packPairs(to []float32, b *Operand[float32], inner, j, n, panel int) {
	for lo := 0; lo < n; lo += leastColumns {
		cols := min(leastColumns, n-lo)
		var least [32]uint16
		fill(&least)
		for l := 0; l < inner; l += PairBlock {
			o := b.from(l, lo)
			t.pairs(&to[lo/panelSide*panel+l/PairBlock*panelBlock], 4*panel, (*uint16)(unsafe.Pointer(&o.BF16[o.Offset])), 2*b.Row, cols, min(PairBlock, inner-l), &least)
		}
		for q := range ceil(cols, panelSide) {
			note(&t.leastB[(j+lo)/panelSide+q], &least)
		}
	}
}

// along returns the first rows and columns of x with the elements of rows, or of columns, one
// after the other: x itself or a copy.
func (ws *workspace[T]) along(x Operand[T], rows, cols int) Operand[T] {
	switch {
	case x.Col == 1 || x.Row == 1:
		return x
	case cols == 1:
		x.Col = 1
		return x
	case rows == 1:
		x.Row = 1
		return x
	}
	if len(ws.lines) < rows*cols {
		ws.lines = make([]dtype.BF16, rows*cols)
	}
	for i := range rows {
		p, row := x.Offset+i*x.Row, ws.lines[i*cols:][:cols]
		for j := range row {
			row[j] = x.BF16[p]
			p += x.Col
		}
	}
	return Operand[T]{BF16: ws.lines, Grid: Grid{Row: cols, Col: 1}}
}

// fill notes nothing.
func fill(least *[32]uint16) {
	for i := range least {
		least[i] = 0xffff
	}
}

// note adds what least has to the note of a panel.
func note(panel *uint16, least *[32]uint16) {
	for _, v := range least {
		*panel = min(*panel, v)
	}
}

// exact reports whether tiles multiply panels of these notes as float32 does.
func exact(a, b uint16) bool {
	// Bits 8 and up of twice a number are its exponent, 0 if it is subnormal.
	ea, eb := (int(a)+1)>>8, (int(b)+1)>>8
	return ea > 0 && eb > 0 && (ea-127)+(eb-127)-14 >= -126
}

// again computes in float32 what tiles could not.
func (t *tiled) again(c crew.Crew) {
	if exact(slices.Min(t.leastA), slices.Min(t.leastB)) {
		return
	}
	for i := 0; i < len(t.leastA); {
		runs, end := t.inexact(t.leastA[i]), i+1
		for end < len(t.leastA) && slices.Equal(runs, t.inexact(t.leastA[end])) {
			end++
		}
		for _, r := range runs {
			t.computePlain(c, i*panelSide, min(end*panelSide, t.m), r[0]*panelSide, min(r[1]*panelSide, t.n))
		}
		i = end
	}
}

// inexact returns the ranges of panels of b that tiles do not multiply by a panel of a of this
// note as float32 does.
func (t *tiled) inexact(a uint16) [][2]int {
	var runs [][2]int
	for q, b := range t.leastB {
		switch last := len(runs) - 1; {
		case exact(a, b):
		case last >= 0 && runs[last][1] == q:
			runs[last][1]++
		default:
			runs = append(runs, [2]int{q, q + 1})
		}
	}
	return runs
}

// computePlain computes rows [i, end) and columns [j, stop) of c in float32.
func (t *tiled) computePlain(c crew.Crew, i, end, j, stop int) {
	s := shape[float32]{kernels: t.plain, m: end - i, n: stop - j, k: t.k, a: t.a.from(i, 0), b: t.b.from(0, j)}
	if s.n == t.n {
		s.c = t.c[i*t.n : end*t.n]
		s.plan(c.Size())
		s.run(c)
		return
	}
	part := make([]float32, s.m*s.n)
	m, n := s.m, s.n
	s.c = part
	s.plan(c.Size())
	s.run(c)
	for r := range m {
		copy(t.c[(i+r)*t.n+j:], part[r*n:][:n])
	}
}
