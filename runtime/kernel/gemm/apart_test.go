package gemm

import (
	"slices"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// eachApart calls f with all sets of instructions, and rows of all lengths up to some vectors, whose
// elements lie up to three apart.
func eachApart(f func(set vec.Set, apart, n, rows int)) {
	defer vec.Use(vec.Best())
	for _, set := range vec.Sets() {
		vec.Use(set)
		for apart := 1; apart <= 3; apart++ {
			for n := 1; n < 70; n++ {
				f(set, apart, n, 3)
			}
		}
	}
}

// Copies of rows whose elements lie apart are those of the loop, and nothing else is written.
func testApart[T dtype.Float](t *testing.T) {
	eachApart(func(set vec.Set, apart, n, rows int) {
		width, stride := n+2, n*apart+3
		near, far := make([]T, rows*width), make([]T, rows*stride)
		for i := range near {
			near[i] = T(-i - 1)
		}
		for i := range far {
			far[i] = T(i + 1)
		}
		wantNear, wantFar := slices.Clone(near), slices.Clone(far)
		for l := range rows {
			for i := range n {
				wantNear[l*width+i] = far[l*stride+i*apart]
				wantFar[l*stride+i*apart] = near[l*width+i]
			}
		}
		got := slices.Clone(far)
		CopyToApart(got, stride, apart, near, width, n, rows)
		if !slices.Equal(got, wantFar) {
			t.Errorf("%v: %d elements to places %d apart are\n%v, want\n%v", set, n, apart, got, wantFar)
		}
		CopyFromApart(near, width, far, stride, apart, n, rows)
		if !slices.Equal(near, wantNear) {
			t.Errorf("%v: %d elements from places %d apart are\n%v, want\n%v", set, n, apart, near, wantNear)
		}
	})
}

func TestApart(t *testing.T) {
	t.Run("f32", testApart[float32])
	t.Run("f64", testApart[float64])
}
