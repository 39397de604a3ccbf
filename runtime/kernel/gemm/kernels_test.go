package gemm

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/vec"
)

// drawFloat32 draws a float32 of any bits, or one of few bits, of which sums
// lie halfway between others.
func drawFloat32(t *rapid.T, name string) float32 {
	if rapid.Bool().Draw(t, name+" of any bits") {
		return math.Float32frombits(rapid.Uint32().Draw(t, name))
	}
	few := float64(rapid.IntRange(-1<<12, 1<<12).Draw(t, name+" fraction"))
	return float32(math.Ldexp(few, rapid.IntRange(-150, 60).Draw(t, name+" exponent")))
}

// exactFMA is fma32 by exact arithmetic.
func exactFMA(x, y, z float32) float32 {
	s := float64(x)*float64(y) + float64(z)
	if s-s != 0 || s == 0 {
		return float32(s) // no number, or an exact zero with the sign that it has
	}
	sum := new(big.Float).SetPrec(1000).SetFloat64(float64(x) * float64(y))
	sum.Add(sum, new(big.Float).SetFloat64(float64(z)))
	f, _ := sum.Float32()
	return f
}

func TestFMA32(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y, z := drawFloat32(t, "x"), drawFloat32(t, "y"), drawFloat32(t, "z")
		if rapid.Bool().Draw(t, "z is near") {
			z = math.Float32frombits(math.Float32bits(-x*y) ^ uint32(rapid.IntRange(0, 3).Draw(t, "bits")))
		}
		if got, want := fma32(x, y, z), exactFMA(x, y, z); !same(got, want) {
			t.Fatalf("fma32(%b, %b, %b) = %b, want %b", x, y, z, got, want)
		}
	})
}

// A sum that is rounded to a tie of two float32 is rounded by what was lost.
func TestFMA32OfTies(t *testing.T) {
	for _, c := range []struct{ x, y, z, want float32 }{
		{1 + 0x1p-12, 1 + 0x1p-12, 0x1p-60, 1 + 0x1p-11 + 0x1p-23},    // 1 + 2⁻¹¹ + 2⁻²⁴, a tie, and a bit more
		{1 + 0x1p-12, 1 + 0x1p-12, -0x1p-60, 1 + 0x1p-11},             // and a bit less
		{1 + 0x1p-12, 1 + 0x1p-12, 0, 1 + 0x1p-11},                    // to even
		{-1 - 0x1p-12, 1 + 0x1p-12, -0x1p-60, -1 - 0x1p-11 - 0x1p-23}, // the same below zero
		{0x1p-75, 0x1p-75, 0x1p-149, 0x1p-148},                        // of subnormals: to even
		{0x1p-75, 0x1.8p-75, 0x1p-149, 0x1p-148},
	} {
		if got := fma32(c.x, c.y, c.z); !same(got, c.want) {
			t.Errorf("fma32(%b, %b, %b) = %b, want %b", c.x, c.y, c.z, got, c.want)
		}
	}
}

// Every tile of every set of instructions is that of its comment, whether a lies by
// rows or, as where it is packed, by columns.
func testTiles[T dtype.Float](t *testing.T) {
	for _, s := range vec.Sets() {
		ks := kernelsIn[T](s)
		for v, tiles := range ks.tiles {
			for r, tile := range tiles {
				for lanes := 1; lanes <= ks.lanes; lanes++ {
					for _, add := range []bool{false, true} {
						for _, byCols := range []bool{false, true} {
							checkTile(t, s, ks.lanes, tile, r+1, v, lanes, add, byCols)
						}
					}
				}
			}
		}
	}
}

// checkTile compares a tile of rows by v vectors, of which the last has lanes,
// with the loop of its comment.
func checkTile[T dtype.Float](t *testing.T, s vec.Set, width int, tile tileFunc[T], rows, v, lanes int, add, byCols bool) {
	const k, ldc = 5, 200
	p := randomProduct[T](rows, ldc, k, "NN")
	if byCols {
		p.A.Grid = Grid{Row: 1, Col: rows}
	}
	cols := (v-1)*width + lanes
	c, want := make([]T, rows*ldc), make([]T, rows*ldc)
	for i := range c {
		c[i], want[i] = T(i), T(i)
	}
	for i := range rows * cols {
		sum, at := T(0), i/cols*ldc+i%cols
		for l := range k {
			sum = fmaOf(p.A.number(i/cols, l), p.B.number(l, i%cols), sum)
		}
		if add {
			sum += c[at]
		}
		want[at] = sum
	}
	tile(&c[0], ldc, &p.A.Data[0], p.A.Row, p.A.Col, &p.B.Data[0], ldc, k, lanes, add, 0, 0)
	for i := range c {
		if !same(c[i], want[i]) {
			t.Fatalf("%v: %d by %d vectors, %d lanes, add %v, a by columns %v: element %d is %v, want %v", s, rows, v, lanes, add, byCols, i, c[i], want[i])
		}
	}
}

func TestTiles(t *testing.T) {
	t.Run("f32", testTiles[float32])
	t.Run("f64", testTiles[float64])
}

