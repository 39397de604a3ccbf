package optest

import (
	"math"

	"tpsh/runtime/op"
)

func init() {
	keep := op.Bool1(true)
	for _, name := range []string{"sum", "nansum", "mean", "logsumexp", "any", "all"} {
		addExamples(name,
			call(values(2, 3)),
			call(values(2, 3), op.IntsN(1)),
			call(values(2, 3, 4), op.IntsN(0, -1), keep),
			call(values(2, 3, 4), op.IntsN(1)))
	}
	for _, name := range []string{"var", "std"} {
		addExamples(name,
			call(values(2, 3)),
			call(values(2, 3), op.IntsN(1), keep, op.Float1(0)),
			call(values(2, 3, 4), op.IntsN(0, 2)))
	}
	for _, p := range []float64{2, 1, 3, 0.5, 0, math.Inf(1), math.Inf(-1)} {
		addExamples("norm",
			call(values(2, 3), op.Float1(p)),
			call(values(2, 3, 4), op.Float1(p), op.IntsN(1), keep))
	}
	addExamples("prod",
		call(values(2, 3)),
		call(values(2, 5), op.Int1(0)),
		call(values(2, 3, 4), op.Int1(-2), keep),
		call(values(2, 6), op.Int1(1)))
	for _, name := range []string{"max", "min", "argmax", "argmin"} {
		addExamples(name,
			call(values(2, 3)),
			call(values(2, 3), op.Int1(1)),
			call(values(2, 3, 4), op.Int1(0), keep))
	}
	for _, name := range []string{"amax", "amin"} {
		addExamples(name,
			call(values(2, 3), op.None, op.Bool1(false)),
			call(values(2, 3, 4), op.IntsN(0, -1), keep))
	}
	const bits = "the bits of floats are others than those of integers"
	addExamples("hash_tensor",
		call(values(2, 3)).notComparable(bits),
		call(values(2, 3), op.IntsN(1), keep, op.Int1(0)).notComparable(bits),
		call(values(2, 3, 4), op.IntsN(0, -1)).notComparable(bits))
	addExamples("index_of",
		call(values(2, 3), values(1, 1), op.None, keep),
		call(indices(3, 2, 4), indices(3, 2, 1), op.Int1(1), op.Bool1(false)),
		call(indices(2, 2, 3, 4), indices(2, 1, 3, 4), op.Int1(0), keep),
		call(indices(2, 2, 3), indices(2, 1, 1), op.None, op.Bool1(false)))
	for _, name := range []string{"cumsum", "cumsum_back"} {
		addExamples(name, call(values(2, 3), op.Int1(1)), call(values(2, 3, 4), op.Int1(-2)))
	}
	addExamples("running_product", call(values(2, 3), op.Int1(1)), call(values(2, 3, 4), op.Int1(-2)))
	addExamples("running_extreme",
		call(values(2, 3), op.Int1(1), op.Bool1(false)),
		call(values(2, 3, 4), op.Int1(-2), op.Bool1(true)))
	addExamples("recurrence",
		call(values(2, 3), values(2, 3), op.Int1(1), op.Bool1(false)),
		call(values(2, 3, 4), values(2, 3, 4), op.Int1(-2), op.Bool1(true)))
	addExamples("sort",
		call(values(2, 5)),
		call(values(3, 4), op.Int1(0), op.Bool1(true)))
	addExamples("element_at",
		call(values(2, 5), indices(5, 2, 1), op.Int1(1)),
		call(values(4, 3), indices(4, 1, 3), op.Int1(0)))
	addExamples("topk",
		call(values(2, 5), op.Int1(2)),
		call(values(4, 3), op.Int1(1), op.Int1(0), op.Bool1(false)))
}
