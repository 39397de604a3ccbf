package optest

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

func init() {
	const drawn = "numbers are drawn for the dtype"
	i, f, s, b, ints := op.Int1, op.Float1, op.Str1, op.Bool1, op.IntsN

	addExamples("rand", call(ints(2, 3)), call(ints(5), i(int(dtype.Float16))))
	addExamples("randn", call(ints(2, 3)), call(ints(5), i(int(dtype.Float64))))
	addExamples("rand_like", call(values(2, 3)).notComparable(drawn), call(values(3), i(int(dtype.BFloat16))).notComparable(drawn))
	addExamples("randn_like", call(values(2, 3)).notComparable(drawn), call(values(3), i(int(dtype.Float64))).notComparable(drawn))
	addExamples("randint", call(i(-3), i(8), ints(2, 3)), call(i(0), i(2), ints(4), i(int(dtype.Bool))))
	addExamples("randperm", call(i(6)), call(i(0)), call(i(5), i(int(dtype.Uint8))))
	addExamples("multinomial",
		call(positive(2, 5), i(3)),
		call(positive(5), i(7), b(true)))
	addExamples("dropout",
		call(values(3, 4)),
		call(values(3, 4), f(0.25)),
		call(values(3), f(1)),
		call(values(3), f(0.5), b(false)))

	addExamples("keep_like", call(values(3, 4), f(0.25)), call(values(2, 3, 4), f(0.5)))

	addExamples("gelu", call(values(3, 4)), call(values(3, 4), s("tanh")))
	addExamples("gelu_grad", call(values(3, 4), values(3, 4), s("none")), call(values(3, 4), values(3, 4), s("tanh")))
	addExamples("silu", call(values(3, 4)))
	addExamples("silu_grad", call(values(3, 4), values(3, 4)))
	addExamples("softplus", call(values(3, 4)))

	for _, name := range []string{"tanh_grad", "sigmoid_grad", "relu_grad"} {
		addExamples(name, call(values(3, 4), values(3, 4)))
	}
	for _, name := range []string{"softmax_grad", "log_softmax_grad"} {
		addExamples(name, call(values(3, 4), values(3, 4), i(-1)), call(values(3, 4, 2), values(3, 4, 2), i(1)))
	}
	addExamples("softmax",
		call(values(2, 5), i(-1)),
		call(values(2, 3, 4), i(1)),
		call(values(3), i(0), i(int(dtype.Float32))).notSmooth("float32"))
	addExamples("log_softmax",
		call(values(2, 5), i(-1)),
		call(values(2, 3, 4), i(0)))

}

