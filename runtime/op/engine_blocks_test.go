package op_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// drawTensor returns a tensor that broadcasts to s, of some dtype and layout:
// with dims of size 1 or missing, permuted, sliced, and small integers for
// elements.
func drawTensor(r *rapid.T, label string, s shape.Shape, dtypes []dtype.DType) *tensor.Tensor {
	dt := rapid.SampledFrom(dtypes).Draw(r, label+" dtype")
	own := append(shape.Shape(nil), s[rapid.IntRange(0, len(s)).Draw(r, label+" missing"):]...)
	for d := range own {
		if rapid.IntRange(0, 3).Draw(r, label+" stretched") == 0 {
			own[d] = 1
		}
	}
	return drawLayout(r, label, own, dt)
}

// drawLayout returns a tensor of shape s and dtype dt, its dims in some order
// in storage and with gaps.
func drawLayout(r *rapid.T, label string, s shape.Shape, dt dtype.DType) *tensor.Tensor {
	st := make([]int, len(s))
	n := 1
	for _, d := range rapid.Permutation(dimsOf(s)).Draw(r, label+" order") {
		st[d] = n * rapid.IntRange(1, 2).Draw(r, label+" gap")
		n = st[d] * max(s[d], 1)
	}
	offset := rapid.IntRange(0, 3).Draw(r, label+" offset")
	wide, err := tensor.New(testCtx.Alloc, dtype.Int64, shape.Shape{n + offset})
	if err != nil {
		r.Fatal(err)
	}
	for i, data := 0, tensor.Data[int64](wide); i < len(data); i++ {
		data[i] = int64(i*i%11) - 3
	}
	return cast(r, wide, dt).View(s, st, offset)
}

// dimsOf returns the dims of s: 0, 1, and so on.
func dimsOf(s shape.Shape) []int {
	dims := make([]int, len(s))
	for d := range dims {
		dims[d] = d
	}
	return dims
}

// eachElement returns the elements of x broadcast to s, one by one.
func eachElement(x *tensor.Tensor, s shape.Shape) []float64 {
	stored, strides := storage(x), expandedStrides(x, s)
	out := make([]float64, 0, s.Numel())
	index := make([]int, len(s))
	for range s.Numel() {
		at := x.Offset()
		for d, i := range index {
			at += i * strides[d]
		}
		out = append(out, stored[at])
		for d := len(s) - 1; d >= 0; d-- {
			if index[d]++; index[d] < s[d] {
				break
			}
			index[d] = 0
		}
	}
	return out
}

// expandedStrides returns the strides of x broadcast to s, which it fits.
func expandedStrides(x *tensor.Tensor, s shape.Shape) []int {
	strides := make([]int, len(s))
	for d, n := range x.Shape() {
		if n != 1 {
			strides[len(s)-x.Ndim()+d] = x.Strides()[d]
		}
	}
	return strides
}

var numeric = []dtype.DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16, dtype.Int64, dtype.Int32}

// drawShape returns a shape of some blocks at most.
func drawShape(r *rapid.T) shape.Shape {
	s := shape.Shape(rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 2, 3, 5, 7}), 0, 3).Draw(r, "shape"))
	if len(s) > 0 && rapid.Bool().Draw(r, "long") {
		s[rapid.IntRange(0, len(s)-1).Draw(r, "long dim")] = 700
	}
	return s
}

// Operands of any layout, dtype and shape that fits give what their elements
// give one by one; the elements are small integers, exact in every dtype.
func TestEngine(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := drawShape(r)
		x, y := drawTensor(r, "x", s, numeric), drawTensor(r, "y", s, numeric)
		c, err := do("sub", tensors{x, y})
		if err != nil {
			r.Fatal(err)
		}
		z := c.Out[0]
		xs, ys := eachElement(x, z.Shape()), eachElement(y, z.Shape())
		for i, got := range eachElement(z, z.Shape()) {
			if want := xs[i] - ys[i]; got != want {
				r.Fatalf("%s - %s: element %d is %v, want %v", op.Describe(x), op.Describe(y), i, got, want)
			}
		}
	})
}

