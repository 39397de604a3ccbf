package op_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// strewn returns a tensor of dt that holds data, contiguous or with its strides the other way around.
func strewn(t *rapid.T, name string, dt dtype.DType, s shape.Shape, data func(i int) int64) *tensor.Tensor {
	elems := make([]int64, s.Numel())
	for i := range elems {
		elems[i] = data(i)
	}
	x, err := op.FromInts(testCtx, dt, s, elems)
	if err != nil {
		t.Fatal(err)
	}
	if len(s) < 2 || !rapid.Bool().Draw(t, name+" transposed") {
		return x
	}
	room, err := op.FromInts(testCtx, dt, s, elems)
	if err != nil {
		t.Fatal(err)
	}
	strides, stride := make([]int, len(s)), 1
	for d, n := range s {
		strides[d], stride = stride, stride*n
	}
	y := room.View(s, strides, 0)
	if _, err := do("copy_", tensors{y, x}); err != nil {
		t.Fatal(err)
	}
	return y
}

// gather, scatter_put and scatter_add do what their documentation says, element by element,
// for any strides, and name the first index that is out of range.
func TestAlongElementByElement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
		dims := draw("dims", 1, 3)
		d := draw("dim", 0, dims-1)
		s, is := make(shape.Shape, dims), make(shape.Shape, dims)
		for e := range s {
			s[e] = draw("size", 1, 4)
			is[e] = draw("index size", 0, s[e])
		}
		is[d] = draw("indices", 0, 5)
		dt := []dtype.DType{dtype.Int32, dtype.Float64, dtype.Float16, dtype.Uint8}[draw("dtype", 0, 3)]
		x := strewn(t, "x", dt, s, func(i int) int64 { return int64(i) })
		index := alongIndex(t, s, is, d, draw("out of range", 0, 5) == 0)
		src := strewn(t, "src", dt, is, func(i int) int64 { return int64(60 + i) })

		taken, put, added := op.Int64s(src), op.Int64s(x), op.Int64s(x)
		bad := -1
		from, where := op.Int64s(src), make([]int, dims)
		for i, j := range op.Int64s(index) {
			rest := i
			for e := dims - 1; e >= 0; e-- {
				where[e], rest = rest%is[e], rest/is[e]
			}
			if where[d] = int(j); j < 0 {
				where[d] += s[d]
			}
			if where[d] < 0 || where[d] >= s[d] {
				bad = i
				break
			}
			at := 0
			for e := range s {
				at = at*s[e] + where[e]
			}
			taken[i], put[at], added[at] = op.Int64At(x, at), from[i], added[at]+from[i]
		}
		for _, c := range []struct {
			name string
			in   []*tensor.Tensor
			want []int64
		}{
			{"gather", []*tensor.Tensor{x, index}, taken},
			{"scatter_put", []*tensor.Tensor{x, index, src}, put},
			{"scatter_add", []*tensor.Tensor{x, index, src}, added},
		} {
			call, err := do(c.name, c.in, op.Int1(d))
			if bad >= 0 {
				want := outOfRange(c.name, index, bad, d, s)
				if err == nil || err.Error() != want.Error() {
					t.Fatalf("%s: got error %v, want %v", c.name, err, want)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			got := op.Int64s(call.Out[0])
			if dt == dtype.Uint8 {
				for i := range c.want {
					c.want[i] &= 255
				}
			}
			if !slices.Equal(got, c.want) {
				t.Fatalf("%s(%s %v, %d, %v): got %v, want %v", c.name, op.Describe(x), op.Int64s(x), d, op.Int64s(index), got, c.want)
			}
		}
	})
}

// alongIndex returns indices of shape is of dim d of a tensor of shape s: each its own, or
// the same along all other dims.
func alongIndex(t *rapid.T, s, is shape.Shape, d int, beyond bool) *tensor.Tensor {
	next := func(i int) int64 {
		more := 0
		if beyond {
			more = 2
		}
		return int64(rapid.IntRange(-s[d]-more, s[d]-1).Draw(t, fmt.Sprint("index ", i)))
	}
	dt := rapid.SampledFrom([]dtype.DType{dtype.Int64, dtype.Int32}).Draw(t, "index dtype")
	if !rapid.Bool().Draw(t, "broadcast") {
		return strewn(t, "index", dt, is, next)
	}
	for e := range is {
		if e != d {
			is[e] = s[e]
		}
	}
	line := slices.Repeat([]int{1}, len(is))
	line[d] = is[d]
	index := strewn(t, "index", dt, line, next)
	return index.View(is, expandedStrides(index, is), index.Offset())
}

// outOfRange is the error of an operator whose index has an element, the one of number bad,
// that is none of dim d of shape s.
func outOfRange(name string, index *tensor.Tensor, bad, d int, s shape.Shape) error {
	want := fmt.Sprintf("%d..%d", -s[d], s[d]-1)
	if s[d] == 0 {
		want = "no index"
	}
	at, rest := make([]int, index.Ndim()), bad
	for e := len(at) - 1; e >= 0; e-- {
		at[e], rest = rest%index.Shape()[e], rest/index.Shape()[e]
	}
	return &op.ArgError{
		Func: name, Param: "index", Got: fmt.Sprint(op.Int64At(index, bad)), Want: want, Rule: fmt.Sprintf("dim %d of shape %v", d, s),
		Element: &op.Element{At: at, Of: index.Shape(), Position: true},
	}
}
