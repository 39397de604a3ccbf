package gemm

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/vec"
)

func testPart[T dtype.Float](t *rapid.T) {
	p := drawProduct[T](t)
	if p.A.half() || p.B.half() {
		t.Skip("sums of them have an order of their own")
	}
	p.Add, p.CRow = true, p.N+rapid.IntRange(0, 20).Draw(t, "beside")
	before := make([]T, (p.M-1)*p.CRow+p.N)
	for i := range before {
		before[i] = T(i%17) / 3
	}
	want := slices.Clone(before)
	addInOrder(p, want)
	for _, s := range vec.Sets() {
		for helpers := range 3 {
			p.C = slices.Clone(before)
			p.compute(kernelsIn[T](s), crew.Of(helpers))
			expect(t, p, s, p.C, want)
		}
	}
}

// A product that is added to a part of a larger matrix leaves the rest of that alone.
func TestPart(t *testing.T) {
	t.Run("f32", rapid.MakeCheck(testPart[float32]))
	t.Run("f64", rapid.MakeCheck(testPart[float64]))
}
