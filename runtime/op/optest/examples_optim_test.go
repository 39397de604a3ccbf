package optest

import "tpsh/runtime/op"

func init() {
	f := op.Float1
	for _, name := range []string{"combine", "combine_"} {
		addExamples(name, call(values(2, 3), values(2, 3), f(0.5), f(-2)))
	}
	for _, name := range []string{"lerp", "lerp_"} {
		addExamples(name,
			call(values(2, 3), values(2, 3), f(0.125)),
			call(values(2, 3), values(2, 3), f(0.75)))
	}
	for _, name := range []string{"add_square", "add_square_"} {
		addExamples(name, call(values(2, 3), values(2, 3), f(0.75), f(0.25)))
	}
	update := call(values(2, 3), values(2, 3), positive(2, 3), values(2, 3), f(0.5), f(0.125), f(0.75), f(0.25), f(0.5), f(0.25), f(0.125))
	addExamples("adam_update", update)
	addExamples("adam_update_", update.changes(1, 2))
	for _, name := range []string{"adam_step", "adam_step_"} {
		addExamples(name, call(values(2, 3), values(2, 3), positive(2, 3), f(0.5), f(0.25), f(0.125)))
	}
}
