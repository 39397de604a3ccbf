package optest

import (
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// to returns x in dtype dt.
func to(x *tensor.Tensor, dt dtype.DType) *tensor.Tensor {
	return ok(applied("to", x, op.Int1(int(dt))))[0]
}

// A product of numbers of 16 bits is that of their float32, rounded once, however they lie. Of
// two of bfloat16, which are added in pairs, it is that of copies of them that lie in order.
func TestMatmulOfHalves(t *testing.T) {
	halves := []dtype.DType{dtype.Float16, dtype.BFloat16}
	thirds := func(dt dtype.DType, sizes ...int) *tensor.Tensor {
		return to(ok(applied("div", counting(dtype.Float32, sizes...), 3.0))[0], dt)
	}
	rapid.Check(t, func(t *rapid.T) {
		m, n, k := rapid.IntRange(0, 40).Draw(t, "m"), rapid.IntRange(0, 40).Draw(t, "n"), rapid.IntRange(0, 300).Draw(t, "k")
		da, db := rapid.SampledFrom(halves).Draw(t, "dtype of a"), rapid.SampledFrom(halves).Draw(t, "dtype of b")
		a, b := thirds(da, 2, m, k), thirds(db, k, n)
		if rapid.Bool().Draw(t, "a by columns") {
			a = ok(applied("transpose", thirds(da, 2, k, m), op.Int1(1), op.Int1(2)))[0]
		}
		if rapid.Bool().Draw(t, "b by columns") {
			b = ok(applied("transpose", thirds(db, n, k), op.Int1(0), op.Int1(1)))[0]
		}
		got := ok(applied("matmul", a, b))[0]
		af, bf := to(a, dtype.Float32), to(b, dtype.Float32)
		if da == dtype.BFloat16 && db == dtype.BFloat16 {
			af, bf = to(af, da), to(bf, db)
		}
		want := to(ok(applied("matmul", af, bf))[0], dtype.Promote(da, db))
		if show(got) != show(want) {
			t.Fatalf("%v %v %v by %v %v %v: got %s, want %s", da, a.Shape(), a.Strides(), db, b.Shape(), b.Strides(), show(got), show(want))
		}
	})
}

// Cores that no rank needs change no bit of a product.
func TestMatmulWithWorkers(t *testing.T) {
	alone := &op.Ctx{Alloc: testCtx.Alloc}
	helped := &op.Ctx{Alloc: testCtx.Alloc, Workers: crew.NewWorkers(3)}
	for _, sizes := range [][2][]int{
		{{200, 130}, {130, 150}}, {{3, 400}, {400, 1100}}, {{1200, 400}, {400, 3}},
		{{9, 60, 70}, {9, 70, 80}}, {{4, 1, 200, 90}, {2, 90, 60}},
	} {
		for _, dt := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.BFloat16} {
			a := to(ok(applied("div", counting(dtype.Float32, sizes[0]...), 7.0))[0], dt)
			b := to(ok(applied("div", counting(dtype.Float32, sizes[1]...), 3.0))[0], dt)
			in := []*tensor.Tensor{a, b}
			want := ok(op.Apply(alone, op.Lookup("matmul"), in, nil)).Out[0]
			got := ok(op.Apply(helped, op.Lookup("matmul"), in, nil)).Out[0]
			if show(got) != show(want) {
				t.Errorf("%v by %v of %v: helpers change the product", sizes[0], sizes[1], dt)
			}
		}
	}
}
