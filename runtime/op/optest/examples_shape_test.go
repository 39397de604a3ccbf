package optest

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

func init() {
	i, f, s, ints, none1 := op.Int1, op.Float1, op.Str1, op.IntsN, op.None

	addExamples("reshape",
		call(values(4, 3), ints(12)), call(values(12), ints(4, 3)), call(values(4, 1, 6), ints(2, 2, 1, 3, 2)), call(values(2, 0, 3), ints(2, 3, 0)))
	addExamples("reshape", call(values(2, 6), ints(3, -1)), call(values(2, 3), ints(-1)), call(values(), ints(1, 1)))
	addExamples("flatten", call(values(2, 3, 4)), call(values(2, 3, 4), i(1)), call(values(2, 3, 4), i(0), i(1)), call(values()))
	addExamples("squeeze", call(values(1, 2, 1, 3)), call(values(1, 2, 1, 3), ints(0, 1)), call(values()))
	addExamples("unsqueeze", call(values(2, 3), i(0)), call(values(2, 3), i(-1)), call(values(), i(0)))
	addExamples("transpose", call(values(2, 3, 4), i(0), i(-1)), call(values(3), i(0), i(0)))
	addExamples("permute", call(values(2, 3, 4), ints(2, 0, 1)), call(values(2, 3, 4), ints(-2, -1, 0)), call(values(), ints()))
	addExamples("T", call(values(2, 3)), call(values(2, 3, 4)), call(values()))
	addExamples("expand", call(values(2, 1, 3), ints(4, 2, 5, -1)), call(values(), ints(3)), call(values(3), ints(3)))

	addExamples("select", call(values(2, 3), i(1), i(-1)), call(values(2), i(0), i(0)))
	addExamples("narrow", call(values(5, 3), i(0), i(1), i(2)), call(values(3, 5), i(-1), i(-2), i(2)))
	addExamples("slice",
		call(values(5, 3), i(0), i(1), none1, i(2)),
		call(values(3, 5), i(1), i(-4), i(-1)),
		call(values(3, 5), i(1), i(3), i(1)))
	addExamples("getitem", call(values(2, 3), ints(1)), call(values(2, 3), ints(-1, 0)))
	addExamples("at", call(values(2, 3, 5), s("-1, ..., 1::2")), call(values(2, 3), s("None, :, 1")))
	addExamples("split", call(values(5, 3), i(2)), call(values(2, 5), ints(1, 0, 4), i(1)))
	addExamples("chunk", call(values(5, 3), i(4)), call(values(2, 3), i(2), i(-1)))

	addExamples("region_get", call(values(3, 4), ints(2, 2), ints(1, 5), i(2)), call(values(3, 4), ints(2, 3), ints(0, 4), i(1)))
	addExamples("lattice_view", call(values(3, 4), ints(0, 1), ints(3), ints(1, 1)), call(values(2, 5), ints(0, 0), ints(2, 2, 2), ints(1, 0, 0, 3, 0, 1)))
	addExamples("blank_beside", call(values(3, 4), ints(2, 5)), call(values(2, 3), ints(2, 3)))
	addExamples("region_set",
		call(values(3, 4), values(2, 2), ints(2, 2), ints(1, 5), i(2)),
		call(values(3, 4), values(3), ints(2, 3), ints(8, 1), i(1)),
		call(values(3, 4), number(7), ints(3), ints(4), i(0)))
	addExamples("region_spread", call(values(2, 2), ints(3, 4), ints(1, 5), i(2)))

	addExamples("window_get", call(values(3, 4), ints(1, 0), ints(2, 4)), call(values(2, 3), ints(0, 3), ints(2, 0)), call(values(), ints(), ints()))
	addExamples("window_put", call(values(2, 4), ints(3, 4), ints(1, 0)), call(values(2, 3), ints(2, 5), ints(0, 2)), call(values(), ints(), ints()))

	addExamples("cat",
		call(values(2, 3), values(4, 3), i(0)),
		call(values(2, 3), values(2, 1), values(2, 4), i(-1)),
		call(values(0), values(2, 3), values(2, 1), i(1)),
		call(values(3)))
	addExamples("stack", call(values(2, 3), values(2, 3), i(1)), call(values(2, 3), values(2, 3), i(-1)), call(values(), values()))
	addExamples("repeat", call(values(2, 3), ints(2, 3)), call(values(2, 3), ints(2, 1, 2)), call(values(3), ints(0)), call(values(), ints()))
	addExamples("flip", call(values(2, 3, 4), ints(0, -1)), call(values(3), ints(0)))
	addExamples("roll", call(values(5, 3), ints(5, 1), ints(0, 1)), call(values(2, 3), ints(1)), call(values(2, 3), ints(-1, 5), ints(0, 1)))
	addExamples("tril", call(values(3, 4)), call(values(2, 4, 3), i(-1)))
	addExamples("triu", call(values(3, 4)), call(values(2, 4, 3), i(1)))
	addExamples("pad",
		call(values(2, 3), ints(1, 2)),
		call(values(2, 3), ints(0, -1, 2, 1), s("constant"), f(3)),
		call(values(2, 3), ints(2, 1), s("reflect")),
		call(values(2, 3), ints(2, 1, 0, 3), s("replicate")),
		call(values(2, 3), ints(2, 1), s("circular")),
		call(values(2, 4), ints(-2, 3), s("reflect")),
		call(values(2, 4), ints(2, -1, -2, 3), s("replicate")),
		call(values(2, 4), ints(-1, 2), s("circular")))

	addExamples("zeros", call(ints(2, 3)), call(ints(), i(int(dtype.Int64))))
	addExamples("ones", call(ints(2, 3)), call(ints(4), i(int(dtype.Bool))))
	addExamples("empty", call(ints(2, 0)))
	addExamples("full", call(number(7), ints(2, 3)), call(number(0.5), ints(2)), call(values(), ints(2)), call(values(1), ints(2), i(int(dtype.Float16))))
	addExamples("eye", call(i(3)), call(i(2), i(4), i(int(dtype.Int32))))
	addExamples("arange",
		call(number(5), none(), none()),
		call(number(1), number(8), number(3)),
		call(number(1), number(-1), number(-0.25)))
	addExamples("linspace", call(f(-1), f(2), i(7)))
}
