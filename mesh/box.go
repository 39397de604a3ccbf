package mesh

import "strconv"

// A Box is a block of an index space: the elements whose index along every dim
// d is in [Lo[d], Hi[d]). A box of no dims holds one element.
type Box struct{ Lo, Hi []int }

// newBox returns a box of n dims at the origin, which holds nothing if n > 0.
func newBox(n int) Box {
	edges := make([]int, 2*n)
	return Box{Lo: edges[:n:n], Hi: edges[n:]}
}

// Shape returns the sizes of b, in a slice of its own.
func (b Box) Shape() []int {
	shape := make([]int, len(b.Lo))
	for d := range shape {
		shape[d] = b.Hi[d] - b.Lo[d]
	}
	return shape
}

// Numel returns the number of elements in b.
func (b Box) Numel() int {
	n := 1
	for d := range b.Lo {
		n *= b.Hi[d] - b.Lo[d]
	}
	return n
}

// Intersect returns the elements that a and b have in common. It reports false
// if there are none.
func (a Box) Intersect(b Box) (Box, bool) {
	if a.overlap(b) == 0 {
		return Box{}, false
	}
	c := newBox(len(a.Lo))
	for d := range a.Lo {
		c.Lo[d], c.Hi[d] = max(a.Lo[d], b.Lo[d]), min(a.Hi[d], b.Hi[d])
	}
	return c, true
}

// overlap returns the number of elements that a and b have in common.
func (a Box) overlap(b Box) int {
	n := 1
	for d := range a.Lo {
		width := min(a.Hi[d], b.Hi[d]) - max(a.Lo[d], b.Lo[d])
		if width <= 0 {
			return 0
		}
		n *= width
	}
	return n
}

// String returns b as NumPy writes an index: [0:2, 3:5].
func (b Box) String() string {
	s := "["
	for d := range b.Lo {
		if d > 0 {
			s += ", "
		}
		s += strconv.Itoa(b.Lo[d]) + ":" + strconv.Itoa(b.Hi[d])
	}
	return s + "]"
}

// numel returns the number of elements of a tensor of a shape.
func numel(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// total returns the number of elements in boxes, which are disjoint.
func total(boxes []Box) int {
	n := 0
	for _, b := range boxes {
		n += b.Numel()
	}
	return n
}
