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
	p := &placed{Tensor: Tensor{shape: layout.Shape(), dt: local.dt, weak: local.weak, buf: local.buf, layout: layout}}
	p.hold(local)
	return &p.Tensor
}

// A placed is a tensor that ranks hold together, one object of the collector with this
// rank's block. So nobody else's tensor has that for its block.
type placed struct {
	Tensor
	block flat
}

// hold makes a block like local that of p.
func (p *placed) hold(local *Tensor) {
	p.block.copyOf(local)
	p.local = &p.block.Tensor
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
