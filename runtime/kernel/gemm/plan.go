package gemm

import (
	"math"
	"unsafe"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// Block is the number of steps of the inner dim whose products are one sum;
// see the order of a sum. A panel of b, Block rows of two vectors, has 32 KiB
// in AVX-512, which a first-level cache of 48 KiB (Zen 5, Golden Cove) holds
// while tiles pass by, and one of 32 KiB (Zen 4) nearly; in AVX2 it has 16 KiB.
const Block = 256

// PairBlock is the number of steps of the inner dim whose products of bfloat16 are one
// sum: what an instruction of AMX takes. Block is a multiple of it.
const PairBlock = 32

const (
	// maxRowBlock is the number of rows of a that are packed at once: with
	// Block columns 168 KiB of float32 or 336 KiB of float64, which leaves
	// room for the panels of b and for c in a second-level cache of 1 MiB
	// (512 KiB on Zen 3 holds it in float32). 168 is a multiple of the 14
	// and of the 6 rows of a tile, and of the 7 and 3 of one of bfloat16.
	maxRowBlock = 168

	// leastTiles is how many tiles, one above the other, a part of the rows has at least where parts
	// are made smaller than they need be.
	leastTiles = 8

	// maxColBytes is how much of Block rows of b is packed at once where each
	// goroutine packs for itself: it stays in the second-level cache.
	maxColBytes = 256 << 10

	// maxShared is how many bytes of b are packed at once for all goroutines, which
	// wait for each other before and after: half of a third-level cache of 32 MiB.
	// maxAlone is the most for each of them, and for one goroutine, which waits for
	// nobody, while each of some other ranks packs as much: an eighth of that cache.
	maxShared = 16 << 20
	maxAlone  = 4 << 20

	// firstLevel is the size of an operand that stays in the first-level cache.
	firstLevel = 32 << 10

	// farStep is a step along the inner dim, in bytes, from beyond which on an
	// operand that is not in the first-level cache is packed.
	farStep = 512

	// maxTurned is the number of columns of a turned product that are kept
	// until they are turned back.
	maxTurned = 16 << 10

	// farBytes is the size of an operand from which on it comes from memory
	// or the third-level cache: then it is read in long pieces of rows, eight
	// vectors or four, even if two or three tiles read them in turn.
	farBytes = 1 << 20
)

// pastInner is how many steps the inner dim has at most for large results to be stored past the
// caches: with more the tiles take so long that it makes no difference. On a Zen 3 products of 256 by
// 3136 take 0.59 of the time past the caches with 16 steps, 0.75 with 32, 0.93 with 64 and 1 with 256.
const pastInner = 64

// A family says how operands are best read on a family of processors.
type family struct {
	near   int  // the size of an operand up to which its rows are read where they lie
	rows   int  // how long rows of a b of more than firstLevel are at most to be read so, in bytes
	second bool // whether the second-level cache serves a tile's loads beside its multiply-adds
}

// here is the family of this machine. Only tests set it.
var here = familyHere()

// The families. Up to which size operands are read where they lie was measured. On Intel's, whose
// second-level cache serves tiles, it is three eighths of that cache: on one of 2 MiB products of 96 to
// 400 cubed take 0.82 to 0.92 of the time with packing, and those of 64 by 1024 by 64 take 0.74, but
// with half of the cache one of 500 cubed takes 1.04. On AMD's it is what the first-level cache holds;
// with AVX2 alone it is a quarter of a second-level cache of 512 KiB: on Zen 3 products of 80 to 160
// cubed of float32 take 0.87 to 0.92 of the time with packing, and of 80 to 128 of float64 0.86 to 0.98.
// Longer rows fall into few sets of its first-level cache: with those of 4 KiB, products of 1024 by 32
// by 1024 take 1.6.
func familyHere() family {
	switch second := vec.SecondLevel(); {
	case second > 0:
		return family{max(firstLevel, second/8*3), math.MaxInt, true}
	case vec.Best() == vec.AVX2:
		return family{4 * firstLevel, 2 * farStep, false}
	}
	return family{firstLevel, math.MaxInt, false}
}

// nearB returns the size of a b up to which its rows, so many bytes apart, are read where they lie.
func (f family) nearB(row int) int {
	if row > f.rows {
		return firstLevel
	}
	return f.near
}

// A shape is one product to compute and how to go about it.
type shape[T dtype.Float] struct {
	*kernels[T]
	m, n, k int
	a, b    Operand[T]
	c       []T  // [m, n]; [n, m] if turned
	cRow    int  // how far apart the rows of c are, if not n
	add     bool // to c

	// turned says that a and b are the transposes of the operands, in the
	// place of one another, and that so c is to be transposed.
	turned bool
	// directA and directB say that an operand is read where it lies.
	directA, directB bool
	// skinny says that b is packed panel by panel, since it is read once.
	skinny bool
	// streamed says that b passes by in long pieces of its rows.
	streamed bool
	// byCols says that b lies by columns and is turned in registers.
	byCols bool

	past bool // c goes past the caches

	height    int // of the highest tiles, in rows
	width     int // of the widest tiles, in vectors
	rowBlocks int // the number of parts of the rows
	colBlocks int // the number of parts of the columns
	shared    int // how many elements of b are packed at once for all
}

// rowC returns how far apart the rows of c are.
func (s *shape[T]) rowC() int {
	if s.cRow > 0 {
		return s.cRow
	}
	return s.n
}

// plan settles how to go about s with so many goroutines. None of it has an
// influence on the result.
func (s *shape[T]) plan(goroutines int) {
	// A result of few columns fills its vectors only if it is turned.
	if s.n < s.lanes && s.m > s.n && !s.add && s.b.Windows == nil && (s.n == 1 || s.m*s.k > firstLevel) {
		s.m, s.n = s.n, s.m
		s.a, s.b = s.b.turned(), s.a.turned()
		s.turned = true
	}
	s.planReading()
	s.planParts(goroutines)
	s.past = s.k <= pastInner && s.fitsPast() && vec.LightPast(s.m*s.n*elemBytes[T]())
}

// fitsPast reports whether c may go past the caches: it is stored once, and rows begin alike.
func (s *shape[T]) fitsPast() bool {
	return s.pastTiles != nil && s.k <= Block && !s.add && !s.turned && s.rowC()*elemBytes[T]()%vec.LineBytes == 0
}

// goesPast reports whether a panel of so many vectors at c, all of them whole, goes past the caches.
func (s *shape[T]) goesPast(c *T, vectors int) bool {
	return s.past && vectors*s.lanes*elemBytes[T]() == vec.LineBytes && uintptr(unsafe.Pointer(c))%vec.LineBytes == 0
}

// small returns the size of an operand up to which its rows are read where they lie,
// if steps along the inner dim are so many elements of T. Long ones fall into few sets
// of the first-level cache.
func small[T dtype.Float](step int) int {
	if step*elemBytes[T]() > farStep {
		return firstLevel
	}
	return here.near
}

// planReading settles how operands are read, and by what tiles.
func (s *shape[T]) planReading() {
	size, few := elemBytes[T](), s.m <= 2*s.maxRows()
	s.directA = !s.a.half() && s.a.Row >= 0 && s.a.Col >= 0 && (few || s.m*s.k*size <= small[T](s.a.Col))
	s.directB = !s.b.half() && s.b.Windows == nil && s.b.Row >= 0 && s.b.Col == 1 && (few || s.k*s.n*size <= here.nearB(s.b.Row*size))
	s.skinny = few && s.directA && !s.directB
	s.byCols = s.skinny && s.m <= 2*len(s.colTiles) && !s.b.half() && s.b.Windows == nil && s.b.Row == 1 && s.b.Col >= 0
	s.height = s.maxRows()
	if s.streamed = !s.add && s.canStream(); s.streamed {
		s.width = s.streams[0].columns / s.lanes
		return
	}
	if few && s.directB && s.k*s.n*size > farBytes {
		switch {
		case s.m <= 2*len(s.tiles[8]):
			s.height = len(s.tiles[8])
		case s.m <= 3*len(s.tiles[4]):
			s.height = len(s.tiles[4])
		}
	}
	s.width = s.widest(ceil(s.m, ceil(s.m, s.height)))
	if s.skinny { // so many columns are read at a time
		s.width = min(s.width, 2)
	}
}

// planParts settles what is done at a time and by whom.
func (s *shape[T]) planParts(goroutines int) {
	s.rowBlocks, s.colBlocks = ceil(s.m, maxRowBlock), 1
	s.shared = min(maxShared, goroutines*maxAlone) / elemBytes[T]()
	if s.directA && s.directB {
		s.rowBlocks = 1
	}
	if s.turned && s.m > 1 {
		s.colBlocks = ceil(s.n, maxTurned)
	}
	switch {
	case goroutines == 1:
	case s.rowBlocks > 1:
		// Twice as many parts as goroutines even out what slows one of them; four times as
		// many do better, while each has tiles enough for what it reads of b.
		fine := min(4*goroutines, s.m/(leastTiles*s.height))
		s.rowBlocks = ceil(max(s.rowBlocks, 2*goroutines, fine), goroutines) * goroutines
	default:
		s.colBlocks = max(s.colBlocks, min(2*goroutines, ceil(s.n, s.lanes*s.width)))
	}
}

// needsRoom reports whether something is packed or turned.
func (s *shape[T]) needsRoom() bool {
	return s.streamed || !s.directA || !s.directB && !s.byCols || s.turned && s.m > 1
}

// ceil returns n/d rounded up, for positive numbers.
func ceil(n, d int) int {
	if n <= d { // often, and a division takes long
		return 1
	}
	return (n + d - 1) / d
}

// elemBytes returns the size of a T.
func elemBytes[T dtype.Float]() int { return int(unsafe.Sizeof(T(0))) }

// cut returns the bounds of part i of n things in so many parts.
func cut(n, parts, i int) (lo, hi int) {
	if parts == 1 {
		return 0, n
	}
	return i * n / parts, (i + 1) * n / parts
}

// cutCols is cut of the columns between whole panels.
func (s *shape[T]) cutCols(i int) (lo, hi int) {
	w := s.lanes * s.width
	lo, hi = cut(ceil(s.n, w), s.colBlocks, i)
	return lo * w, min(hi*w, s.n)
}
