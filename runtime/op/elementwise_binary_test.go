package op_test

import (
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

type tensors = []*tensor.Tensor

func TestBinaryValues(t *testing.T) {
	f32, i64 := dtype.Float32, dtype.Int64
	for _, k := range []case1{
		{name: "add", in: tensors{vec(t, 1, 2), vec(t, 10, 20)}, dt: f32, want: []float64{11, 22}},
		{name: "add", in: tensors{vec(t, 1, 2), tensor.Number(0.5)}, dt: f32, want: []float64{1.5, 2.5}},
		{name: "sub", in: tensors{tensor.Number(int64(2)), vec(t, 1, 2)}, dt: f32, s: []int{2}, want: []float64{1, 0}},
		{name: "mul", in: tensors{mk(t, f32, []int{2, 1}, 2, 3), vec(t, 1, 10)}, dt: f32, s: []int{2, 2}, want: []float64{2, 20, 3, 30}},
		{name: "div", in: tensors{ints(t, 1, 3), tensor.Number(int64(2))}, dt: f32, want: []float64{0.5, 1.5}},
		{name: "div", in: tensors{vec(t, 1, 0, -1), vec(t, 0, 0, 0)}, dt: f32, want: []float64{inf, nan, -inf}},
		{name: "add", in: tensors{mk(t, dtype.Uint8, []int{1}, 250), mk(t, dtype.Uint8, []int{1}, 10)}, dt: dtype.Uint8, want: []float64{4}},
		{name: "add", in: tensors{bools(t, 1, 0, 0), bools(t, 1, 1, 0)}, dt: dtype.Bool, want: []float64{1, 1, 0}},
		{name: "mul", in: tensors{bools(t, 1, 0, 1), bools(t, 1, 1, 0)}, dt: dtype.Bool, want: []float64{1, 0, 0}},
		// Python: 7 // 2, -7 // 2, 7 // -2, -7 // -2 and the like for %.
		{name: "floordiv", in: tensors{ints(t, 7, -7, 7, -7), ints(t, 2, 2, -2, -2)}, dt: i64, want: []float64{3, -4, -4, 3}},
		{name: "mod", in: tensors{ints(t, 7, -7, 7, -7), ints(t, 3, 3, -3, -3)}, dt: i64, want: []float64{1, 2, -2, -1}},
		{name: "floordiv", in: tensors{vec(t, 7.5, -7.5, 1, -1), vec(t, 2, 2, 0, inf)}, dt: f32, want: []float64{3, -4, inf, -1}},
		{name: "mod", in: tensors{vec(t, 7.5, -7.5, 1, -1), vec(t, 2, 2, 0, inf)}, dt: f32, want: []float64{1.5, 0.5, nan, inf}},
		{name: "floordiv", in: tensors{mk(t, dtype.Int32, []int{1}, -1<<31), tensor.Number(int64(-1))}, dt: dtype.Int32, want: []float64{-1 << 31}},
		{name: "pow", in: tensors{vec(t, 2, 3, -2), tensor.Number(int64(2))}, dt: f32, want: []float64{4, 9, 4}},
		{name: "pow", in: tensors{vec(t, 4, -2), tensor.Number(int64(1))}, dt: f32, want: []float64{4, -2}},
		{name: "pow", in: tensors{ints(t, 2, 3, -2), ints(t, 10, 0, 3)}, dt: i64, want: []float64{1024, 1, -8}},
		{name: "pow", in: tensors{vec(t, 4, 0), tensor.Number(-0.5)}, dt: f32, want: []float64{0.5, inf}},
		{name: "maximum", in: tensors{vec(t, 1, nan, 3), vec(t, 2, 2, nan)}, dt: f32, want: []float64{2, nan, nan}},
		{name: "minimum", in: tensors{ints(t, 1, 5), tensor.Number(int64(3))}, dt: i64, want: []float64{1, 3}},
		{name: "and", in: tensors{ints(t, 6, 5), tensor.Number(int64(3))}, dt: i64, want: []float64{2, 1}},
		{name: "or", in: tensors{bools(t, 0, 1), bools(t, 0, 0)}, dt: dtype.Bool, want: []float64{0, 1}},
		{name: "xor", in: tensors{mk(t, dtype.Uint8, []int{2}, 6, 5), ints(t, 3, 3)}, dt: i64, want: []float64{5, 6}},
		{name: "invert", in: tensors{ints(t, 0, -1)}, dt: i64, want: []float64{-1, 0}},
		{name: "invert", in: tensors{bools(t, 0, 1)}, dt: dtype.Bool, want: []float64{1, 0}},
	} {
		k.run(t)
	}
}

func TestBinaryRefusals(t *testing.T) {
	fails(t, `add: for parameter "other": got shapes (3,) and (2,)`, "add", tensors{vec(t, 1, 2, 3), vec(t, 1, 2)})
	fails(t, `parameter "other": got bool with bool, want numbers`, "sub", tensors{bools(t, 1), bools(t, 1)})
	fails(t, "want integers or bools", "and", tensors{vec(t, 1), vec(t, 1)})
	fails(t, "a divisor of 0", "floordiv", tensors{ints(t, 1, 2), ints(t, 1, 0)})
	fails(t, "a divisor of 0", "mod", tensors{ints(t, 1, 2), tensor.Number(int64(0))})
	fails(t, "a negative power", "pow", tensors{ints(t, 1, 2), tensor.Number(int64(-1))})
	fails(t, "got 300, want 0..255 (the range of uint8)", "add", tensors{mk(t, dtype.Uint8, []int{1}, 1), tensor.Number(int64(300))})
}

// The dtypes are those that torch.result_type gives.
func TestPromotion(t *testing.T) {
	of := func(dt dtype.DType) *tensor.Tensor { return mk(t, dt, []int{2}, 1, 1) }
	zero := func(dt dtype.DType) *tensor.Tensor { return mk(t, dt, nil, 1) }
	for _, k := range []struct {
		x, y *tensor.Tensor
		want dtype.DType
	}{
		{of(dtype.Float32), of(dtype.Float64), dtype.Float64},
		{of(dtype.Float16), of(dtype.BFloat16), dtype.Float32},
		{of(dtype.Int64), of(dtype.Float16), dtype.Float16},
		{of(dtype.Uint8), of(dtype.Int32), dtype.Int32},
		{of(dtype.Bool), of(dtype.Uint8), dtype.Uint8},
		{of(dtype.Float32), zero(dtype.Float64), dtype.Float32},
		{of(dtype.Int32), zero(dtype.Int64), dtype.Int32},
		{of(dtype.Int32), zero(dtype.Float64), dtype.Float64},
		{of(dtype.Bool), zero(dtype.Int32), dtype.Int32},
		{zero(dtype.Float32), zero(dtype.Float64), dtype.Float64},
		{of(dtype.Float16), tensor.Number(1.5), dtype.Float16},
		{of(dtype.Float64), tensor.Number(1.5), dtype.Float64},
		{of(dtype.Int32), tensor.Number(1.5), dtype.Float32},
		{zero(dtype.Int32), tensor.Number(int64(1)), dtype.Int32},
		{of(dtype.Bool), tensor.Number(int64(1)), dtype.Int64},
		{of(dtype.Uint8), tensor.Number(true), dtype.Uint8},
	} {
		if got := must1(t, "add", tensors{k.x, k.y}).Out[0].DType(); got != k.want {
			t.Errorf("%s with %s gives %v, want %v", op.Describe(k.x), op.Describe(k.y), got, k.want)
		}
		if got := must1(t, "add", tensors{k.y, k.x}).Out[0].DType(); got != k.want {
			t.Errorf("%s with %s gives %v, want %v", op.Describe(k.y), op.Describe(k.x), got, k.want)
		}
	}
}

// Arithmetic on a half type is done in float32, a number's included, and
// rounded once: 1 + 2^-11 + 2^-11 is 1 + 2^-10, the next float16 above 1, but
// would be 1 if the sum were rounded on the way.
func TestHalfRoundsOnce(t *testing.T) {
	x := mk(t, dtype.Float16, []int{2}, 2048, 1)
	c := must1(t, "mul", tensors{x, tensor.Number(0.1)})
	if got, want := op.Float64s(c.Out[0])[0], 204.75; got != want {
		t.Errorf("float16 2048 * 0.1 = %v, want %v", got, want)
	}
	many := mk(t, dtype.Float16, []int{4096})
	fill(t, many, 0.5)
	c = must1(t, "sum", tensors{many})
	if got, want := op.Float64s(c.Out[0])[0], 2048.0; got != want {
		t.Errorf("sum of 4096 halves in float16 = %v, want %v", got, want)
	}
}
