package op_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Helpers for tests of single operators: tensors of literals in, numbers out.

var testCtx = &op.Ctx{Alloc: tensor.NewAllocator(0)}

// mk returns a tensor of dt and shape s that holds data.
func mk(t *testing.T, dt dtype.DType, s []int, data ...float64) *tensor.Tensor {
	t.Helper()
	x, err := tensor.New(testCtx.Alloc, dtype.Float64, shape.Shape(s))
	if err != nil {
		t.Fatal(err)
	}
	copy(tensor.Data[float64](x), data)
	return cast(t, x, dt)
}

// cast returns x in dt.
func cast(t interface{ Fatal(...any) }, x *tensor.Tensor, dt dtype.DType) *tensor.Tensor {
	c, err := do("to", tensors{x}, op.Int1(int(dt)))
	if err != nil {
		t.Fatal(err)
	}
	return c.Out[0]
}

// fill sets all elements of x to v.
func fill(t interface{ Fatal(...any) }, x *tensor.Tensor, v float64) {
	if _, err := do("fill_", tensors{x, tensor.Number(v)}); err != nil {
		t.Fatal(err)
	}
}

// vec returns a float32 tensor of one dim.
func vec(t *testing.T, data ...float64) *tensor.Tensor {
	return mk(t, dtype.Float32, []int{len(data)}, data...)
}

// ints returns an int64 tensor of one dim.
func ints(t *testing.T, data ...float64) *tensor.Tensor {
	return mk(t, dtype.Int64, []int{len(data)}, data...)
}

// bools returns a bool tensor of one dim.
func bools(t *testing.T, data ...float64) *tensor.Tensor {
	return mk(t, dtype.Bool, []int{len(data)}, data...)
}

// do applies the operator called name; args left out take their defaults.
func do(name string, in []*tensor.Tensor, args ...op.Arg) (*op.Call, error) {
	d := op.Lookup(name)
	if d == nil {
		return nil, fmt.Errorf("no operator is called %s", name)
	}
	i := 0
	for _, p := range d.Params {
		if p.IsTensor() {
			continue
		}
		if i++; i > len(args) {
			args = append(args, *p.Default)
		}
	}
	return op.Apply(testCtx, d, in, args)
}

// must1 is do of a call that succeeds.
func must1(t *testing.T, name string, in []*tensor.Tensor, args ...op.Arg) *op.Call {
	t.Helper()
	c, err := do(name, in, args...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

// same reports whether got and want are equal, NaN being equal to NaN.
func same(got, want []float64) bool {
	if len(got) != len(want) {
		return false
	}
	for i, v := range got {
		if v != want[i] && !(v != v && want[i] != want[i]) {
			return false
		}
	}
	return true
}

var inf, nan = math.Inf(1), math.NaN()

// A case1 is a call and its first result.
type case1 struct {
	name string
	in   []*tensor.Tensor
	args []op.Arg
	dt   dtype.DType
	s    shape.Shape // nil: that of the first input
	want []float64
}

func (k *case1) run(t *testing.T) {
	t.Helper()
	c, err := do(k.name, k.in, k.args...)
	if err != nil {
		t.Errorf("%s(%s): %v", k.name, describeAll(k.in), err)
		return
	}
	y, s := c.Out[0], k.s
	if s == nil {
		s = k.in[0].Shape()
	}
	if y.DType() != k.dt || !reflect.DeepEqual(append(shape.Shape{}, y.Shape()...), append(shape.Shape{}, s...)) {
		t.Errorf("%s(%s) = %s, want %v%v", k.name, describeAll(k.in), op.Describe(y), k.dt, s)
	} else if got := op.Float64s(y); !same(got, k.want) {
		t.Errorf("%s(%s, %v) = %v, want %v", k.name, describeAll(k.in), k.args, got, k.want)
	}
}

func describeAll(in []*tensor.Tensor) string {
	var s []string
	for _, x := range in {
		s = append(s, op.Describe(x))
	}
	return strings.Join(s, ", ")
}

// fails checks that a call is refused with an *ArgError that contains want.
func fails(t *testing.T, want, name string, in []*tensor.Tensor, args ...op.Arg) {
	t.Helper()
	_, err := do(name, in, args...)
	if _, ok := err.(*op.ArgError); !ok {
		t.Errorf("%s(%s): error %v (%T), want an *ArgError", name, describeAll(in), err, err)
	} else if !strings.Contains(err.Error(), want) {
		t.Errorf("%s(%s): error %q, want %q in it", name, describeAll(in), err, want)
	}
}

// What cores share is counted in elements of the largest tensor.
func TestParted(t *testing.T) {
	for _, c := range []struct {
		name string
		want int
	}{{"add", 12}, {"softmax", 12}, {"gelu", 12}, {"sum", 0}, {"matmul", 0}} {
		call := &op.Call{Def: op.Lookup(c.name), In: []*tensor.Tensor{mk(t, dtype.Float32, []int{3, 4}), nil}, Spec: []op.Spec{{Shape: shape.Shape{4}}}}
		if got := call.Parted(); got != c.want {
			t.Errorf("%s: %d elements, want %d", c.name, got, c.want)
		}
	}
}
