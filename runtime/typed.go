package runtime

import "tpsh/runtime/typing"

// Types turns types of local tensors on, until the function that it returns is called. size returns how many
// ranks an axis has, 0 if it is not known.
func (r *Rank) Types(size func(axis string) int) (restore func()) {
	was := r.Tape.Types
	r.Tape.Types = &typing.Scope{Ctx: &r.ops, Size: size, Spot: r.Spot}
	return func() { r.Tape.Types = was }
}

// Typing reports whether types of local tensors are on.
func (r *Rank) Typing() bool { return r.Tape.Types != nil }
