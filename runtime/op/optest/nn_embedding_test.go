package optest

import (
	"math"
	"slices"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// gradientOf returns the gradient of input k of the sum of a call's result.
func gradientOf(t *testing.T, k int, name string, in []*tensor.Tensor, args ...op.Arg) []float64 {
	t.Helper()
	rec := grad.New(newCtx())
	in[k].Auto = &tensor.Auto{Requires: true}
	out := ok(rec.Apply(op.Lookup(name), in, args))
	sum := ok(rec.Apply(op.Lookup("sum"), out, []op.Arg{op.None, op.Bool1(false)}))
	if err := rec.Backward(sum[0], nil, false); err != nil {
		t.Fatal(err)
	}
	return list(in[k].Auto.Grad)
}

func TestEmbedding(t *testing.T) {
	w := counting(dtype.Float64, 3, 2)
	testCalls(t, []callTest{
		{of("embedding", i64(2, 0), w), "float64(2, 2)[4 5 0 1]"},
		{of("embedding", row(dtype.Uint8, 1), counting(dtype.Int32, 2, 1)), "int32(1, 1)[1]"},
		{of("embedding", holding(dtype.Int64, []int{0, 5}), w), "float64(0, 5, 2)[]"},
		{of("embedding", holding(dtype.Int64, []int{1, 2}, 0, 3), w), `embedding: for parameter "x": got 3 at index (0, 1), want 0..2 (rows of weight float64[3, 2])`},
		{of("embedding", i64(-1), w), `embedding: for parameter "x": got -1 at index (0,), want 0..2 (rows of weight float64[3, 2])`},
		{of("embedding", line(1), w), `embedding: for parameter "x": got float64[1], want an integer tensor`},
		{of("embedding", i64(1), w, op.Int1(3)), `embedding: for parameter "padding_idx": got 3, want -3..2 (rows of weight)`},
	})
	tests := []struct {
		args []op.Arg
		want []float64
	}{
		{padded(op.None, false), []float64{2, 2, 0, 0, 1, 1}},
		{padded(op.Int1(-3), false), []float64{0, 0, 0, 0, 1, 1}},
		{padded(op.None, true), []float64{1, 1, 0, 0, 1, 1}},
	}
	for _, tt := range tests {
		got := gradientOf(t, 1, "embedding", []*tensor.Tensor{i64(0, 2, 0), counting(dtype.Float64, 3, 2)}, tt.args...)
		if !slices.Equal(got, tt.want) {
			t.Errorf("gradient with %v: got %v, want %v", tt.args, got, tt.want)
		}
	}
}

// padded returns the arguments of embedding without a limit of norms.
func padded(padding op.Arg, byFreq bool) []op.Arg {
	return []op.Arg{padding, op.None, op.Float1(2), op.Bool1(byFreq), op.Bool1(false)}
}

func TestEmbeddingBag(t *testing.T) {
	w := counting(dtype.Float64, 6, 2)
	sum, highest, mean, no, yes := op.Str1("sum"), op.Str1("max"), op.Str1("mean"), op.Bool1(false), op.Bool1(true)
	testCalls(t, []callTest{
		{of("embedding_bag", i64(0, 2, 5), w, i64(0, 2), nil), "float64(2, 2)[2 3 10 11]"},
		{of("embedding_bag", i64(0, 2, 5), w, i64(0, 2), nil, sum), "float64(2, 2)[4 6 10 11]"},
		{of("embedding_bag", i64(0, 2, 5), w, i64(0, 2), nil, highest), "float64(2, 2)[4 5 10 11]"},
		{of("embedding_bag", i64(0, 2, 5), w, i64(0, 0, 3), nil, mean), "float64(3, 2)[0 0 4.666666666666667 5.666666666666667 0 0]"},
		{of("embedding_bag", i64(0, 2, 5), w, i64(0, 0, 3), nil, mean, yes), "float64(2, 2)[0 0 4.666666666666667 5.666666666666667]"},
		{of("embedding_bag", i64(0, 2, 5), w, i64(0, 1), nil, mean, no, op.Int1(-1)), "float64(2, 2)[0 1 4 5]"},
		{of("embedding_bag", i64(5), w, i64(0), nil, highest, no, op.Int1(5)), "float64(1, 2)[0 0]"},
		{of("embedding_bag", holding(dtype.Int64, []int{2, 2}, 0, 1, 2, 3), w, nil, nil), "float64(2, 2)[1 2 5 6]"},
		{of("embedding_bag", i64(1, 2), w, i64(0), line(1, 0.5), sum), "float64(1, 2)[4 5.5]"},
		{of("embedding_bag", i64(), w, i64(), nil), "float64(0, 2)[]"},
		{of("embedding_bag", i64(), w, i64(0, 0), nil), "float64(2, 2)[0 0 0 0]"},
		{of("embedding_bag", i64(1), w, nil, nil), `embedding_bag: for parameter "offsets": got None, want an integer tensor [b] (x has one dim)`},
		{of("embedding_bag", i64(1), w, i64(1), nil), `embedding_bag: for parameter "offsets": got 1 at index 0, want 0 (the first bag begins where x does)`},
		{of("embedding_bag", i64(1), w, i64(0, 2), nil), `embedding_bag: for parameter "offsets": got 2 at index 1, want 0..1 (offsets ascend and lie in x)`},
		{of("embedding_bag", i64(1, 1), w, i64(0, 1), nil, sum, yes), `embedding_bag: for parameter "offsets": got 1 at index 1, want 2 (the last is the length of x)`},
		{of("embedding_bag", i64(1), w, i64(), nil), `embedding_bag: for parameter "offsets": got no bag, want bags for 1 elements (x is int64[1])`},
		{of("embedding_bag", i64(1), w, i64(0), line(1)), `embedding_bag: for parameter "per_sample_weights": got float64[1], want None (they are for mode "sum", not "mean")`},
		{of("embedding_bag", i64(6), w, i64(0), nil), `embedding_bag: for parameter "x": got 6 at index (0,), want 0..5 (rows of weight float64[6, 2])`},
	})
}

func TestOneHot(t *testing.T) {
	testCalls(t, []callTest{
		{of("one_hot", i64(2, 0)), "int64(2, 3)[0 0 1 1 0 0]"},
		{of("one_hot", i64(1), op.Int1(2)), "int64(1, 2)[0 1]"},
		{of("one_hot", i64(), op.Int1(0)), "int64(0, 0)[]"},
		{of("one_hot", i64(2), op.Int1(2)), `one_hot: for parameter "x": got 2 at index (0,), want 0..1 (classes)`},
		{of("one_hot", i64(-1)), `one_hot: for parameter "x": got -1 at index (0,), want a non-negative int (an index of a class)`},
		{of("one_hot", i64()), `one_hot: for parameter "num_classes": got -1, want a non-negative int (there is no index to count from)`},
	})
}

// Figures by the formulas, in Python.
func TestAttention(t *testing.T) {
	q, k, v := f64([]int{2, 2}, 1, 0, 0, 1), f64([]int{3, 2}, 1, 0, 0, 1, 1, 1), f64([]int{3, 1}, 1, 2, 4)
	no, yes := op.Bool1(false), op.Bool1(true)
	sees := holding(dtype.Bool, []int{2, 3}, 1, 0, 0, 0, 0, 0)
	added := f64([]int{2, 3}, 0, math.Inf(-1), math.Inf(-1), 0, 0, math.Inf(-1))
	testFigures(t, []figure{
		{of("scaled_dot_product_attention", q, k, v, nil), []float64{2.401112092679786, 2.604448370719144}},
		{of("scaled_dot_product_attention", q, k, v, nil, op.Float1(0), yes), []float64{1, 1.6697615493266569}},
		{of("scaled_dot_product_attention", q, k, v, sees), []float64{1, 0}},
		{of("scaled_dot_product_attention", q, k, v, added), []float64{1, 1.6697615493266569}},
		{of("scaled_dot_product_attention", q, k, v, nil, op.Float1(0), no, op.Float1(0)), []float64{7.0 / 3, 7.0 / 3}},
		{of("scaled_dot_product_attention", q, k, v, nil, op.Float1(1)), []float64{0, 0}},
		{of("scaled_dot_product_attention", q, k, v, nil, op.Float1(0), no, op.None, no, op.Float1(0.5)), []float64{2.3785954590033342, 2.514381836013336}},
	})
	testCalls(t, []callTest{
		{of("scaled_dot_product_attention", q, counting(dtype.Float64, 3, 1), v, nil), `scaled_dot_product_attention: for parameter "key": got float64[3, 1], want float64[..., s, 2] (query is float64[2, 2])`},
		{of("scaled_dot_product_attention", q, k, counting(dtype.Float64, 2, 1), nil), `scaled_dot_product_attention: for parameter "value": got float64[2, 1], want float64[..., 3, v] (key is float64[3, 2])`},
		{of("scaled_dot_product_attention", q, k, v, sees, op.Float1(0), yes), `scaled_dot_product_attention: for parameter "attn_mask": got bool[2, 3], want None (is_causal is a mask)`},
		{of("scaled_dot_product_attention", q, k, v, line(1, 2)), `scaled_dot_product_attention: for parameter "attn_mask": got float64[2], want a tensor that broadcasts to shape (2, 3) (a row of keys for each query)`},
		{of("scaled_dot_product_attention", q, k, v, nil, op.Float1(0), no, op.None, no, op.Float1(0)), `scaled_dot_product_attention: for parameter "softcap": got 0, want a number above 0`},
	})
	// A query that sees nothing has a gradient of zeros.
	got := gradientOf(t, 0, "scaled_dot_product_attention", []*tensor.Tensor{q, k, v, sees}, op.Float1(0), no, op.None, no, op.None)
	if want := []float64{0, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("gradient of a masked query: got %v, want %v", got, want)
	}
}

// Grouped heads give what repeated heads give.
func TestAttentionGroups(t *testing.T) {
	q := values(4, 3, 2).make(testAlloc, dtype.Float64, 0)
	k, v := values(2, 5, 2).make(testAlloc, dtype.Float64, 1), values(2, 5, 3).make(testAlloc, dtype.Float64, 2)
	twice := func(x *tensor.Tensor) *tensor.Tensor { // heads 0 0 1 1
		return ok(applied("index_select", x, i64(0, 0, 1, 1), op.Int1(0)))[0]
	}
	got := ok(applied("scaled_dot_product_attention", q, k, v, nil, op.Float1(0), op.Bool1(false), op.None, op.Bool1(true)))
	want := ok(applied("scaled_dot_product_attention", q, twice(k), twice(v), nil))
	if !same(got[0], want[0]) {
		t.Errorf("got %v, want %v", show(got[0]), show(want[0]))
	}
}
