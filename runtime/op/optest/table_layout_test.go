package optest

import (
	"slices"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// turned returns a tensor of the elements of x that lie as those of a
// transposed tensor do: in column-major order.
func turned(x *tensor.Tensor) *tensor.Tensor {
	s := x.Shape()
	strides, n := make([]int, len(s)), 1
	for d := range s {
		strides[d] = n
		n *= max(s[d], 1)
	}
	return laidOut(x, strides, 0, n)
}

// sliced returns a tensor of the elements of x that lie two apart, behind
// others that are not x's.
func sliced(x *tensor.Tensor) *tensor.Tensor {
	strides := slices.Clone(x.Strides())
	for d := range strides {
		strides[d] *= 2
	}
	return laidOut(x, strides, 3, 2*x.Numel()+3)
}

// expanded returns a tensor whose first dim repeats the first of x in stride
// 0, or nil if there is nothing to repeat.
func expanded(x *tensor.Tensor) *tensor.Tensor {
	if x.Ndim() == 0 || x.Numel() == 0 {
		return nil
	}
	strides := slices.Clone(x.Strides())
	strides[0] = 0
	return x.View(x.Shape(), strides, x.Offset())
}

// laidOut returns a view with the elements of x at the given strides and
// offset, in a new buffer of n elements and some.
func laidOut(x *tensor.Tensor, strides []int, offset, n int) *tensor.Tensor {
	room, err := tensor.New(testAlloc, x.DType(), shape.Shape{n + offset + 2})
	if err != nil {
		panic(err)
	}
	write := writer(room)
	for i := range room.Numel() {
		write(i, 1) // what no result may hold or change
	}
	y := room.View(x.Shape(), strides, offset)
	elems, i := list(x), 0
	positions(y, func(at int) {
		write(at, elems[i])
		i++
	})
	return y
}

// packed returns a contiguous copy of x.
func packed(x *tensor.Tensor) *tensor.Tensor {
	return laidOut(x, x.Shape().Strides(), 0, x.Numel())
}

// Inputs that are transposed, sliced or expanded give what contiguous ones of
// the same elements give, bit for bit.
func TestTableLayouts(t *testing.T) {
	layouts := map[string]func(*tensor.Tensor) *tensor.Tensor{"turned": turned, "sliced": sliced, "expanded": expanded}
	names := []string{"turned", "sliced", "expanded"}
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		cases := 0
		dtypes := []dtype.DType{dt}
		if dt == dtype.Float64 {
			dtypes = append(dtypes, dtype.Float32, dtype.BFloat16)
		}
		for _, dt := range dtypes {
			for _, name := range names {
				for k := -1; k < len(ex.in); k++ { // all inputs, then each alone
					if layoutCase(t, d, ex, dt, name, layouts[name], k) {
						cases++
					}
				}
			}
		}
		return cases
	})
}

// layoutCase runs ex with input k (all if -1) laid out by f and reports
// whether there was such an input.
func layoutCase(t *testing.T, d *op.Def, ex example, dt dtype.DType, name string, f func(*tensor.Tensor) *tensor.Tensor, k int) bool {
	t.Helper()
	odd, even, any := newTrial(d, ex, dt), newTrial(d, ex, dt), false
	for i, x := range odd.in {
		if x == nil || x.Weak() || k >= 0 && i != k {
			continue
		}
		if name == "expanded" && (d.InPlace && i == 0 || ex.writes[i]) {
			continue // one element cannot take several values
		}
		if y := f(x); y != nil {
			odd.in[i], even.in[i], any = y, packed(y), true
		}
	}
	if !any {
		return false
	}
	got, err := odd.run(t)
	want, errWant := even.run(t)
	if (err == nil) != (errWant == nil) {
		t.Errorf("%v, input %d %s: error %v, of contiguous ones %v", odd, k, name, err, errWant)
		return true
	}
	if err != nil {
		return true
	}
	for i := range got.Out {
		if !same(got.Out[i], want.Out[i]) {
			t.Errorf("%v, input %d %s: result %d is %v, of contiguous ones %v", odd, k, name, i, list(got.Out[i]), list(want.Out[i]))
		}
	}
	for i, x := range odd.in {
		if (d.InPlace && i == 0 || ex.writes[i]) && !gapsKept(x) {
			t.Errorf("%v, input %d %s: elements beside it were changed", odd, k, name)
		}
	}
	return true
}

// gapsKept reports whether the elements of x's buffer that are not x's are
// still ones.
func gapsKept(x *tensor.Tensor) bool {
	if x.Contiguous() {
		return true
	}
	read, mine := reader(x), make([]bool, x.Buffer().Len()/x.DType().Size())
	positions(x, func(at int) { mine[at] = true })
	for at := range mine {
		if !mine[at] && read(at) != 1 {
			return false
		}
	}
	return true
}

// Empty and one-element tensors are tensors: where an example has a size, it
// is exchanged for 0 or 1 everywhere. The call succeeds or is refused with an
// *op.ArgError, and its gradients have the shapes of its inputs.
func TestTableSizes(t *testing.T) {
	accepted := 0
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		cases := 0
		for _, from := range sizesOf(ex) {
			for _, to := range []int{0, 1} {
				tr := newTrial(d, ex.resized(from, to), dt)
				if _, err := tr.run(t); err == nil {
					accepted++
					tr.checkGradientShapes(t)
				}
				cases++
			}
		}
		return cases
	})
	t.Logf("%d of them accepted", accepted)
}

// sizesOf returns the sizes that occur in the inputs of ex, and -1 for all.
func sizesOf(ex example) []int {
	sizes := []int{-1}
	for _, in := range ex.in {
		for _, n := range in.shape {
			if !slices.Contains(sizes, n) {
				sizes = append(sizes, n)
			}
		}
	}
	return sizes
}

// resized returns ex with size from (any if -1) exchanged for to.
func (e example) resized(from, to int) example {
	change := func(n int) int {
		if n == from || from < 0 {
			return to
		}
		return n
	}
	in := slices.Clone(e.in)
	for i := range in {
		if in[i].data != nil {
			continue
		}
		in[i].shape = slices.Clone(in[i].shape)
		for d, n := range in[i].shape {
			in[i].shape[d] = change(n)
		}
		in[i].hi = change(in[i].hi)
	}
	e.in = in
	return e
}
