package kernel

import (
	"fmt"
	"math"
	goruntime "runtime"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
)

// gemmLoop is the loop of Gemm's comment.
func gemmLoop[T dtype.Number](c []T, a []T, ga Grid, b []T, gb Grid, m, n, k int) {
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

// operand draws a matrix and how it lies. One element in five is zero, and if
// special is set one in twenty infinite or NaN.
func operand[T dtype.Number](t *rapid.T, rows, cols int, special bool) ([]T, Grid) {
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
		switch r := seed >> 24; {
		case r < 51:
			x[i] = 0
		case r < 64 && special:
			x[i] = T(nonFinite[seed>>20&3])
		default:
			x[i] = T(float64(seed>>12&0xfff)/64) / 3
		}
	}
	return x, g
}

var nonFinite = [4]float64{math.Inf(1), math.Inf(-1), math.NaN(), math.NaN()}

func sameBits[T dtype.Number](x, y T) bool { return x == y || x != x && y != y }

func testGemm[T dtype.Number](t *testing.T, name string, gemm func(c []T, a []T, ga Grid, b []T, gb Grid, m, n, k int)) {
	float := T(1)/T(2) != 0
	t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, 300))
		m, n, k := size.Draw(t, "m"), size.Draw(t, "n"), size.Draw(t, "k")
		special := float && rapid.Bool().Draw(t, "special")
		a, ga := operand[T](t, m, k, special)
		b, gb := operand[T](t, k, n, special)
		got, want := make([]T, m*n), make([]T, m*n)
		for i := range got {
			got[i] = 77
		}
		gemm(got, a, ga, b, gb, m, n, k)
		gemmLoop(want, a, ga, b, gb, m, n, k)
		for i := range got {
			if !sameBits(got[i], want[i]) {
				t.Fatalf("[%d, %d] by [%d, %d], %+v by %+v: element %d is %v, want %v", m, k, k, n, ga, gb, i, got[i], want[i])
			}
		}
	}))
}

// Every element is the same sum in the same order, bit for bit, however the
// operands lie.
func TestGemm(t *testing.T) {
	testGemm(t, "f32", Gemm.F32)
	testGemm(t, "f64", Gemm.F64)
	testGemm(t, "i64", Gemm.I64)
	testGemm(t, "i32", Gemm.I32)
	testGemm(t, "u8", Gemm.U8)
}

func TestGemmKeepsToItsGoroutine(t *testing.T) {
	const n = 300
	a, b := make([]float32, n*n), make([]float32, n*n)
	for i := range a {
		a[i], b[i] = float32(i%7)/3, float32(i%11)/7
	}
	var want []float32
	for _, procs := range []int{1, 2, 4} {
		old := goruntime.GOMAXPROCS(procs)
		got := make([]float32, n*n)
		Gemm.F32(got, a, Grid{0, n, 1}, b, Grid{0, 1, n}, n, n, n)
		goruntime.GOMAXPROCS(old)
		if want == nil {
			want = got
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("on %d cores element %d is %v, want %v", procs, i, got[i], want[i])
			}
		}
	}
}

func BenchmarkGemm(b *testing.B) {
	for _, s := range [][3]int{{8, 8, 8}, {64, 64, 64}, {512, 512, 512}, {1437, 128, 64}, {1437, 10, 128}, {1, 1024, 1024}, {1024, 1, 1024}} {
		m, n, k := s[0], s[1], s[2]
		x, y, z := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
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
			b.Run(fmt.Sprintf("f32/%dx%dx%d/%s", m, n, k, trans), func(b *testing.B) {
				for b.Loop() {
					Gemm.F32(z, x, gx, y, gy, m, n, k)
				}
				b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
