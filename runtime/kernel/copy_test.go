package kernel

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
)

// copyLoop is the loop of Copy's comment.
func copyLoop[T any](dst []T, d Grid, src []T, s Grid, rows, cols int) {
	for i := range rows {
		for j := range cols {
			dst[d.Offset+i*d.Row+j*d.Col] = src[s.Offset+i*s.Row+j*s.Col]
		}
	}
}

// grid draws a way to lay out rows by cols elements in a slice of n, whose
// elements are distinct if distinct is set.
func grid(t *rapid.T, rows, cols int, distinct bool) (g Grid, n int) {
	if rapid.Bool().Draw(t, "transposed") {
		g.Row, g.Col = 1, rows+rapid.IntRange(0, 3).Draw(t, "gap")
	} else {
		g.Row, g.Col = cols+rapid.IntRange(0, 3).Draw(t, "gap"), 1
	}
	if !distinct && rapid.Bool().Draw(t, "broadcast") {
		g.Col = 0
	}
	for _, stride := range []struct {
		step *int
		n    int
	}{{&g.Row, rows}, {&g.Col, cols}} {
		n += (stride.n - 1) * *stride.step
		if rapid.Bool().Draw(t, "reversed") {
			g.Offset += (stride.n - 1) * *stride.step
			*stride.step = -*stride.step
		}
	}
	return g, n + 1
}

func TestCopy(t *testing.T) {
	t.Run("1", func(t *testing.T) { testCopy[int8](t) })
	t.Run("2", func(t *testing.T) { testCopy[int16](t) })
	t.Run("4", func(t *testing.T) { testCopy[int32](t) })
	t.Run("8", func(t *testing.T) { testCopy[int64](t) })
}

func testCopy[T dtype.Number | int8 | int16](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(1, 70).Draw(t, "rows"), rapid.IntRange(1, 70).Draw(t, "cols")
		if rapid.Bool().Draw(t, "thin") {
			cols = min(cols, 9)
		}
		d, n := grid(t, rows, cols, true)
		s, m := grid(t, rows, cols, false)
		src := make([]T, m)
		for i := range src {
			src[i] = T(i + 1)
		}
		got, want := make([]T, n), make([]T, n)
		Copy(got, d, src, s, rows, cols)
		copyLoop(want, d, src, s, rows, cols)
		if !slices.Equal(got, want) {
			t.Fatalf("Copy(dst, %v, src, %v, %d, %d) = %v, want %v", d, s, rows, cols, got, want)
		}
	})
}

// Two or three columns become rows one behind the other.
func TestCopyInterleaved(t *testing.T) {
	for _, rows := range []int{1, 2, 5, 40} {
		for cols := 2; cols <= 4; cols++ {
			for _, stride := range []int{-rows, 0, 1, rows, rows + 3} {
				src := make([]int32, 200)
				for i := range src {
					src[i] = int32(i)
				}
				d, s := Grid{0, cols, 1}, Grid{max(0, -stride) * (cols - 1), 1, stride}
				got, want := make([]int32, rows*cols), make([]int32, rows*cols)
				Copy(got, d, src, s, rows, cols)
				copyLoop(want, d, src, s, rows, cols)
				if !slices.Equal(got, want) {
					t.Errorf("Copy(dst, %v, src, %v, %d, %d) = %v, want %v", d, s, rows, cols, got, want)
				}
			}
		}
	}
}

// What fills many bytes, past the caches, fills those and no others, wherever they begin.
func TestFillMany(t *testing.T) {
	for _, n := range []int{1, 31, 100, 1 << 12, 1<<18 + 3, 1<<20 + 17} {
		for off := range 3 {
			x := make([]float64, n+off+1)
			Fill(x[off:off+n], 7)
			for i, v := range x {
				if inside := i >= off && i < off+n; inside != (v == 7) {
					t.Fatalf("Fill of %d elements from %d: element %d is %v", n, off, i, v)
				}
			}
			Clear(unsafe.Slice((*byte)(unsafe.Pointer(&x[off])), 8*n))
			for i, v := range x {
				if v != 0 {
					t.Fatalf("Clear of %d elements from %d: element %d is %v", n, off, i, v)
				}
			}
		}
	}
}

func TestCopyEmpty(t *testing.T) {
	Copy[int32](nil, Grid{0, 3, 1}, nil, Grid{0, 1, 0}, 0, 3)
}

func BenchmarkCopy(b *testing.B) {
	const n = 1024
	dst, src := make([]float32, n*n), make([]float32, n*n)
	for _, s := range []Grid{{0, n, 1}, {0, 1, n}, {n - 1, n, -1}, {0, 1, 0}} {
		b.Run(fmt.Sprintf("f32/%dx%d/strides=%d,%d", n, n, s.Row, s.Col), func(b *testing.B) {
			b.SetBytes(4 * n * n)
			for b.Loop() {
				Copy(dst, Grid{0, n, 1}, src, s, n, n)
			}
		})
	}
}
