package tensor

import (
	"fmt"

	"tpsh/mesh"
)

// NewPlaced returns a tensor that ranks hold together: its shape is that of
// layout, and this rank holds local, a plain tensor of the shape that layout
// says, or on a rank outside the mesh any empty one. It shares the storage of
// local, and has a block of its own like it.
func NewPlaced(layout *mesh.Placed, local *Tensor) *Tensor {
	return new(PlacedHeader).Place(layout, local)
}

// A PlacedHeader is a Header for a tensor that ranks hold together, and for its block: one object
// of the collector. So nobody else's tensor has that for its block.
type PlacedHeader struct {
	whole Tensor
	block Header
}

// Block returns where the block may lie.
func (h *PlacedHeader) Block() *Header { return &h.block }

// Place is the function NewPlaced in h. A local that lies in Block is the block.
func (h *PlacedHeader) Place(layout *mesh.Placed, local *Tensor) *Tensor {
	x := &h.whole
	x.shape, x.dt, x.weak, x.buf, x.layout = layout.Shape(), local.dt, local.weak, local.buf, layout
	h.hold(local)
	return x
}

// Has reports whether x lies in h.
func (h *PlacedHeader) Has(x *Tensor) bool { return x == &h.whole }

// hold makes a block like local, or local if it lies there, that of h.
func (h *PlacedHeader) hold(local *Tensor) {
	if !h.block.Has(local) {
		h.block.copyOf(local)
	}
	h.whole.local = &h.block.Tensor
}

// Layout returns which rank holds which block of x; nil if x is plain.
func (x *Tensor) Layout() *mesh.Placed { return x.layout }

// Placed reports whether ranks hold x together. Such a tensor has no elements
// of its own, no strides and no offset: those are its local block's.
func (x *Tensor) Placed() bool { return x.layout != nil }

// Local returns the block of x that this rank holds: x itself if it is plain.
// The block takes no part in differentiation.
func (x *Tensor) Local() *Tensor {
	if x.layout == nil {
		return x
	}
	return x.local
}

// SomePlaced reports whether one of the list, in which nil may be, is placed.
func SomePlaced(list []*Tensor) bool {
	for _, x := range list {
		if x != nil && x.Placed() {
			return true
		}
	}
	return false
}

// Relay makes x, which ranks hold together, lie as layout, with local as this
// rank's block: another way to hold the same elements. What was recorded of x
// stays true, and its gradient will lie as layout says. The storage of local is
// nobody else's; views of x keep the old one. The block of x is then one like local.
//
// Relay panics if x is plain or layout is of another shape.
func (x *Tensor) Relay(layout *mesh.Placed, local *Tensor) {
	if x.layout == nil || !x.shape.Equal(layout.Shape()) {
		panic(fmt.Sprintf("tensor: laying %v out as %v", x.shape, layout))
	}
	if local.buf != nil && x.buf != nil {
		local.buf.version = x.buf.version
	}
	x.layout, x.local, x.buf = layout, local.copyHeader(), local.buf
}
