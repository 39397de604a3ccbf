package op_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func TestReductions(t *testing.T) {
	f32, i64, bl := dtype.Float32, dtype.Int64, dtype.Bool
	x := mk(t, f32, []int{2, 3}, 1, 5, 3, 4, 2, 6)
	empty := mk(t, f32, []int{0, 3})
	none, keep := []int{}, op.Bool1(true)
	for _, k := range []case1{
		{name: "sum", in: tensors{x}, dt: f32, s: none, want: []float64{21}},
		{name: "sum", in: tensors{x}, args: []op.Arg{op.IntsN(-1)}, dt: f32, s: []int{2}, want: []float64{9, 12}},
		{name: "sum", in: tensors{x}, args: []op.Arg{op.IntsN(0), keep}, dt: f32, s: []int{1, 3}, want: []float64{5, 7, 9}},
		{name: "sum", in: tensors{x}, args: []op.Arg{op.IntsN(1, 0)}, dt: f32, s: none, want: []float64{21}},
		{name: "sum", in: tensors{empty}, args: []op.Arg{op.IntsN(0)}, dt: f32, s: []int{3}, want: []float64{0, 0, 0}},
		{name: "sum", in: tensors{empty}, args: []op.Arg{op.IntsN(1)}, dt: f32, s: []int{0}, want: nil},
		{name: "sum", in: tensors{mk(t, dtype.Uint8, []int{2}, 200, 100)}, dt: i64, s: none, want: []float64{300}},
		{name: "sum", in: tensors{bools(t, 1, 1, 0)}, dt: i64, s: none, want: []float64{2}},
		{name: "mean", in: tensors{x}, dt: f32, s: none, want: []float64{3.5}},
		{name: "mean", in: tensors{empty}, dt: f32, s: none, want: []float64{nan}},
		{name: "prod", in: tensors{x}, args: []op.Arg{op.Int1(0)}, dt: f32, s: []int{3}, want: []float64{4, 10, 18}},
		{name: "prod", in: tensors{empty}, dt: f32, s: none, want: []float64{1}},
		{name: "max", in: tensors{x}, dt: f32, s: none, want: []float64{6}},
		{name: "max", in: tensors{vec(t, 1, nan, 2)}, dt: f32, s: none, want: []float64{nan}},
		{name: "min", in: tensors{x}, args: []op.Arg{op.Int1(1), keep}, dt: f32, s: []int{2, 1}, want: []float64{1, 2}},
		{name: "max", in: tensors{vec(t, -1, nan, 2)}, args: []op.Arg{op.Int1(0)}, dt: f32, s: none, want: []float64{nan}},
		{name: "max", in: tensors{mk(t, dtype.Float16, []int{2}, 0.5, 2)}, dt: dtype.Float16, s: none, want: []float64{2}},
		{name: "argmax", in: tensors{x}, dt: i64, s: none, want: []float64{5}},
		{name: "argmax", in: tensors{x}, args: []op.Arg{op.Int1(0)}, dt: i64, s: []int{3}, want: []float64{1, 0, 1}},
		{name: "argmin", in: tensors{vec(t, 2, 1, 1)}, dt: i64, s: none, want: []float64{1}},
		{name: "argmax", in: tensors{vec(t, 2, nan, nan)}, dt: i64, s: none, want: []float64{1}},
		{name: "any", in: tensors{vec(t, 0, 0.5)}, dt: bl, s: none, want: []float64{1}},
		{name: "any", in: tensors{vec(t)}, dt: bl, s: none, want: []float64{0}},
		{name: "all", in: tensors{vec(t, nan, 0.5)}, dt: bl, s: none, want: []float64{1}},
		{name: "all", in: tensors{vec(t)}, dt: bl, s: none, want: []float64{1}},
		{name: "all", in: tensors{mk(t, bl, []int{2, 2}, 1, 0, 1, 1)}, args: []op.Arg{op.IntsN(0)}, dt: bl, s: []int{2}, want: []float64{1, 0}},
		// Figures of NumPy.
		{name: "var", in: tensors{vec(t, 1, 2, 3, 4)}, args: []op.Arg{op.None, op.Bool1(false), op.Float1(0)}, dt: f32, s: none, want: []float64{1.25}},
		{name: "var", in: tensors{x}, args: []op.Arg{op.IntsN(1)}, dt: f32, s: []int{2}, want: []float64{4, 4}},
		{name: "std", in: tensors{x}, args: []op.Arg{op.IntsN(1)}, dt: f32, s: []int{2}, want: []float64{2, 2}},
		{name: "var", in: tensors{vec(t, 3)}, dt: f32, s: none, want: []float64{nan}},
		{name: "norm", in: tensors{vec(t, 3, -4)}, dt: f32, s: none, want: []float64{5}},
		{name: "norm", in: tensors{vec(t, 3e30, -4e30)}, dt: f32, s: none, want: []float64{float64(float32(5e30))}},
		{name: "norm", in: tensors{vec(t, 3, -4)}, args: []op.Arg{op.Float1(1)}, dt: f32, s: none, want: []float64{7}},
		{name: "norm", in: tensors{vec(t, 3, -4)}, args: []op.Arg{op.Float1(inf)}, dt: f32, s: none, want: []float64{4}},
		{name: "norm", in: tensors{vec(t, 3, -4)}, args: []op.Arg{op.Float1(-inf)}, dt: f32, s: none, want: []float64{3}},
		{name: "norm", in: tensors{vec(t, 3, 0)}, args: []op.Arg{op.Float1(0)}, dt: f32, s: none, want: []float64{1}},
		{name: "norm", in: tensors{vec(t, 3, -4, 5)}, args: []op.Arg{op.Float1(3)}, dt: f32, s: none, want: []float64{6}},
		{name: "logsumexp", in: tensors{vec(t, -1000, -1000)}, dt: f32, s: none, want: []float64{float64(float32(-1000 + math.Ln2))}},
		{name: "logsumexp", in: tensors{vec(t, inf, 1)}, dt: f32, s: none, want: []float64{inf}},
		{name: "logsumexp", in: tensors{vec(t, -inf, -inf)}, dt: f32, s: none, want: []float64{-inf}},
		{name: "logsumexp", in: tensors{vec(t)}, dt: f32, s: none, want: []float64{-inf}},
		{name: "cumsum", in: tensors{x}, args: []op.Arg{op.Int1(0)}, dt: f32, want: []float64{1, 5, 3, 5, 7, 9}},
		{name: "cumsum", in: tensors{bools(t, 1, 0, 1)}, args: []op.Arg{op.Int1(-1)}, dt: i64, want: []float64{1, 1, 2}},
		{name: "cumsum", in: tensors{empty}, args: []op.Arg{op.Int1(0)}, dt: f32, want: nil},
	} {
		k.run(t)
	}
	fails(t, `mean: for parameter "dim": got 5, want -2..1 (shape (2, 3))`, "mean", tensors{x}, op.IntsN(5))
	fails(t, "got int64[1], want a float tensor (int64 has no fractions", "mean", tensors{ints(t, 1)})
	fails(t, "want each dim once", "sum", tensors{x}, op.IntsN(0, -2))
	fails(t, "at least one element", "max", tensors{empty})
	fails(t, "at least one element", "argmin", tensors{empty}, op.Int1(0))
}