func init() {
	i, f, s := op.Int1, op.Float1, op.Str1

	addExamples("mse_grad",
		call(values(2, 3), values(2, 3), values(), op.Float1(0.25)),
		call(values(2, 3), values(3), values(), op.Float1(1)))
	addExamples("mse_loss",
		call(values(2, 3), values(2, 3)),
		call(values(2, 3), values(3), s("sum")),
		call(values(2, 3), values(2, 1), s("none")))
	addExamples("binary_cross_entropy_with_logits",
		call(values(2, 3), unit(2, 3), none(), none()),
		call(values(2, 3), unit(2, 3), positive(3), none(), s("sum")),
		call(values(2, 3), unit(2, 3), positive(2, 1), positive(2, 3), s("none")))
	addExamples("cross_entropy",
		call(values(4, 3), indices(3, 4), none()),
		call(values(4, 3), indices(3, 4), positive(3), i(1), s("sum"), f(0.25)).noGradient(2),
		call(values(2, 3, 4), indices(3, 2, 4), positive(3), i(-100), s("none")).noGradient(2),
		call(values(3), indices(3), none(), i(-100), s("mean"), f(0.5)),
		call(values(4, 3), unit(4, 3), positive(3), i(-100), s("mean"), f(0.25)).noGradient(2),
		call(values(2, 3, 4), unit(2, 3, 4), none(), i(-100), s("none")),
		call(values(2, 3, 4), indices(3, 2, 4), positive(3), i(1), s("mean"), f(0.25)).noGradient(2))
	addExamples("nll_loss",
		call(values(4, 3), indices(3, 4), none()),
		call(values(2, 3, 4), indices(3, 2, 4), positive(3), i(2), s("sum")).noGradient(2),
		call(values(4, 3), indices(3, 4), positive(3), i(-100), s("none")).noGradient(2))
	addExamples("class_index", call(indices(5, 2, 4), i(5), i(1)))
	addExamples("class_total",
		call(indices(5, 2, 4), none(), i(5), i(1), i(int(dtype.Float32))),
		call(indices(3, 7), literal(dtype.Float64, []int{3}, 1, 2, 4), i(3), i(-100), i(int(dtype.Float64))))
	addExamples("cross_entropy_grad",
		call(values(4, 5), indices(5, 4), none(), values(), i(-100), s("mean"), f(0)),
		call(values(4, 5), indices(5, 4), positive(5), values(4), i(1), s("none"), f(0.25)),
		call(values(2, 5, 3), indices(5, 2, 3), none(), values(), i(-100), s("sum"), f(0.5)))
	addExamples("class_sums",
		call(values(4, 5), values(4, 1), indices(5, 4, 1), i(0)).noGradient(1),
		call(values(5), values(1), indices(9, 1), i(2)).noGradient(1),
		call(values(2, 5, 3), values(2, 1, 3), indices(8, 2, 1, 3), i(3)).noGradient(1))
	addExamples("class_sums_grad",
		call(values(4, 5), values(4, 1), indices(5, 4, 1), values(4, 1), values(4, 1), i(0)),
		call(values(2, 5, 3), values(2, 1, 3), indices(8, 2, 1, 3), values(2, 1, 3), values(2, 1, 3), i(3)))
	addExamples("class_weights",
		call(values(4, 3), indices(3, 4), positive(3), i(1), s("mean"), f(0.25)),
		call(values(2, 3, 4), indices(3, 2, 4), none(), i(-100), s("none"), f(0)))

}

