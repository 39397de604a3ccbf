package kernel

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
)

// gemmLoop is the loop of Gemm's comment.
func gemmLoop[T dtype.Integer](c []T, a []T, ga Grid, b []T, gb Grid, m, n, k int) {
	for i := range m {
		for j := range n {
			var s T
			for l := range k {
				s += a[ga.Offset+i*ga.Row+l*ga.Col] * b[gb.Offset+l*gb.Row+j*gb.Col]
			}
			c[i*n+j] = s
		}
	}
}

// operand draws a matrix and how it lies. One element in five is zero.
func operand[T dtype.Integer](t *rapid.T, rows, cols int) ([]T, Grid) {
	g := Grid{rapid.IntRange(0, 2).Draw(t, "offset"), cols + rapid.IntRange(0, 2).Draw(t, "gap"), 1}
	switch rapid.IntRange(0, 3).Draw(t, "layout") {
	case 0:
		g.Row, g.Col = 1, rows+1
	case 1:
		g.Row = 0
	}
	x := make([]T, g.Offset+max(rows-1, 0)*g.Row+max(cols-1, 0)*g.Col+1)
	seed := rapid.Uint32().Draw(t, "seed")
	for i := range x {
		seed = seed*1664525 + 1013904223
		if seed>>24 >= 51 {
			x[i] = T(seed >> 12)
		}
	}
	return x, g
}

func testGemm[T dtype.Integer](t *testing.T, name string, gemm func(c []T, a []T, ga Grid, b []T, gb Grid, m, n, k int)) {
	t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, 300))
		m, n, k := size.Draw(t, "m"), size.Draw(t, "n"), size.Draw(t, "k")
		a, ga := operand[T](t, m, k)
		b, gb := operand[T](t, k, n)
		got, want := make([]T, m*n), make([]T, m*n)
		for i := range got {
			got[i] = 77
		}
		gemm(got, a, ga, b, gb, m, n, k)
		gemmLoop(want, a, ga, b, gb, m, n, k)
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("[%d, %d] by [%d, %d], %+v by %+v: element %d is %v, want %v", m, k, k, n, ga, gb, i, got[i], want[i])
			}
		}
	}))
}

// Every element is the sum, however the operands lie.
func TestGemm(t *testing.T) {
	testGemm(t, "i64", Gemm.I64)
	testGemm(t, "i32", Gemm.I32)
	testGemm(t, "u8", Gemm.U8)
}

func BenchmarkGemm(b *testing.B) {
	for _, s := range [][3]int{{8, 8, 8}, {64, 64, 64}, {512, 512, 512}, {1437, 128, 64}, {1437, 10, 128}, {1, 1024, 1024}, {1024, 1, 1024}} {
		m, n, k := s[0], s[1], s[2]
		x, y, z := make([]int32, m*k), make([]int32, k*n), make([]int32, m*n)
		for i := range x {
			x[i] = 1
		}
		for _, trans := range []string{"NN", "NT", "TN"} {
			gx, gy := Grid{0, k, 1}, Grid{0, n, 1}
			switch trans {
			case "NT":
				gy = Grid{0, 1, k}
			case "TN":
				gx = Grid{0, 1, m}
			}
			b.Run(fmt.Sprintf("i32/%dx%dx%d/%s", m, n, k, trans), func(b *testing.B) {
				for b.Loop() {
					Gemm.I32(z, x, gx, y, gy, m, n, k)
				}
				b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GOP/s")
			})
		}
	}
}

// sameBits reports whether x and y are equal, or both NaN.
func sameBits[T dtype.Number](x, y T) bool { return x == y || x != x && y != y }