// Every tile of the kernels of bfloat16 is that of their comment.
func TestTilesOfPairs(t *testing.T) {
	for _, s := range vec.Sets() {
		ks := kernelsIn[float32](s).bf16
		for v, tiles := range ks.tiles {
			for r, tile := range tiles {
				for lanes := 1; lanes <= ks.lanes; lanes++ {
					for _, k := range []int{1, 2, 2*PairBlock + 3} {
						checkPairTile(t, s, ks.lanes, tile, r+1, v, lanes, k)
					}
				}
			}
		}
	}
}

// checkPairTile compares a tile of rows by v vectors, of which the last has lanes, with the
// loop of its comment: added to what c has and not, of an a that lies by rows and by columns.
func checkPairTile(t *testing.T, s vec.Set, width int, tile tileFunc[float32], rows, v, lanes, k int) {
	const ldc = 140
	for add, layout := range map[bool]string{false: "NN", true: "TN"} {
		p := randomProduct[float32](rows, ldc, k, layout)
		p.A.Data[0], p.B.Data[0] = -0x1p-100, 0x1p-100 // a product that is rounded to -0
		cols := (v-1)*width + lanes
		c, want := make([]float32, rows*ldc), make([]float32, rows*ldc)
		for i := range c {
			c[i], want[i] = float32(i), float32(i)
			if row, col := i/ldc, i%ldc; col < cols {
				sum := float32(0)
				if add {
					sum = c[i]
				}
				want[i] = pairSum(p.A.row(row, k), p.B.col(col, k), sum)
			}
		}
		tile(&c[0], ldc, &p.A.Data[0], p.A.Row, p.A.Col, &p.B.Data[0], ldc, k, lanes, add, 0, 0)
		for i := range c {
			if !same(c[i], want[i]) {
				t.Fatalf("%v: %d by %d vectors, %d lanes, %d steps, add %v: element %d is %v, want %v", s, rows, v, lanes, k, add, i, c[i], want[i])
			}
		}
	}
}

// All numbers of 16 bits are widened as dtype widens them.
func TestWiden(t *testing.T) {
	f16, bf16, got := make([]dtype.F16, 1<<16), make([]dtype.BF16, 1<<16), make([]float32, 1<<16)
	for i := range f16 {
		f16[i], bf16[i] = dtype.F16(i), dtype.BF16(i)
	}
	for _, s := range vec.Sets() {
		ks := kernelsIn[float32](s)
		for _, n := range []int{0, 1, 17, 1 << 16} {
			ks.widenF16(got[:n], f16[:n])
			for i, x := range got[:n] {
				if !same(x, f16[i].Float32()) {
					t.Fatalf("%v: float16 %#x is %v, want %v", s, i, x, f16[i].Float32())
				}
			}
			ks.widenBF16(got[:n], bf16[:n])
			for i, x := range got[:n] {
				if !same(x, bf16[i].Float32()) {
					t.Fatalf("%v: bfloat16 %#x is %v, want %v", s, i, x, bf16[i].Float32())
				}
			}
		}
	}
}

// Every stream of every set of instructions is that of its comment.
func testStreams[T dtype.Float](t *testing.T) {
	const k, panels = 5, 3
	for _, s := range vec.Sets() {
		for i, f := range kernelsIn[T](s).streams {
			rows, cols := i+1, panels*f.columns
			p := randomProduct[T](rows, cols, k, "NN")
			for _, fresh := range []bool{true, false} {
				ldc, size := cols+3, elemBytes[T]()
				c, want := make([]T, rows*ldc), make([]T, rows*ldc)
				for at := range c {
					c[at], want[at] = T(at), T(at)
				}
				for at := range rows * cols {
					row, col := at/cols, at%cols
					sum := want[row*ldc+col]
					if fresh {
						sum = 0
					}
					for l := range k {
						sum = fmaOf(p.A.number(row, l), p.B.number(l, col), sum)
					}
					want[row*ldc+col] = sum
				}
				f.stream(&c[0], ldc*size, &p.A.Data[0], k*size, size, &p.B.Data[0], cols*size, k, panels, fresh)
				for at := range c {
					if !same(c[at], want[at]) {
						t.Fatalf("%v: %d rows, fresh %v: element %d is %v, want %v", s, rows, fresh, at, c[at], want[at])
					}
				}
			}
		}
	}
}

func TestStreams(t *testing.T) {
	t.Run("f32", testStreams[float32])
	t.Run("f64", testStreams[float64])
}

// What a stream leaves over, of however many columns, is in the product as well.
func testStreamRests[T dtype.Float](t *testing.T) {
	for _, s := range vec.Sets() {
		ks := kernelsIn[T](s)
		for i, f := range ks.streams {
			for n := f.columns; n < 2*f.columns; n++ {
				p := randomProduct[T](i+1, n, farBytes/(n*elemBytes[T]())+1, "NN")
				p.compute(ks, crew.Crew{})
				expect(t, p, s, p.C, inOrder(p))
			}
		}
	}
}

func TestStreamRests(t *testing.T) {
	t.Run("f32", testStreamRests[float32])
	t.Run("f64", testStreamRests[float64])
}
