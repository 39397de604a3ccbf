package optest

import (
	"fmt"
	"strings"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// testCtx is what operators in tests are applied with.
var testCtx = &op.Ctx{Alloc: tensor.NewAllocator(0), Draw: func() (seed, draw uint64) { return 1, 0 }}

// A callTest says what a call returns, or the error it fails with.
type callTest struct {
	args []any  // the operator's name, then its arguments
	want string // as show writes results, or the error
}

// of is the arguments of a callTest.
func of(args ...any) []any { return args }

func testCalls(t *testing.T, tests []callTest) {
	t.Helper()
	for _, c := range tests {
		if got := result(c.args...); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", describeCall(c.args), got, c.want)
		}
	}
}

// result applies an operator and returns its results as text, or its error.
// Arguments are tensors, Go numbers and bools where a tensor or a number is
// wanted, nil for None, and op.Args; those left out take their defaults.
func result(args ...any) string {
	out, err := applied(args...)
	if err != nil {
		return err.Error()
	}
	var texts []string
	for _, y := range out {
		texts = append(texts, show(y))
	}
	return strings.Join(texts, "; ")
}

func applied(args ...any) ([]*tensor.Tensor, error) {
	d := op.Lookup(args[0].(string))
	var in []*tensor.Tensor
	var rest []op.Arg
	for _, a := range args[1:] {
		switch a := a.(type) {
		case *tensor.Tensor:
			in = append(in, a)
		case op.Arg:
			rest = append(rest, a)
		case int:
			in = append(in, tensor.Number(int64(a)))
		case float64:
			in = append(in, tensor.Number(a))
		case bool:
			in = append(in, tensor.Number(a))
		case nil:
			in = append(in, nil)
		}
	}
	n := 0
	for _, p := range d.Params {
		if p.IsTensor() {
			continue
		}
		if n++; n > len(rest) {
			rest = append(rest, *p.Default)
		}
	}
	c, err := op.Apply(testCtx, d, in, rest)
	if err != nil {
		return nil, err
	}
	return c.Out, nil
}

// show writes x as float32(2, 3)[1 2 3 4 5 6], its elements in row-major
// order.
func show(x *tensor.Tensor) string {
	return fmt.Sprintf("%v%v%v", x.DType(), x.Shape(), list(x))
}

func describeCall(args []any) string {
	var texts []string
	for _, a := range args[1:] {
		switch a := a.(type) {
		case *tensor.Tensor:
			texts = append(texts, show(a))
		case op.Arg:
			texts = append(texts, argString(a))
		default:
			texts = append(texts, fmt.Sprint(a))
		}
	}
	return fmt.Sprintf("%s(%s)", args[0], strings.Join(texts, ", "))
}

// counting returns a tensor of 0, 1, 2, ...
func counting(dt dtype.DType, sizes ...int) *tensor.Tensor {
	elems := make([]int64, shape.Shape(sizes).Numel())
	for i := range elems {
		elems[i] = int64(i)
	}
	return ok(op.FromInts(testCtx, dt, sizes, elems))
}

// holding returns a tensor of the given elements.
func holding(dt dtype.DType, sizes []int, elems ...float64) *tensor.Tensor {
	return ok(op.FromFloats(testCtx, dt, sizes, elems))
}

// row returns a tensor of one dim.
func row(dt dtype.DType, elems ...float64) *tensor.Tensor {
	return holding(dt, []int{len(elems)}, elems...)
}

func ok[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
