package tensor

import "tpsh/mesh"

// NewPlaced returns a tensor that ranks hold together: its shape is that of
// layout, and this rank holds local, a plain tensor of the shape that layout
// says, or on a rank outside the mesh any empty one. It shares the storage of
// local.
func NewPlaced(layout *mesh.Placed, local *Tensor) *Tensor {
	return &Tensor{shape: layout.Shape(), dt: local.dt, weak: local.weak, buf: local.buf, layout: layout, local: local}
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
