package op_test

import (
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func TestUnaryValues(t *testing.T) {
	f32, f64, i64 := dtype.Float32, dtype.Float64, dtype.Int64
	for _, k := range []case1{
		{name: "neg", in: tensors{vec(t, 1, -2, 0)}, dt: f32, want: []float64{-1, 2, 0}},
		{name: "abs", in: tensors{vec(t, 1, -2, -inf, nan)}, dt: f32, want: []float64{1, 2, inf, nan}},
		{name: "abs", in: tensors{ints(t, 1, -2)}, dt: i64, want: []float64{1, 2}},
		{name: "sign", in: tensors{vec(t, 3, -2, 0, nan)}, dt: f32, want: []float64{1, -1, 0, nan}},
		{name: "sign", in: tensors{mk(t, dtype.Uint8, []int{2}, 0, 9)}, dt: dtype.Uint8, want: []float64{0, 1}},
		{name: "relu", in: tensors{vec(t, 3, -2, nan)}, dt: f32, want: []float64{3, 0, nan}},
		{name: "rounded", in: tensors{vec(t, 0.5, 1.5, -2.5, 2.4)}, dt: f32, want: []float64{0, 2, -2, 2}},
		{name: "floor", in: tensors{vec(t, 0.5, -0.5)}, dt: f32, want: []float64{0, -1}},
		{name: "ceil", in: tensors{vec(t, 0.5, -1.5)}, dt: f32, want: []float64{1, -1}},
		{name: "floor", in: tensors{ints(t, 3)}, dt: i64, want: []float64{3}},
		{name: "reciprocal", in: tensors{ints(t, 4, 0)}, dt: f32, want: []float64{0.25, inf}},
		{name: "sqrt", in: tensors{vec(t, 4, -1)}, dt: f32, want: []float64{2, nan}},
		{name: "rsqrt", in: tensors{vec(t, 4, 0)}, dt: f32, want: []float64{0.5, inf}},
		{name: "log", in: tensors{vec(t, 1, 0, -1)}, dt: f32, want: []float64{0, -inf, nan}},
		// Figures of Python's math module.
		{name: "exp", in: tensors{mk(t, f64, []int{2}, 1, -1000)}, dt: f64, want: []float64{2.718281828459045, 0}},
		{name: "tanh", in: tensors{mk(t, f64, []int{2}, 0.25, -50)}, dt: f64, want: []float64{0.24491866240370913, -1}},
		{name: "erf", in: tensors{mk(t, f64, []int{1}, 0.5)}, dt: f64, want: []float64{0.5204998778130465}},
		{name: "sigmoid", in: tensors{mk(t, f64, []int{3}, 0, 800, -800)}, dt: f64, want: []float64{0.5, 1, 0}},
		{name: "isnan", in: tensors{vec(t, 1, nan, inf)}, dt: dtype.Bool, want: []float64{0, 1, 0}},
		{name: "isfinite", in: tensors{vec(t, 1, nan, inf)}, dt: dtype.Bool, want: []float64{1, 0, 0}},
		{name: "isfinite", in: tensors{ints(t, 1, 2)}, dt: dtype.Bool, want: []float64{1, 1}},
		{name: "isnan", in: tensors{bools(t, 1)}, dt: dtype.Bool, want: []float64{0}},
	} {
		k.run(t)
	}
	fails(t, `neg: for parameter "x": got bool[1], want a tensor of numbers`, "neg", tensors{bools(t, 1)})
}

func TestConversions(t *testing.T) {
	to := func(dt dtype.DType) []op.Arg { return []op.Arg{op.Int1(int(dt))} }
	for _, k := range []case1{
		{name: "to", in: tensors{vec(t, 1.9, -1.9, nan, inf, -inf)}, args: to(dtype.Int32), dt: dtype.Int32, want: []float64{1, -1, 0, 1<<31 - 1, -1 << 31}},
		{name: "to", in: tensors{vec(t, 255.9, -1, 256, 1e9)}, args: to(dtype.Uint8), dt: dtype.Uint8, want: []float64{255, 0, 255, 255}},
		{name: "to", in: tensors{ints(t, 256, -1, 1<<40)}, args: to(dtype.Uint8), dt: dtype.Uint8, want: []float64{0, 255, 0}},
		{name: "to", in: tensors{vec(t, 0.5, 0, nan)}, args: to(dtype.Bool), dt: dtype.Bool, want: []float64{1, 0, 1}},
		{name: "to", in: tensors{mk(t, dtype.Uint8, []int{2}, 7, 0)}, args: to(dtype.Bool), dt: dtype.Bool, want: []float64{1, 0}},
		{name: "to", in: tensors{bools(t, 1, 0)}, args: to(dtype.Float16), dt: dtype.Float16, want: []float64{1, 0}},
		{name: "to", in: tensors{vec(t, 1, 1+1.0/4096)}, args: to(dtype.Float16), dt: dtype.Float16, want: []float64{1, 1}},
		{name: "to", in: tensors{vec(t, 1e9)}, args: to(dtype.Float16), dt: dtype.Float16, want: []float64{inf}},
		{name: "zeros_like", in: tensors{vec(t, 1, 2)}, dt: dtype.Float32, want: []float64{0, 0}},
		{name: "ones_like", in: tensors{vec(t, 1, 2)}, args: to(dtype.Int64), dt: dtype.Int64, want: []float64{1, 1}},
		{name: "full_like", in: tensors{ints(t, 1, 2), tensor.Number(2.9)}, dt: dtype.Int64, want: []float64{2, 2}},
	} {
		k.run(t)
	}
	x := vec(t, 1, 2)
	if y := must1(t, "to", tensors{x}, to(dtype.Float32)...).Out[0]; y == x || y.Buffer() != x.Buffer() {
		t.Error("to(float32) of float32 is not a tensor on the same storage")
	}
	if y := must1(t, "clone", tensors{x}).Out[0]; y.Buffer() == x.Buffer() {
		t.Error("clone shares storage")
	}
}
