package kernel

import (
	"fmt"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/gemm"
)

// A Product is a matrix product in each dtype that has it; see Gemm.
type Product struct {
	F32 func(c []float32, a []float32, ga Grid, b []float32, gb Grid, m, n, k int)
	F64 func(c []float64, a []float64, ga Grid, b []float64, gb Grid, m, n, k int)
	I64 func(c []int64, a []int64, ga Grid, b []int64, gb Grid, m, n, k int)
	I32 func(c []int32, a []int32, ga Grid, b []int32, gb Grid, m, n, k int)
	U8  func(c []uint8, a []uint8, ga Grid, b []uint8, gb Grid, m, n, k int)
}

// Gemm is
//
//	for i := range m {
//		for j := range n {
//			s := 0
//			for l := range k {
//				s += a[i, l] * b[l, j]
//			}
//			c[i*n+j] = s
//		}
//	}
//
// where ga and gb say where the elements of a and b lie; of floats it is the
// sum in the order of package gemm, in the goroutine that calls it. c does not
// overlap a or b. It panics if an element lies outside its slice.
var Gemm = Product{floatGemm[float32], floatGemm[float64], intGemm[int64], intGemm[int32], intGemm[uint8]}

// floatGemm is Gemm of floats.
func floatGemm[T dtype.Float](c []T, a []T, ga Grid, b []T, gb Grid, m, n, k int) {
	gemm.Multiply(nil, gemm.Product[T]{
		M: m, N: n, K: k, Count: 1, C: c,
		A: gemm.Operand[T]{Data: a, Grid: gemm.Grid(ga)},
		B: gemm.Operand[T]{Data: b, Grid: gemm.Grid(gb)},
	})
}

// The operands are walked in tiles of rowTile by innerTile of a, innerTile by
// colTile of b: a tile of b stays in the second-level cache while all rows of
// a pass.
const (
	rowTile   = 64
	innerTile = 128
	colTile   = 192

	// Below narrow columns a row at a time does not pay.
	narrow = 12
)

// A block is a tile of a matrix whose rows are contiguous and stride apart.
type block[T any] struct {
	data   []T
	stride int
}

// intGemm is Gemm of integers.
func intGemm[T dtype.Integer](c []T, a []T, ga Grid, b []T, gb Grid, m, n, k int) {
	if len(c) != m*n {
		panic(fmt.Sprintf("kernel: %d elements for a product of %d by %d", len(c), m, n))
	}
	clear(c)
	switch {
	case m == 0 || n == 0 || k == 0:
	case n < narrow:
		dots(c, Grid{0, n, 1}, a, ga, b, gb, m, n, k)
	case m < 4 && gb.Col != 1: // the transposed product is narrow
		dots(c, Grid{0, 1, n}, b, Grid{gb.Offset, gb.Col, gb.Row}, a, Grid{ga.Offset, ga.Col, ga.Row}, n, m, k)
	default:
		gemmTiles(c, a, ga, b, gb, m, n, k)
	}
}

// dots is Gemm element by element, four rows at a time; gc says where the
// elements of c lie.
func dots[T dtype.Integer](c []T, gc Grid, a []T, ga Grid, b []T, gb Grid, m, n, k int) {
	for j := range n {
		pa, pb, pc := ga.Offset, gb.Offset+j*gb.Col, gc.Offset+j*gc.Col
		i := 0
		for ; i+4 <= m; i += 4 {
			s0, s1, s2, s3 := dot4(a[pa:], ga.Row, ga.Col, b[pb:], gb.Row, k)
			c[pc], c[pc+gc.Row], c[pc+2*gc.Row], c[pc+3*gc.Row] = s0, s1, s2, s3
			pa, pc = pa+4*ga.Row, pc+4*gc.Row
		}
		for ; i < m; i++ {
			c[pc] = dot(a[pa:], ga.Col, b[pb:], gb.Row, k)
			pa, pc = pa+ga.Row, pc+gc.Row
		}
	}
}

// dot returns the sum of a[l*ca] * b[l*rb] for l in range k.
func dot[T dtype.Integer](a []T, ca int, b []T, rb, k int) T {
	var s T
	pa, pb := 0, 0
	for range k {
		s += a[pa] * b[pb]
		pa, pb = pa+ca, pb+rb
	}
	return s
}

// dot4 returns dot of each of four rows of a, which are ra apart.
func dot4[T dtype.Integer](a []T, ra, ca int, b []T, rb, k int) (s0, s1, s2, s3 T) {
	a1, a2, a3 := a[ra:], a[2*ra:], a[3*ra:]
	pa, pb := 0, 0
	for range k {
		v := b[pb]
		s0 += a[pa] * v
		s1 += a1[pa] * v
		s2 += a2[pa] * v
		s3 += a3[pa] * v
		pa, pb = pa+ca, pb+rb
	}
	return s0, s1, s2, s3
}

// gemmTiles adds the product of a and b to c tile by tile.
func gemmTiles[T dtype.Integer](c []T, a []T, ga Grid, b []T, gb Grid, m, n, k int) {
	var packedA, packedB []T
	for j := 0; j < n; j += colTile {
		cols := min(colTile, n-j)
		for l := 0; l < k; l += innerTile {
			inner := min(innerTile, k-l)
			tb := tileOf(b, Grid{gb.Offset + l*gb.Row + j*gb.Col, gb.Row, gb.Col}, inner, cols, &packedB)
			for i := 0; i < m; i += rowTile {
				rows := min(rowTile, m-i)
				ta := tileOf(a, Grid{ga.Offset + i*ga.Row + l*ga.Col, ga.Row, ga.Col}, rows, inner, &packedA)
				mulAdd(block[T]{c[i*n+j:], n}, ta, tb, rows, cols, inner)
			}
		}
	}
}

// tileOf returns the tile of rows by cols at g: in place if its rows are
// contiguous, else copied into *scratch.
func tileOf[T dtype.Integer](x []T, g Grid, rows, cols int, scratch *[]T) block[T] {
	if g.Col == 1 && (g.Row >= cols || rows == 1) {
		return block[T]{x[g.Offset:], max(g.Row, cols)}
	}
	if len(*scratch) < rows*cols {
		*scratch = make([]T, rows*cols)
	}
	Copy(*scratch, Grid{0, cols, 1}, x, g, rows, cols)
	return block[T]{*scratch, cols}
}

// mulAdd is
//
//	for i := range m {
//		for l := range k {
//			for j := range n {
//				c[i, j] += a[i, l] * b[l, j]
//			}
//		}
//	}
func mulAdd[T dtype.Integer](c, a, b block[T], m, n, k int) {
	for i := range m {
		row := c.data[i*c.stride:][:n]
		for l, v := range a.data[i*a.stride:][:k] {
			for j, w := range b.data[l*b.stride:][:n] {
				row[j] += v * w
			}
		}
	}
}

// Weigh is
//
//	for i := range dst {
//		dst[i] = beta*x[i] + alpha*y[i]
//	}
//
// where x is not read if beta is 0. It panics if the lengths differ. dst may
// be x or y.
func Weigh[T dtype.Number](dst []T, beta T, x []T, alpha T, y []T) {
	check3(len(dst), len(x), len(y))
	if beta == 0 {
		for i, v := range y {
			dst[i] = alpha * v
		}
		return
	}
	for i, v := range y {
		dst[i] = T(beta*x[i]) + T(alpha*v)
	}
}