func init() {
	i, f, s, b, ints, none1 := op.Int1, op.Float1, op.Str1, op.Bool1, op.IntsN, op.None

	addExamples("layer_norm",
		call(values(2, 5), none(), none(), ints(5)),
		call(values(2, 3, 4), values(3, 4), values(3, 4), ints(3, 4), f(0.5)),
		call(values(2, 5), values(5), none(), i(5)))
	addExamples("rms_norm",
		call(values(2, 5), none(), ints(5), f(1e-5)),
		call(values(2, 3, 4), values(4), ints(4), f(0.5)),
		call(values(2, 3), none(), ints(3)).notComparable("eps is that of the dtype"))
	addExamples("normalize_grads",
		call(values(3, 5), values(3, 5), values(5), b(true), f(1e-5)),
		call(values(4, 2, 3), values(4, 2, 3), values(2, 3), b(false), f(1e-5)))
	addExamples("normalize_grad",
		call(values(2, 5), values(2, 5), i(5), b(true), f(1e-5)),
		call(values(2, 5), values(2, 5), i(5), b(false), f(1e-5)))
	addExamples("batch_norm",
		call(values(4, 3), none(), none(), none(), none(), b(true)),
		call(values(2, 3, 4), values(3), positive(3), values(3), values(3)).noGradient(1, 2),
		call(values(2, 3, 4), none(), none(), values(3), values(3), b(true), f(0.1), f(0.5)),
		call(values(2, 3, 4), literal(dtype.Float32, []int{3}, 1, 2, 3), literal(dtype.Float32, []int{3}, 1, 2, 3), none(), none(), b(true)).changes(1, 2).noGradient(1, 2))

	addExamples("linear",
		call(values(3, 4), values(2, 4), none()),
		call(values(2, 3, 4), values(5, 4), values(5)),
		call(values(4), values(2, 4), values(2)),
		call(values(2, 3, 4), values(4), values()),
		call(values(3, 4), values(4), none()))
	addExamples("unpool_put",
		call(values(2, 3, 4), literal(dtype.Int64, []int{2, 3, 4}, 0, 1, 2, 3, 5, 4, 3, 0, 1, 3, 5, 2, 0, 1, 2, 3, 5, 4, 3, 0, 1, 3, 5, 2), i(6)),
		call(values(1, 2, 3), indices(2, 1, 2, 3), i(2)).notSmooth("what is replaced has a gradient"))
	addExamples("unpool_add",
		call(values(2, 3, 4), literal(dtype.Int64, []int{2, 3, 4}, 0, 1, 2, 3, 5, 4, 3, 0, 1, 3, 5, 2, 0, 1, 2, 3, 5, 4, 3, 0, 1, 3, 5, 2), i(6)),
		call(values(1, 2, 3), indices(2, 1, 2, 3), i(2)))
	addExamples("window_max",
		call(values(2, 3, 6, 5), ints(3, 2), ints(2, 2), ints(2, 2), ints(0, 0), ints(1, 1)),
		call(values(2, 2, 7), ints(4), ints(3), ints(2), ints(1), ints(1)),
		call(values(1, 2, 4, 3, 5), ints(2, 3, 3), ints(3, 1, 2), ints(1, 1, 2), ints(0, 0, 1), ints(1, 1, 2)))
	addExamples("window_sum",
		call(values(2, 3, 6, 5), ints(3, 2), ints(2, 2), ints(2, 2), ints(0, 0), ints(1, 1), f(0.25)),
		call(values(2, 2, 7), ints(4), ints(3), ints(2), ints(1), ints(1), f(1)),
		call(values(1, 2, 4, 3, 5), ints(2, 3, 3), ints(3, 1, 2), ints(1, 1, 2), ints(0, 0, 1), ints(1, 1, 2), f(0.5)))
	addExamples("window_spread",
		call(values(2, 3, 3, 2), ints(6, 5), ints(2, 2), ints(2, 2), ints(0, 0), ints(1, 1), f(0.25)),
		call(values(2, 2, 4), ints(7), ints(3), ints(2), ints(1), ints(1), f(1)),
		call(values(1, 2, 2, 3, 3), ints(4, 3, 5), ints(3, 1, 2), ints(1, 1, 2), ints(0, 0, 1), ints(1, 1, 2), f(0.5)))
	addExamples("embedding",
		call(indices(5, 2, 4), values(5, 3)),
		call(indices(5, 7), values(5, 3), i(-1), none1, f(2), b(true)).notSmooth("gradients are scaled by frequency"))
	addExamples("embedding_grad",
		call(values(2, 4, 3), indices(5, 2, 4), none(), i(5)),
		call(values(7, 3), indices(5, 7), values(5, 3), i(5)))
	addExamples("embedding_scale", call(indices(5, 7), i(5), i(2), b(true)), call(indices(5, 7), i(5), none1, b(false)))
	addExamples("embedding_bag",
		call(indices(5, 7), values(5, 3), literal(dtype.Int64, []int{3}, 0, 2, 2), none()),
		call(indices(5, 7), values(5, 3), literal(dtype.Int64, []int{3}, 0, 2, 2), none(), s("mean"), b(false), i(2)),
		call(indices(5, 2, 4), values(5, 3), none(), none(), s("max"), b(false), i(3)),
		call(indices(2, 3, 2), positive(2, 2), none(), none(), s("max"), b(false), i(0)),
		call(indices(5, 2, 4), values(5, 3), none(), none()),
		call(indices(5, 7), values(5, 3), literal(dtype.Int64, []int{3}, 0, 2, 2), none(), s("sum"), b(false), i(1)),
		call(indices(5, 7), values(5, 3), literal(dtype.Int64, []int{3}, 0, 2, 7), none(), s("max"), b(true)),
		call(indices(5, 7), values(5, 3), literal(dtype.Int32, []int{2}, 0, 3), values(7), s("sum")),
		call(indices(5, 2, 4), values(5, 3), none(), values(2, 4), s("sum"), b(false), i(-2)),
		call(indices(5, 7), values(5, 3), literal(dtype.Int64, []int{3}, 0, 2, 2), none(), s("mean"), b(false), i(2), none1, f(2), b(true)).notSmooth("gradients are scaled by frequency"))
	addExamples("bag_of", call(literal(dtype.Int64, []int{3}, 0, 2, 2), i(5), b(false)), call(literal(dtype.Int32, []int{3}, 0, 2, 5), i(5), b(true)))
	addExamples("bag_first",
		call(indices(5, 2, 4), values(5, 3), none(), values(2, 3), b(false), none1),
		call(indices(2, 3, 4), literal(dtype.Float64, []int{2, 2}, 1, 2, 1, 3), none(), literal(dtype.Float64, []int{3, 2}, 1, 2, 1, 3, 1, 3), b(false), i(1)),
		call(indices(2, 3, 4), literal(dtype.Float64, []int{2, 2}, 1, 2, 1, 3), none(), literal(dtype.Float64, []int{3, 2}, 1, 2, 1, 3, 1, 3), b(false), none1),
		call(indices(4, 5), literal(dtype.Float32, []int{4, 1}, 1, 2, 2, 1), literal(dtype.Int64, []int{2}, 0, 3), literal(dtype.Float32, []int{2, 1}, 1, 2), b(false), none1))
	addExamples("one_hot",
		call(indices(4, 2, 3), i(4)),
		call(indices(4, 6)).dataDependent("the largest index counts"))
	addExamples("attention_grad",
		call(values(2, 3, 6), values(2, 3, 4), values(2, 5, 4), values(2, 5, 6), values(2, 3, 6), none(), b(false), f(0.5), f(0)),
		call(values(2, 3, 6), values(3, 4), values(2, 5, 4), values(5, 6), values(2, 3, 6), values(3, 5), b(false), f(1), f(0)),
		call(values(3, 2), values(3, 4), values(5, 4), values(5, 2), values(3, 2), bools(3, 5), b(false), f(0.5), f(0)),
		call(values(3, 2), values(3, 4), values(5, 4), values(5, 2), values(3, 2), none(), b(true), f(0.5), f(0)),
		call(values(3, 2), values(3, 4), values(5, 4), values(5, 2), values(3, 2), bools(3, 5), b(false), f(0.5), f(1.5)))
	addExamples("causal_like", call(values(3, 5)), call(values(2, 4, 3)))
	addExamples("scaled_dot_product_attention",
		call(values(2, 3, 4), values(2, 5, 4), values(2, 5, 6), none()),
		call(values(3, 4), values(5, 4), values(5, 2), values(3, 5), f(0), b(false), f(0.5)),
		call(values(3, 4), values(5, 4), values(5, 2), bools(3, 5)),
		call(values(2, 3, 4), values(3, 4), values(3, 2), none(), f(0.25), b(true)),
		call(values(4, 3, 2), values(2, 5, 2), values(2, 5, 3), none(), f(0), b(false), none1, b(true)),
		call(values(2, 3, 4), values(1, 5, 4), values(2, 5, 6), values(2, 3, 1)),
		call(values(6, 3, 2), values(3, 5, 2), values(1, 5, 3), none(), f(0), b(true), f(1), b(true)),
		call(values(2, 3, 4), values(2, 5, 4), values(2, 2, 5, 6), none(), f(0.5)),
		call(values(4, 3, 2), values(2, 5, 2), values(2, 5, 3), values(3, 5), f(0), b(false), none1, b(true), f(1.5)),
		call(values(2, 3, 4), values(2, 5, 4), values(2, 5, 6), none(), f(0.25), b(true), none1, b(false), f(0.5)))
}