func TestSort(t *testing.T) {
	x := mk(t, dtype.Float32, []int{2, 4}, 3, 1, nan, 1, 2, inf, -1, 0)
	for _, k := range []struct {
		name    string
		args    []op.Arg
		values  []float64
		indices []float64
	}{
		{"sort", nil, []float64{1, 1, 3, nan, -1, 0, 2, inf}, []float64{1, 3, 0, 2, 2, 3, 0, 1}},
		{"sort", []op.Arg{op.Int1(1), op.Bool1(true)}, []float64{nan, 3, 1, 1, inf, 2, 0, -1}, []float64{2, 0, 1, 3, 1, 0, 3, 2}},
		{"sort", []op.Arg{op.Int1(0)}, []float64{2, 1, -1, 0, 3, inf, nan, 1}, []float64{1, 0, 1, 1, 0, 1, 0, 0}},
		{"topk", []op.Arg{op.Int1(2)}, []float64{nan, 3, inf, 2}, []float64{2, 0, 1, 0}},
		{"topk", []op.Arg{op.Int1(3), op.Int1(-1), op.Bool1(false)}, []float64{1, 1, 3, -1, 0, 2}, []float64{1, 3, 0, 2, 3, 0}},
		{"topk", []op.Arg{op.Int1(0)}, nil, nil},
		{"max", []op.Arg{op.Int1(0)}, []float64{3, inf, nan, 1}, []float64{0, 1, 0, 0}},
	} {
		c := must1(t, k.name, tensors{x}, k.args...)
		if got := op.Float64s(c.Out[0]); !same(got, k.values) {
			t.Errorf("%s%v: values %v, want %v", k.name, k.args, got, k.values)
		}
		if got := op.Float64s(c.Out[1]); !same(got, k.indices) {
			t.Errorf("%s%v: indices %v, want %v", k.name, k.args, got, k.indices)
		}
	}
	fails(t, `topk: for parameter "k": got 5, want 0..4`, "topk", tensors{x}, op.Int1(5))
}

