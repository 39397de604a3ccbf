package op

import "tpsh/mesh"

// An Exchange is how ranks that hold an operator's first input together make the
// result by sending each other what they lack of it, and nothing more: where the
// operator's rule would have them move the input, and the operator works element
// by element, each of the result being one of the input or zero.
//
// For example, window_get has the ranks exchange the elements of a box, which then
// lies as the input does.
type Exchange struct {
	// To returns how the result then lies along each dim of the mesh, where the
	// input lies as from; nil if that is not to be done.
	To func(c *Call, from *mesh.Placed) []mesh.Placement

	// Parts returns what is exchanged, as two layouts of one shape: src is how the
	// given ranks hold it in the input, which lies as from, and dst how they are to
	// hold it in the result, which lies as to and is zero elsewhere. They are the
	// layouts from and to, windows of them, or what each rank stores of them in
	// row-major order.
	Parts func(c *Call, from, to *mesh.Placed, ranks []int) (src, dst mesh.Layout, err error)
}

// Blockwise is how an operator works on the rank's own blocks, given the layouts
// of a view and of its base: how its inputs and its result lie, and which of them
// has the block that its first argument, a shape, is of.
type Blockwise struct {
	In  []*mesh.Placed
	Out *mesh.Placed
	Of  *mesh.Placed
}

// sameAs has the result lie as the input does, in equal blocks where units do not fit it.
func sameAs(c *Call, from *mesh.Placed) []mesh.Placement {
	if _, err := mesh.Place(from.Mesh(), c.Spec[0].Shape, from.Placements()); err != nil {
		return mesh.Chunked(from.Placements())
	}
	return from.Placements()
}

// boxAt returns the box of the given sizes that begins at lo.
func boxAt(lo, sizes []int) mesh.Box {
	b := mesh.Box{Lo: append([]int(nil), lo...), Hi: append([]int(nil), lo...)}
	for d, n := range sizes {
		b.Hi[d] += n
	}
	return b
}
