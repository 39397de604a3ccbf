package op_test

import (
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func TestInPlace(t *testing.T) {
	f32, i64 := dtype.Float32, dtype.Int64
	for _, k := range []case1{
		{name: "add_", in: tensors{vec(t, 1, 2), vec(t, 10, 20)}, dt: f32, want: []float64{11, 22}},
		{name: "sub_", in: tensors{vec(t, 1, 2), tensor.Number(int64(1))}, dt: f32, want: []float64{0, 1}},
		{name: "mul_", in: tensors{mk(t, f32, []int{2, 2}, 1, 2, 3, 4), vec(t, 1, 10)}, dt: f32, want: []float64{1, 20, 3, 40}},
		{name: "div_", in: tensors{vec(t, 1, 2), tensor.Number(2.0)}, dt: f32, want: []float64{0.5, 1}},
		{name: "add_", in: tensors{vec(t, 1), mk(t, dtype.Float64, []int{1}, 0.5)}, dt: f32, want: []float64{1.5}},
		{name: "add_", in: tensors{mk(t, dtype.Int32, []int{1}, 1), ints(t, 2)}, dt: dtype.Int32, want: []float64{3}},
		{name: "zero_", in: tensors{ints(t, 1, 2)}, dt: i64, want: []float64{0, 0}},
		{name: "fill_", in: tensors{vec(t, 1, 2), vec(t, 7)}, dt: f32, want: []float64{7, 7}},
		{name: "copy_", in: tensors{mk(t, i64, []int{2, 2}), vec(t, 1.5, 2.5)}, dt: i64, want: []float64{1, 2, 1, 2}},
		{name: "copy_", in: tensors{bools(t, 0, 0), vec(t, 2, 0)}, dt: dtype.Bool, want: []float64{1, 0}},
		{name: "clamp_", in: tensors{ints(t, -2, 5)}, args: []op.Arg{op.Float1(-1), op.Float1(3)}, dt: i64, want: []float64{-1, 3}},
	} {
		x := k.in[0]
		k.run(t)
		if got := op.Float64s(x); !same(got, k.want) {
			t.Errorf("%s left %v in x, want %v", k.name, got, k.want)
		}
	}
	fails(t, "want a tensor that takes float32", "add_", tensors{ints(t, 1), vec(t, 1)})
	fails(t, "want a tensor that takes float32", "div_", tensors{ints(t, 1), tensor.Number(int64(2))})
	fails(t, "want a tensor that takes float32", "clamp_", tensors{ints(t, 1)}, op.Float1(0.5), op.None)
	fails(t, `parameter "x": got shape (1,), want shape (2,)`, "add_", tensors{vec(t, 1), vec(t, 1, 2)})
	fails(t, `parameter "src": got shape (3,)`, "copy_", tensors{vec(t, 1, 2), vec(t, 1, 2, 3)})
	fails(t, "one element", "fill_", tensors{vec(t, 1, 2), vec(t, 1, 2)})
}

// An operand on the storage of x is read as it was before x changes.
func TestInPlaceOverlap(t *testing.T) {
	x := mk(t, dtype.Float32, []int{2, 2}, 1, 2, 3, 4)
	turned := x.View(shape.Shape{2, 2}, []int{1, 2}, 0)
	must1(t, "add_", tensors{x, turned})
	if got := op.Float64s(x); !same(got, []float64{2, 5, 5, 8}) {
		t.Errorf("x.add_(x.T) = %v, want [2 5 5 8]", got)
	}
	x = mk(t, dtype.Float32, []int{2, 2}, 1, 2, 3, 4)
	must1(t, "copy_", tensors{x, x.View(shape.Shape{2, 2}, []int{1, 2}, 0)})
	if got := op.Float64s(x); !same(got, []float64{1, 3, 2, 4}) {
		t.Errorf("x.copy_(x.T) = %v, want [1 3 2 4]", got)
	}
	x = mk(t, dtype.Float32, []int{4}, 1, 2, 3, 4)
	must1(t, "add_", tensors{x.View(shape.Shape{3}, []int{1}, 1), x.View(shape.Shape{3}, []int{1}, 0)})
	if got := op.Float64s(x); !same(got, []float64{1, 3, 5, 7}) {
		t.Errorf("x[1:].add_(x[:3]) left %v, want [1 3 5 7]", got)
	}
	x = mk(t, dtype.Float32, []int{2, 3}, 1, 2, 3, 4, 5, 6)
	must1(t, "mul_", tensors{x.View(shape.Shape{2, 2}, []int{3, 1}, 1), tensor.Number(10.0)})
	if got := op.Float64s(x); !same(got, []float64{1, 20, 30, 4, 50, 60}) {
		t.Errorf("x.narrow(1, 1, 2).mul_(10) left %v", got)
	}
}