// Results that no near cache holds, which are stored past the caches, are what others are; so are
// they in place.
func TestEngineLarge(t *testing.T) {
	for _, s := range []shape.Shape{{600, 512}, {600, 500}, {1<<17 + 5}, {2, 3, 50_001}} {
		row, one := shape.Shape{s[len(s)-1]}, shape.Shape{}
		for _, small := range []shape.Shape{row, one} {
			for _, dt := range numeric {
				x, y := numbered(t, s, dt), numbered(t, small, dt)
				want := eachElement(x, s)
				for i, v := range eachElement(y, s) {
					want[i] -= v
				}
				c, err := do("sub", tensors{x, y})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := do("sub_", tensors{x, y}); err != nil {
					t.Fatal(err)
				}
				if got := eachElement(c.Out[0], s); !slices.Equal(got, want) {
					t.Errorf("%v of %v - %v: other numbers than one by one", dt, s, small)
				}
				if got := eachElement(x, s); !slices.Equal(got, want) {
					t.Errorf("%v of %v - %v in place: other numbers than one by one", dt, s, small)
				}
			}
		}
	}
}

// numbered returns a tensor of small integers.
func numbered(t *testing.T, s shape.Shape, dt dtype.DType) *tensor.Tensor {
	x, err := tensor.New(testCtx.Alloc, dtype.Int64, s)
	if err != nil {
		t.Fatal(err)
	}
	for i, data := 0, tensor.Data[int64](x); i < len(data); i++ {
		data[i] = int64(i*i%11) - 3
	}
	return cast(t, x, dt)
}

// A change in place reaches the elements of a view and no others.
func TestEngineInPlace(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := drawShape(r)
		x := drawLayout(r, "x", s, rapid.SampledFrom(numeric[:4]).Draw(r, "dtype"))
		y := drawTensor(r, "y", s, numeric)
		before, xs, ys := storage(x), eachElement(x, s), eachElement(y, s)
		if _, err := do("add_", tensors{x, y}); err != nil {
			r.Fatal(err)
		}
		for i, got := range eachElement(x, s) {
			if want := xs[i] + ys[i]; got != want {
				r.Fatalf("%s.add_(%s): element %d is %v, want %v", op.Describe(x), op.Describe(y), i, got, want)
			}
		}
		if _, err := do("sub_", tensors{x, y}); err != nil {
			r.Fatal(err)
		}
		for i, v := range storage(x) {
			if v != before[i] {
				r.Fatalf("%s.add_(%s).sub_(...): element %d of the storage is %v, want %v", op.Describe(x), op.Describe(y), i, v, before[i])
			}
		}
	})
}

// storage returns all elements of the storage of x.
func storage(x *tensor.Tensor) []float64 {
	n := x.Buffer().Len() / x.DType().Size()
	return op.Float64s(x.View(shape.Shape{n}, []int{1}, 0))
}

// Dims that lie as one are one: what a single stride serves is as long as it can be.
func TestLayoutMerges(t *testing.T) {
	x := mk(t, dtype.Float32, []int{8, 5, 6})
	for _, k := range []struct {
		s, st []int
		want  int // pieces, each of a single stride; 0 if there is nothing to bring together
	}{
		{[]int{4, 5, 6}, []int{30, 6, 1}, 0},
		{[]int{4, 5, 6}, []int{60, 12, 2}, 1},
		{[]int{4, 1, 6}, []int{30, 7, 1}, 4},
		{[]int{2, 5, 6}, []int{60, 6, 1}, 2},
		{[]int{6, 5, 4}, []int{1, 6, 30}, 30},
		{[]int{2, 3}, []int{0, 0}, 0},
	} {
		call := &op.Call{In: tensors{x.View(k.s, k.st, 0)}}
		if got, _ := call.Pieces(); got != k.want {
			t.Errorf("shape %v strides %v: %d pieces, want %d", k.s, k.st, got, k.want)
		}
	}
}
