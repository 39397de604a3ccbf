package gemm

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/vec"
)

// maxWidth is the greatest width of a tile in vectors.
const maxWidth = 8

// A tileFunc computes a tile of c, of a number of rows and of vectors that are
// its own: it is
//
//	for i := range rows {
//		for j := range (vectors-1)*lanesOfAVector + lanes {
//			sum := 0
//			for l := range k {
//				sum = fma(a[i*rowA+l*colA], b[l*rowB+j], sum)
//			}
//			if add {
//				sum += c[i*ldc+j]
//			}
//			c[i*ldc+j] = sum
//		}
//	}
//
// for k and lanes of at least 1. It touches no other elements.
//
// Besides, while it computes it may have the caches fetch what is soon to be
// read: as many bytes as a row of its b has, from ahead on, k times, each time
// step bytes further on. What is there, if anything, makes no difference.
type tileFunc[T dtype.Float] func(c *T, ldc int, a *T, rowA, colA int, b *T, rowB, k, lanes int, add bool, ahead uintptr, step int)

// A streamFunc goes on with the sums of a number of rows that is its own, and of
// n panels of columns: it is
//
//	for i := range rows {
//		for j := range n * columns {
//			sum := c[i*ldc+j], or 0 if fresh is set
//			for l := range k {
//				sum = fma(a[i*rowA+l*colA], b[l*rowB+j], sum)
//			}
//			c[i*ldc+j] = sum
//		}
//	}
//
// for k and n of at least 1. All strides are in bytes. It reads the k rows of b
// side by side, each from its beginning to its end.
type streamFunc[T dtype.Float] func(c *T, ldc int, a *T, rowA, colA int, b *T, rowB, k, n int, fresh bool)

// A streamer is a streamFunc and the number of columns of its panels.
type streamer[T dtype.Float] struct {
	columns int
	stream  streamFunc[T]
}

// kernels are what one set of instructions has for one type of elements.
type kernels[T dtype.Float] struct {
	lanes int // of a vector
	// tiles[v][r-1] computes r rows of v vectors. Where there are tiles of a
	// width there are those of every smaller number of rows.
	tiles [maxWidth + 1][]tileFunc[T]
	// pastTiles[r-1] is the tile of r rows, and of as many vectors as a line of a cache has, that
	// stores past the caches: all of them whole, add never set, and each row of c begins with a
	// line. There may be none.
	pastTiles []tileFunc[T]
	// streams[r-1] goes on with r rows, few. There may be none.
	streams []streamer[T]
	// colTiles[r-1] is tiles[1][r-1] of a b that lies by columns: it reads
	// b[j*rowB+l].
	colTiles []tileFunc[T]
	// slides[i] computes 1<<i vectors of windows at a time. There may be none.
	slides []slideFunc[T]
	// rowSums[n-1] sums what n elements of a window see. There may be none.
	rowSums []rowSumsFunc[T]
	// copyRows is
	//
	//	for l := range rows {
	//		for i := range n {
	//			dst[l*width+i] = src[l*stride+i]
	//		}
	//	}
	//
	// for n and rows of at least 1. It touches no other elements.
	copyRows func(dst *T, width int, src *T, stride, n, rows int)
	// fromSeconds is copyRows of src[l*stride+2*i], for n of at least lanes. There may be none.
	fromSeconds func(dst *T, width int, src *T, stride, n, rows int)
	// toSeconds is copyRows to dst[l*width+2*i]; between those it stores what was there. There may be
	// none.
	toSeconds func(dst *T, width int, src *T, stride, n, rows int)
	// transpose is copyRows of src[i*stride+l], for n of at most lanes. It writes
	// whole vectors from the first row to the last: what it leaves behind the n
	// elements of a row is unspecified.
	transpose func(dst *T, width int, src *T, stride, n, rows int)
	// widenF16 and widenBF16 store the values of src in dst, which is as
	// long. Kernels of float64 have none.
	widenF16  func(dst []T, src []dtype.F16)
	widenBF16 func(dst []T, src []dtype.BF16)

	// bf16 are the kernels of products of bfloat16, which widen them and add in their
	// order. Their tiles are those of tileFunc but for what they store:
	//
	//	sum := 0, or if add c[i*ldc+j]
	//	for first := 0; first < k; first += PairBlock {
	//		even, odd := 0, 0
	//		for l := first; l < min(first+PairBlock, k); l += 2 {
	//			even = fma(a[i*rowA+l*colA], b[l*rowB+j], even)
	//			odd = fma(a[i*rowA+(l+1)*colA], b[(l+1)*rowB+j], odd) // unless l+1 is k
	//		}
	//		sum += even + odd
	//	}
	//
	// Kernels of float64 have none, nor have they themselves.
	bf16 *kernels[T]

	// tiled computes product i of p, both of whose operands are bfloat16, by instructions
	// that multiply matrices. There may be none.
	tiled func(p *Product[T], i int, c crew.Crew)
}

// maxRows returns the number of rows that a tile may have.
func (ks *kernels[T]) maxRows() int { return len(ks.tiles[1]) }

// widest returns the width in vectors of the widest tile of so many rows.
func (ks *kernels[T]) widest(rows int) int {
	v := maxWidth
	for len(ks.tiles[v]) < rows {
		v /= 2
	}
	return v
}

// kernelsOf returns the kernels of float32 and of float64 in s.
func kernelsOf(s vec.Set) (*kernels[float32], *kernels[float64]) {
	if s == vec.Portable {
		return &portableF32, &portableF64
	}
	return vectorKernels(s)
}
