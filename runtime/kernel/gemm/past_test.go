package gemm

import (
	"fmt"
	"testing"
	"unsafe"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/vec"
)

// lines returns n NaN that begin with a line of the caches.
func lines[T dtype.Float](n int) []T {
	x := poisoned[T](n + vec.LineBytes/elemBytes[T]())
	for uintptr(unsafe.Pointer(&x[0]))%vec.LineBytes != 0 {
		x = x[1:]
	}
	return x[:n]
}

func testPast[T dtype.Float](t *testing.T) {
	for _, size := range [][3]int{{1, 16, 1}, {6, 32, 3}, {13, 48, 64}, {40, 176, 32}, {256, 208, 64}, {5, 4096, 2}, {200, 160, 256}} {
		p := randomProduct[T](size[0], size[1], size[2], "NN")
		want := inOrder(p)
		for _, s := range vec.Sets() {
			for goroutines := 1; goroutines <= 3; goroutines++ {
				p.C = lines[T](len(want))
				var one shape[T]
				one.begin(kernelsIn[T](s), p, 0)
				one.plan(goroutines)
				one.past = one.fitsPast()
				if one.past != (s == vec.AVX2) {
					t.Fatalf("%v: fitsPast() = %v", s, one.past)
				}
				one.run(crew.Of(goroutines - 1))
				expect(t, p, fmt.Sprintf("%v, %d goroutines", s, goroutines), p.C, want)
			}
		}
	}
}

// A product that is stored past the caches has the bits of any other.
func TestPast(t *testing.T) {
	t.Run("f32", testPast[float32])
	t.Run("f64", testPast[float64])
}

// What does not fill lines of the caches, is added to or turned is not stored past them.
func TestFitsPast(t *testing.T) {
	for _, c := range []struct {
		m, n, k int
		add     bool
		want    bool
	}{{40, 160, 32, false, true}, {40, 160, 32, true, false}, {40, 161, 32, false, false}, {40, 160, Block + 1, false, false}, {4000, 2, 32, false, false}} {
		p := randomProduct[float32](c.m, c.n, c.k, "NN")
		p.Add = c.add
		var s shape[float32]
		s.begin(kernelsIn[float32](vec.Active()), p, 0)
		s.plan(1)
		if got := s.fitsPast(); got != (c.want && s.pastTiles != nil) {
			t.Errorf("%+v: fitsPast() = %v", c, got)
		}
	}
}
