package optest

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

func init() {
	const counted = "as many elements as there are true ones"
	i, ints := op.Int1, op.IntsN

	addExamples("index_select",
		call(values(4, 3), i(0), indices(4, 6)),
		call(values(2, 4, 3), i(1), indices(4, 2)),
		call(values(2, 3), i(-1), indices(3)))
	addExamples("index_spread",
		call(values(6, 3), indices(4, 6), none(), i(0), i(4)),
		call(values(2, 5, 3), indices(4, 5), none(), i(1), i(4)),
		call(values(6, 3), indices(4, 6), values(4, 3), i(0), i(4)))
	addExamples("latest", call(indices(4, 3), i(4)), call(indices(3, 2, 4), i(3)))
	addExamples("index_copy",
		call(values(5, 3), indices(5, 2), values(2, 3), i(0)),
		call(values(2, 3), indices(3, 4), values(2, 4), i(1)),
		call(values(2, 3), indices(3, 2), values(2, 1), i(1)),
		call(values(2, 3), indices(3, 2), number(7), i(1)))
	addExamples("gather",
		call(values(3, 4), indices(4, 3, 2), i(1)),
		call(values(3, 4), indices(3, 5, 2), i(0)),
		call(values(3, 4), literal(dtype.Uint8, []int{2, 3}, 0, 3, 1, 2, 2, 0), i(1)))
	addExamples("places_in",
		call(values(5), values(2, 3), op.Bool1(false)),
		call(values(2, 5), values(2, 3), op.Bool1(true)))
	addExamples("scatter_add",
		call(values(3, 4), indices(4, 3, 2), values(3, 2), i(1)),
		call(values(3, 4), indices(3, 5, 2), values(6, 3), i(0)))
	addExamples("scatter_put",
		call(values(3, 4), indices(4, 3, 2), values(3, 2), i(1)),
		call(values(3, 4), indices(3, 5, 3), values(5, 3), i(0)),
		call(values(2, 3, 4), indices(3, 2, 5, 1), values(2, 5, 1), i(-2)))
	for _, how := range []string{"prod", "amax", "amin"} {
		addExamples("scatter_fold",
			call(values(3, 4), indices(4, 3, 2), values(3, 2), i(1), op.Str1(how), op.Bool1(true)),
			call(values(3, 4), indices(3, 5, 4), values(6, 4), i(0), op.Str1(how), op.Bool1(false)))
	}

	addExamples("masked_fill",
		call(values(2, 3), bools(2, 3), number(1)),
		call(values(3), bools(2, 1), values()),
		call(values(2, 3), bools(3), values(1)))
	addExamples("masked_select",
		call(values(2, 3), bools(2, 3)).dataDependent(counted),
		call(values(3), bools(2, 1)).dataDependent(counted))
	addExamples("nonzero", call(values(2, 3)).dataDependent(counted), call(bools(2, 3, 2)).dataDependent(counted))

	addExamples("index",
		call(values(4, 3), indices(4, 6)),
		call(values(4, 3), indices(4, 2, 2)),
		call(values(4, 3), indices(4)),
		call(values(4, 3), bools(4)).dataDependent(counted),
		call(values(4, 3), bools(4, 3)).dataDependent(counted))
	addExamples("index_put",
		call(values(4, 3), indices(4, 2), values(2, 3)),
		call(values(4, 3), indices(4, 6), values(6, 1)),
		call(values(4, 3), indices(4, 2, 2), number(7)),
		call(values(4, 3), bools(4), values(3)).dataDependent(counted),
		call(values(4, 3), bools(4, 3), number(7)).dataDependent(counted))
	addExamples("index_put_",
		call(values(4, 3), indices(4, 2), values(2, 3)),
		call(values(4, 3), bools(4), values(3)).dataDependent(counted))
	addExamples("setitem",
		call(values(4, 3), values(3), ints(1)),
		call(values(4, 3), values(1, 1), ints(-1)),
		call(values(4, 3), number(7), ints(1, 2)))
	addExamples("setitem_", call(values(4, 3), values(3), ints(1)), call(values(4, 3), number(7), ints(1, 2)))
}
