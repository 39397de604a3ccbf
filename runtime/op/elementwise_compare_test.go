package op_test

import (
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func TestComparisons(t *testing.T) {
	b := dtype.Bool
	u8 := mk(t, dtype.Uint8, []int{2}, 44, 200)
	for _, k := range []case1{
		{name: "eq", in: tensors{vec(t, 1, 2, nan), vec(t, 1, 3, nan)}, dt: b, want: []float64{1, 0, 0}},
		{name: "ne", in: tensors{vec(t, 1, 2, nan), vec(t, 1, 3, nan)}, dt: b, want: []float64{0, 1, 1}},
		{name: "lt", in: tensors{vec(t, 1, 2, nan), tensor.Number(2.0)}, dt: b, want: []float64{1, 0, 0}},
		{name: "le", in: tensors{vec(t, 1, 2, 3), tensor.Number(int64(2))}, dt: b, want: []float64{1, 1, 0}},
		{name: "gt", in: tensors{ints(t, 1, 2, 3), tensor.Number(1.5)}, dt: b, want: []float64{0, 1, 1}},
		{name: "ge", in: tensors{ints(t, 1, 2, 3), mk(t, dtype.Int32, []int{1}, 2)}, dt: b, want: []float64{0, 1, 1}},
		{name: "eq", in: tensors{u8, tensor.Number(int64(300))}, dt: b, want: []float64{0, 0}},
		{name: "lt", in: tensors{u8, tensor.Number(int64(300))}, dt: b, want: []float64{1, 1}},
		{name: "gt", in: tensors{bools(t, 1, 0), bools(t, 0, 0)}, dt: b, want: []float64{1, 0}},
		{name: "equal", in: tensors{vec(t, 1, 2), vec(t, 1, 2)}, dt: b, s: []int{}, want: []float64{1}},
		{name: "equal", in: tensors{vec(t, 1, 2), vec(t, 1, 3)}, dt: b, s: []int{}, want: []float64{0}},
		{name: "equal", in: tensors{vec(t, 1, 2), mk(t, dtype.Float32, []int{1, 2}, 1, 2)}, dt: b, s: []int{}, want: []float64{0}},
		{name: "equal", in: tensors{vec(t), vec(t)}, dt: b, s: []int{}, want: []float64{1}},
		{name: "allclose", in: tensors{vec(t, 1, 2), vec(t, 1, 2.00001)}, dt: b, s: []int{}, want: []float64{1}},
		{name: "allclose", in: tensors{vec(t, 1, inf), vec(t, 1, inf)}, dt: b, s: []int{}, want: []float64{1}},
		{name: "allclose", in: tensors{vec(t, 1, inf), vec(t, 1, 5)}, dt: b, s: []int{}, want: []float64{0}},
		{name: "allclose", in: tensors{vec(t, nan), vec(t, nan)}, dt: b, s: []int{}, want: []float64{0}},
		{name: "allclose", in: tensors{vec(t, nan), vec(t, nan)}, args: []op.Arg{op.Float1(0), op.Float1(0), op.Bool1(true)}, dt: b, s: []int{}, want: []float64{1}},
		{name: "allclose", in: tensors{ints(t, 100), ints(t, 101)}, args: []op.Arg{op.Float1(0), op.Float1(1)}, dt: b, s: []int{}, want: []float64{1}},
	} {
		k.run(t)
	}
}

func TestWhereAndClamp(t *testing.T) {
	cond := mk(t, dtype.Bool, []int{2, 1}, 1, 0)
	for _, k := range []case1{
		{name: "where", in: tensors{cond, vec(t, 1, 2), tensor.Number(int64(9))}, dt: dtype.Float32, s: []int{2, 2}, want: []float64{1, 2, 9, 9}},
		{name: "where", in: tensors{cond, ints(t, 1, 2), tensor.Number(0.5)}, dt: dtype.Float32, s: []int{2, 2}, want: []float64{1, 2, 0.5, 0.5}},
		{name: "clamp", in: tensors{vec(t, -2, 0.5, 5, nan)}, args: []op.Arg{op.Float1(-1), op.Float1(3)}, dt: dtype.Float32, want: []float64{-1, 0.5, 3, nan}},
		{name: "clamp", in: tensors{vec(t, -2, 5)}, args: []op.Arg{op.None, op.Float1(3)}, dt: dtype.Float32, want: []float64{-2, 3}},
		{name: "clamp", in: tensors{vec(t, -2, 5)}, args: []op.Arg{op.Float1(4), op.Float1(3)}, dt: dtype.Float32, want: []float64{3, 3}},
		{name: "clamp", in: tensors{ints(t, -2, 5)}, args: []op.Arg{op.Float1(0), op.None}, dt: dtype.Int64, want: []float64{0, 5}},
		{name: "clamp", in: tensors{ints(t, -2, 5)}, args: []op.Arg{op.Float1(0.5), op.None}, dt: dtype.Float32, want: []float64{0.5, 5}},
		{name: "clamp", in: tensors{mk(t, dtype.Uint8, []int{2}, 2, 250)}, args: []op.Arg{op.Float1(-5), op.Float1(300)}, dt: dtype.Uint8, want: []float64{2, 250}},
	} {
		k.run(t)
	}
	fails(t, "want a bool tensor (compare with .eq()", "where", tensors{vec(t, 1), vec(t, 1), vec(t, 1)})
	fails(t, `parameter "min": got None for min and max`, "clamp", tensors{vec(t, 1)})
}
