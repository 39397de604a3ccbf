package optest

import (
	"math"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A figure is a call whose float64 result is known.
type figure struct {
	args []any
	want []float64
}

// testFigures compares results with figures, within 1e-9. NaN equals NaN.
func testFigures(t *testing.T, figures []figure) {
	t.Helper()
	for _, f := range figures {
		out, err := applied(f.args...)
		if err != nil {
			t.Errorf("%s: %v", describeCall(f.args), err)
			continue
		}
		got := list(out[0])
		good := len(got) == len(f.want)
		for i := range got {
			good = good && (math.Abs(got[i]-f.want[i]) <= 1e-9 || got[i] == f.want[i] || got[i] != got[i] && f.want[i] != f.want[i])
		}
		if !good {
			t.Errorf("%s\n got %v\nwant %v", describeCall(f.args), got, f.want)
		}
	}
}

// f64 is a float64 tensor.
func f64(sizes []int, elems ...float64) *tensor.Tensor {
	return holding(dtype.Float64, sizes, elems...)
}

// line is a float64 tensor of one dim.
func line(elems ...float64) *tensor.Tensor { return row(dtype.Float64, elems...) }

// i64 is an int64 tensor of one dim.
func i64(elems ...float64) *tensor.Tensor { return row(dtype.Int64, elems...) }

// Figures by the formulas, in Python.
func TestActivations(t *testing.T) {
	x, inf, nan := line(-1, 0.5, 3), math.Inf(1), math.NaN()
	testFigures(t, []figure{
		{of("gelu", x), []float64{-0.15865525393145707, 0.34573123063700656, 2.99595030590511}},
		{of("gelu", x, op.Str1("tanh")), []float64{-0.15880800939172324, 0.34571400982514394, 2.996362607918227}},
		{of("silu", x), []float64{-0.2689414213699951, 0.3112296656009273, 2.8577223804672998}},
		{of("softplus", line(-1000, 0, 1000)), []float64{0, math.Ln2, 1000}},
		{of("gelu", line(inf, nan)), []float64{inf, nan}},
		{of("gelu_grad", line(1, 1, 1), line(-inf, 0, inf), op.Str1("none")), []float64{0, 0.5, 1}},
		{of("gelu_grad", line(1, 1, 1), line(-inf, 0, inf), op.Str1("tanh")), []float64{0, 0.5, 1}},
		{of("silu_grad", line(1, 1, 1), line(-inf, 0, inf)), []float64{0, 0.5, 1}},
	})
	testCalls(t, []callTest{
		{of("gelu", i64(1)), `gelu: for parameter "x": got int64[1], want a float tensor`},
	})
}

func TestSoftmax(t *testing.T) {
	inf, nan, third := math.Inf(1), math.NaN(), 1.0/3
	testFigures(t, []figure{
		{of("softmax", line(1000, 1000, 1000), op.Int1(0)), []float64{third, third, third}},
		{of("softmax", f64([]int{2, 2}, 0, 5, math.Log(3), 5), op.Int1(0)), []float64{0.25, 0.5, 0.75, 0.5}},
		{of("log_softmax", line(0, math.Log(3)), op.Int1(-1)), []float64{math.Log(0.25), math.Log(0.75)}},
		{of("log_softmax", line(-1e4, 0), op.Int1(0)), []float64{-1e4, 0}},
		{of("softmax", line(-inf, 0), op.Int1(0)), []float64{0, 1}},
		{of("softmax", line(-inf, -inf), op.Int1(0)), []float64{nan, nan}},
		{of("log_softmax", line(inf, 0), op.Int1(0)), []float64{nan, nan}},
		{of("softmax", f64([]int{0, 2}), op.Int1(1)), nil},
	})
	testCalls(t, []callTest{
		{of("softmax", line(1), op.Int1(1)), `softmax: for parameter "dim": got 1, want -1..0 (shape (1,))`},
		{of("softmax", i64(1, 1), op.Int1(0)), `softmax: for parameter "x": got int64[2], want a float tensor`},
		{of("softmax", i64(1, 1), op.Int1(0), op.Int1(int(dtype.Float16))), `float16(2,)[0.5 0.5]`},
		{of("softmax", line(1), op.Int1(0), op.Int1(int(dtype.Int32))), `softmax: for parameter "dtype": got int32, want a float dtype`},
	})
}

func TestLinear(t *testing.T) {
	x, w := f64([]int{1, 2}, 1, 2), f64([]int{3, 2}, 1, 0, 0, 1, 1, 1)
	testCalls(t, []callTest{
		{of("linear", x, w, line(10, 20, 30)), "float64(1, 3)[11 22 33]"},
		{of("linear", i64(1, 2), holding(dtype.Int64, []int{1, 2}, 3, 4), nil), "int64(1,)[11]"},
		{of("linear", f64([]int{2, 0}), f64([]int{3, 0}), line(1, 2, 3)), "float64(2, 3)[1 2 3 1 2 3]"},
		{of("linear", x, counting(dtype.Float64, 2, 3), nil), `linear: for parameter "weight": got float64[2, 3], want float64[n, 2] (x is float64[1, 2])`},
		{of("linear", x, w, line(1)), `linear: for parameter "bias": got float64[1], want float64[3] (weight is float64[3, 2])`},
	})
}

func TestNormalization(t *testing.T) {
	x := line(1, 2, 4)
	testFigures(t, []figure{
		{of("layer_norm", x, nil, nil, op.IntsN(3)), []float64{-1.0690415314502977, -0.26726038286257453, 1.3363019143128718}},
		{of("layer_norm", x, line(1, 2, 3), line(0.5, 0, -1), op.IntsN(3)), []float64{-0.5690415314502977, -0.5345207657251491, 3.008905742938616}},
		{of("rms_norm", x, nil, op.IntsN(3), op.Float1(0)), []float64{0.3779644730092272, 0.7559289460184544, 1.5118578920369088}},
		{of("rms_norm", line(0, 0), nil, op.IntsN(2)), []float64{0, 0}},
		{of("batch_norm", f64([]int{2, 2}, 1, 10, 3, 30), nil, nil, nil, nil, op.Bool1(true), op.Float1(0.1), op.Float1(0)), []float64{-1, -1, 1, 1}},
		{of("batch_norm", f64([]int{1, 2}, 5, 8), line(1, 2), line(4, 9), line(1, 2), line(0, 1), op.Bool1(false), op.Float1(0.1), op.Float1(0)), []float64{2, 5}},
	})
	testCalls(t, []callTest{
		{of("layer_norm", x, nil, nil, op.IntsN(2)), `layer_norm: for parameter "normalized_shape": got (2,), want the last sizes of x (x is float64[3])`},
		{of("layer_norm", x, line(1), nil, op.IntsN(3)), `layer_norm: for parameter "weight": got float64[1], want a float tensor of shape (3,) (normalized_shape)`},
		{of("batch_norm", counting(dtype.Float64, 2, 1), nil, nil, nil, nil), `batch_norm: for parameter "running_mean": got None, want a float tensor (without training the running mean and variance are used)`},
		{of("batch_norm", f64([]int{1, 1}, 3), nil, nil, nil, nil, op.Bool1(true)), `batch_norm: for parameter "x": got float64[1, 1], want more than one element in a channel (in training)`},
	})
}

// Rows of bfloat16, of which some are converted at a time, give what they give as float32, rounded.
func TestRowsConverted(t *testing.T) {
	first := func(call ...any) *tensor.Tensor { return ok(applied(call...))[0] }
	in := func(dt dtype.DType, x *tensor.Tensor) *tensor.Tensor { return first("to", x, op.Int1(int(dt))) }
	for _, s := range [][]int{{70, 60}, {3, 2500}} {
		x := in(dtype.BFloat16, first("sin", counting(dtype.Float32, s...)))
		for _, x := range []*tensor.Tensor{x, x.View([]int{s[0], s[1] - 1}, x.Strides(), 1), x.View([]int{s[1], s[0]}, []int{1, s[1]}, 0)} {
			for _, call := range [][]any{{"softmax", x, op.Int1(0)}, {"softmax", x, op.Int1(1)}, {"log_softmax", x, op.Int1(1)}, {"layer_norm", x, nil, nil, op.IntsN(x.Shape()[1])}} {
				got := first(call...)
				call[1] = in(dtype.Float32, x)
				if want := in(dtype.BFloat16, first(call...)); show(got) != show(want) {
					t.Errorf("%v of %v strides %v is another in bfloat16", call[0], x.Shape(), x.Strides())
				}
			}
		}
	}
}

// Training moves the running mean by the batch's, and the running variance by
// the batch's with one less in its divisor.
func TestBatchNormRunning(t *testing.T) {
	mean, variance := row(dtype.Float32, 0, 1), row(dtype.Float32, 1, 1)
	x := f64([]int{2, 2, 2}, 1, 3, 0, 0, 5, 7, 0, 4) // channel 0: 1 3 5 7, channel 1: 0 0 0 4
	if _, err := applied("batch_norm", x, mean, variance, nil, nil, op.Bool1(true), op.Float1(0.25)); err != nil {
		t.Fatal(err)
	}
	if got, want := show(mean), "float32(2,)[1 1]"; got != want {
		t.Errorf("running mean: got %s, want %s", got, want)
	}
	// Variances: (9+1+1+9)/3 = 20/3 and (1+1+1+9)/3 = 4.
	if got, want := show(variance), "float32(2,)[2.4166667461395264 1.75]"; got != want {
		t.Errorf("running variance: got %s, want %s", got, want)
	}
	if mean.Buffer().Version() != 1 || variance.Buffer().Version() != 1 {
		t.Errorf("versions %d and %d, want 1 and 1", mean.Buffer().Version(), variance.Buffer().Version())
	}
	mean.Buffer().Freeze()
	testCalls(t, []callTest{
		{of("batch_norm", x, mean, nil, nil, nil, op.Bool1(true)), `batch_norm: for parameter "running_mean": got a frozen tensor, want one that may be changed (it belongs to a loaded file: build it in a function)`},
	})
}