// What reduces gives for rows, which are taken where they lie and without a copy, the bits that it gives for
// columns of the same elements.
func TestRowsAsColumns(t *testing.T) {
	const k, w = 6000, 3
	var rows, columns [k * w]float64
	for i := range k * w {
		v := float64(float32(math.Sin(float64(i))))
		rows[i], columns[i%k*w+i/k] = v, v
	}
	for _, dt := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.BFloat16} {
		for _, r := range []struct {
			name string
			args func(dim int) []op.Arg
		}{
			{"sum", func(dim int) []op.Arg { return []op.Arg{op.IntsN(dim)} }},
			{"prod", func(dim int) []op.Arg { return []op.Arg{op.Int1(dim)} }},
			{"amax", func(dim int) []op.Arg { return []op.Arg{op.IntsN(dim)} }},
			{"amin", func(dim int) []op.Arg { return []op.Arg{op.IntsN(dim)} }},
			{"var", func(dim int) []op.Arg { return []op.Arg{op.IntsN(dim)} }},
			{"std", func(dim int) []op.Arg { return []op.Arg{op.IntsN(dim)} }},
			{"norm", func(dim int) []op.Arg { return []op.Arg{op.Float1(1), op.IntsN(dim)} }},
			{"norm", func(dim int) []op.Arg { return []op.Arg{op.Float1(2), op.IntsN(dim)} }},
			{"norm", func(dim int) []op.Arg { return []op.Arg{op.Float1(3), op.IntsN(dim)} }},
			{"norm", func(dim int) []op.Arg { return []op.Arg{op.Float1(inf), op.IntsN(dim)} }},
		} {
			inRows := must1(t, r.name, tensors{mk(t, dt, []int{w, k}, rows[:]...)}, r.args(1)...)
			inColumns := must1(t, r.name, tensors{mk(t, dt, []int{k, w}, columns[:]...)}, r.args(0)...)
			if got, want := op.Float64s(inRows.Out[0]), op.Float64s(inColumns.Out[0]); !same(got, want) {
				t.Errorf("%s of %v rows is %v, of columns %v", r.name, dt, got, want)
			}
		}
	}
}

// A norm of order 3, which takes no powers, is the root of the sum of cubes.
func TestNormOfCubes(t *testing.T) {
	x := []float64{3, -4, 0, -5}
	for _, dt := range []dtype.DType{dtype.Float32, dtype.Float64} {
		got := op.Float64s(must1(t, "norm", tensors{mk(t, dt, []int{4}, x...)}, op.Float1(3), op.None).Out[0])
		if math.Abs(got[0]-6) > 1e-6 { // 27 + 64 + 125
			t.Errorf("of %v %v: got %v, want 6", dt, x, got)
		}
	}
}

// A sum has the bits of the documented order, whatever the strides of x and
// the dims it is taken over.
func TestSumOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := shape.Shape(rapid.SliceOfN(rapid.SampledFrom([]int{1, 2, 3, 7, 40, 70}), 1, 3).Draw(r, "shape"))
		if rapid.Bool().Draw(r, "long") {
			s[rapid.IntRange(0, len(s)-1).Draw(r, "long dim")] = rapid.SampledFrom([]int{1024, 2100, 5 * 1024, 6000}).Draw(r, "length")
		}
		x := scrambled(r, s)
		dims := make([]bool, len(s))
		var list []int
		for d := range dims {
			if dims[d] = rapid.Bool().Draw(r, fmt.Sprint("reduce ", d)); dims[d] {
				list = append(list, d)
			}
		}
		if list == nil {
			return
		}
		c, err := do("sum", tensors{x}, op.IntsN(list...))
		if err != nil {
			r.Fatal(err)
		}
		got, want := tensor.Data[float32](c.Out[0]), plainSums(x, dims)
		for i := range got {
			if got[i] != want[i] {
				r.Fatalf("sum of %v strides %v over %v: element %d is %v, want %v", s, x.Strides(), list, i, got[i], want[i])
			}
		}
	})
}

// scrambled returns a tensor of shape s whose dims lie in some order in
// storage.
func scrambled(r *rapid.T, s shape.Shape) *tensor.Tensor {
	order := rapid.Permutation(dimsOf(s)).Draw(r, "order")
	st := make([]int, len(s))
	n := 1
	for _, d := range order {
		st[d] = n
		n *= s[d]
	}
	x, err := tensor.New(testCtx.Alloc, dtype.Float32, shape.Shape{n})
	if err != nil {
		r.Fatal(err)
	}
	for i, data := 0, tensor.Data[float32](x); i < n; i++ {
		data[i] = float32(math.Sin(float64(i)*1e3)) * 1e3
	}
	return x.View(s, st, 0)
}

// plainSums computes sums in the order that package kernel documents.
func plainSums(x *tensor.Tensor, dims []bool) []float32 {
	var s shape.Shape // those that stay, then those that are summed
	var strides []int
	outer := 1
	for _, summed := range []bool{false, true} {
		for d, n := range x.Shape() {
			if dims[d] == summed {
				s, strides = append(s, n), append(strides, x.Strides()[d])
				if !summed {
					outer *= n
				}
			}
		}
	}
	var elements []float32
	for _, v := range eachElement(x.View(s, strides, x.Offset()), s) {
		elements = append(elements, float32(v))
	}
	sums := make([]float32, outer)
	k := len(elements) / outer
	for i := range sums {
		sums[i] = plainSum(elements[i*k : (i+1)*k])
	}
	return sums
}

func plainSum(x []float32) float32 {
	if len(x) > kernel.Block {
		half := kernel.Block
		for 2*half < len(x) {
			half *= 2
		}
		return plainSum(x[:half]) + plainSum(x[half:])
	}
	var lane [16]float32
	for i, v := range x {
		lane[i%16] += v
	}
	for w := 8; w > 0; w /= 2 {
		for l := range w {
			lane[l] += lane[l+w]
		}
	}
	return lane[0]
}
