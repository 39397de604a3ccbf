package optest

import (
	"math"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

// Figures by the formulas, in Python.
func TestCrossEntropy(t *testing.T) {
	x := f64([]int{2, 4}, 2, 0, 1, -1, 0.5, 0.5, 3, 0)
	y, w := i64(2, 1), line(1, 2, 3, 4)
	probs := f64([]int{2, 4}, 0.1, 0.2, 0.3, 0.4, 0, 0, 1, 0)
	none, mean, sum, ignore := op.Str1("none"), op.Str1("mean"), op.Str1("sum"), op.Int1(-100)
	testFigures(t, []figure{
		{of("cross_entropy", x, y, nil), []float64{2.0670375122617033}},
		{of("cross_entropy", x, y, nil, ignore, none), []float64{1.4401896985611953, 2.693885325962211}},
		{of("cross_entropy", x, y, nil, ignore, sum), []float64{2 * 2.0670375122617033}},
		{of("cross_entropy", x, y, w), []float64{1.9416679495216016}},
		{of("cross_entropy", x, y, w, ignore, mean, op.Float1(0.1)), []float64{1.9717049057956118}},
		{of("cross_entropy", x, y, nil, op.Int1(1)), []float64{1.4401896985611953}},
		{of("cross_entropy", x, i64(-7, -7), nil, op.Int1(-7)), []float64{math.NaN()}},
		{of("cross_entropy", x, i64(-7, -7), nil, op.Int1(-7), sum), []float64{0}},
		{of("cross_entropy", x, probs, nil), []float64{1.267037512261703}},
		{of("cross_entropy", line(0, 0), holding(dtype.Int64, nil, 1), nil), []float64{math.Ln2}},
		{of("cross_entropy", f64([]int{1, 2, 2}, 1000, 0, 1000, 0), holding(dtype.Int32, []int{1, 2}, 0, 1), nil, ignore, none), []float64{math.Ln2, math.Ln2}},
		{of("nll_loss", x, y, nil), []float64{-0.75}},
		{of("nll_loss", x, y, w, ignore, none), []float64{-3, -1}},
		{of("nll_loss", f64([]int{0, 4}), i64(), nil), []float64{math.NaN()}},
	})
	testCalls(t, []callTest{
		{of("cross_entropy", x, i64(2, 4), nil), `cross_entropy: for parameter "target": got 4 at index (1,), want 0..3 (the classes of x)`},
		{of("cross_entropy", x, i64(2), nil), `cross_entropy: for parameter "target": got int64[1], want shape (2,) (shape of x without classes: x is float64[2, 4])`},
		{of("cross_entropy", x, line(1, 2), nil), `cross_entropy: for parameter "target": got float64[2], want shape (2, 4) (probabilities have the shape of x)`},
		{of("cross_entropy", x, y, line(1)), `cross_entropy: for parameter "weight": got float64[1], want a float tensor of shape (4,) (a weight for each class)`},
		{of("cross_entropy", x, y, nil, ignore, mean, op.Float1(-1)), `cross_entropy: for parameter "label_smoothing": got -1, want a number from 0 to 1`},
		{of("nll_loss", x, probs, nil), `nll_loss: for parameter "target": got float64[2, 4], want an integer tensor`},
		{of("nll_loss", i64(1), y, nil), `nll_loss: for parameter "x": got int64[1], want a float tensor [c], [n, c] or [n, c, d1, ...]`},
	})
}

func TestBinaryCrossEntropy(t *testing.T) {
	x, y := line(0.5, -2, 3), line(1, 0.25, 0)
	none := op.Str1("none")
	testFigures(t, []figure{
		{of("binary_cross_entropy_with_logits", x, y, nil, nil, none), []float64{0.4740769841801067, 0.6269280110429727, 3.048587351573742}},
		{of("binary_cross_entropy_with_logits", x, y, nil, nil), []float64{1.3831974489322738}},
		{of("binary_cross_entropy_with_logits", x, y, nil, line(3), none), []float64{1.42223095254032, 1.6903920165644593, 3.048587351573742}},
		{of("binary_cross_entropy_with_logits", x, y, line(2, 0, 1), nil, none), []float64{0.9481539683602134, 0, 3.048587351573742}},
		{of("binary_cross_entropy_with_logits", line(-1000, 1000), line(0, 1), nil, nil, none), []float64{0, 0}},
		{of("mse_loss", line(1, 2), line(1, 4)), []float64{2}},
		{of("mse_loss", f64([]int{2, 1}, 1, 2), line(1, 4), op.Str1("none")), []float64{0, 9, 1, 4}},
		{of("mse_loss", line(), line()), []float64{math.NaN()}},
	})
	testCalls(t, []callTest{
		{of("binary_cross_entropy_with_logits", x, line(1), nil, nil), `binary_cross_entropy_with_logits: for parameter "target": got float64[1], want shape (3,) (that of x)`},
		{of("binary_cross_entropy_with_logits", x, y, line(1, 2), nil), `binary_cross_entropy_with_logits: for parameter "weight": got float64[2], want a tensor that broadcasts to shape (3,) (that of x)`},
		{of("mse_loss", x, line(1, 2)), `mse_loss: for parameter "target": got float64[2], want shape (3,) (the shapes do not broadcast)`},
		{of("mse_loss", i64(1), y), `mse_loss: for parameter "x": got int64[1], want a float tensor`},
	})
}

// Half-precision losses are computed in float32 and rounded once: the sum of
// 4096 losses of 1 and one of 0.5 cannot be counted up in float16.
func TestHalfLosses(t *testing.T) {
	n := 4097
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = 1
	}
	x[n-1] = 2
	testCalls(t, []callTest{
		{of("mse_loss", row(dtype.Float16, x...), row(dtype.Float16, y...), op.Str1("sum")), "float16()[4100]"},
	})
}
