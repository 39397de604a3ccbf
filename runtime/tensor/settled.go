package tensor

import (
	"tpsh/mesh"
	"tpsh/runtime/spmdtype"
)

// A settled is what ranks have made of the terms that they hold of a tensor: how it
// lies, and this rank's block. It holds as long as nobody writes into the terms or
// into it.
type settled struct {
	of, to         *mesh.Placed
	block          *Tensor
	terms, written uint32 // the versions of the storage of both
	used           bool   // an operator has used it

	// Of a plain tensor, instead of all that: what it is along the axes of a mesh. It has the room
	// of what is never there together, so that tensors without types are no larger.
	typed *spmdtype.Mark
}

// Typed returns what x, a plain tensor, is known to be along the axes of a mesh; nil for nothing.
func (x *Tensor) Typed() *spmdtype.Mark {
	if x.settled == nil {
		return nil
	}
	return x.settled.typed
}

// SetTyped says what x, a plain tensor, is along the axes of a mesh. Operators pay no heed to it:
// who applies them does, where types are on.
func (x *Tensor) SetTyped(m *spmdtype.Mark) {
	if m == nil {
		x.settled = nil
		return
	}
	x.settled = &settled{typed: m}
}

// OfType returns x, or if x has no types and m is one, a tensor like x that has: the same elements, and
// the same part in differentiation.
func (x *Tensor) OfType(m *spmdtype.Mark) *Tensor {
	if m == nil || x.Placed() || x.Typed() != nil {
		return x
	}
	y := x.copyHeader()
	y.SetTyped(m)
	return y
}

// Settle remembers with x, a sum or the like of what ranks hold, that it has become
// block, placed as to. The block is kept as long as x is, or until Unsettle; whoever
// has it besides must not give it to a script.
func (x *Tensor) Settle(to *mesh.Placed, block *Tensor) {
	x.settled = &settled{of: x.layout, to: to, block: block, terms: x.buf.Version(), written: block.buf.Version()}
}

// Settled returns what Settle has remembered with x: nil if there is nothing, or if
// the storage of x or of the block has been written into since.
func (x *Tensor) Settled() (to *mesh.Placed, block *Tensor) {
	s := x.settled
	if s == nil || s.block == nil {
		return nil, nil
	}
	if s.of != x.layout || s.terms != x.buf.Version() || s.written != s.block.buf.Version() {
		x.settled = nil
		return nil, nil
	}
	return s.to, s.block
}

// MarkUsed notes that an operator has used what x remembers, which there is.
func (x *Tensor) MarkUsed() { x.settled.used = true }

// Used reports whether MarkUsed has been called since Settle.
func (x *Tensor) Used() bool { return x.settled != nil && x.settled.used }

// Unsettle forgets what Settle has remembered.
func (x *Tensor) Unsettle() { x.settled = nil }

// Forget returns a tensor like x, with the same elements and part in differentiation, that has no types.
func (x *Tensor) Forget() *Tensor {
	y := x.copyHeader()
	y.SetTyped(nil)
	return y
}
