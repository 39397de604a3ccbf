package mesh

// Window is the Layout of a box of a tensor that lies as a Placed says, as a
// tensor of its own: each rank holds what it has of the box.
type Window struct {
	of  *Placed
	box Box
}

// NewWindow returns the layout of box, which lies inside the tensor of l.
func NewWindow(l *Placed, box Box) *Window { return &Window{l, box} }

// Shape returns the sizes of the box.
func (w *Window) Shape() []int { return w.box.Shape() }

// Ranks returns those of the mesh.
func (w *Window) Ranks() []int { return w.of.Ranks() }

// Boxes returns the one block of the box that rank holds, counted from where the
// box begins, or none.
func (w *Window) Boxes(rank int) []Box {
	b, ok := w.of.Box(rank)
	if !ok {
		return nil
	}
	c := newBox(len(w.box.Lo))
	if both, some := b.Intersect(w.box); some {
		for d := range c.Lo {
			c.Lo[d], c.Hi[d] = both.Lo[d]-w.box.Lo[d], both.Hi[d]-w.box.Lo[d]
		}
	}
	return []Box{c}
}

// String returns the box, and how the whole lies.
func (w *Window) String() string { return w.box.String() + " of " + w.of.String() }

func (w *Window) at(rank int) (part, term int) { return w.of.at(rank) }

// Whole returns a box of the window, counted from where that begins, as a box of
// the whole tensor.
func (w *Window) Whole(b Box) Box {
	c := newBox(len(b.Lo))
	for d := range b.Lo {
		c.Lo[d], c.Hi[d] = b.Lo[d]+w.box.Lo[d], b.Hi[d]+w.box.Lo[d]
	}
	return c
}
