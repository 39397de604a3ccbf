package mesh

import "fmt"

// Mirrored is the Layout of a tensor of which each rank holds, along some dims, the
// block as far from the end as its block in a Placed is from the beginning. Where
// blocks are of unlike sizes, these begin where no block of the Placed does:
//
//	5 rows on 2 ranks    Placed: rows 0-2, rows 3-4    Mirrored: rows 2-4, rows 0-1
type Mirrored struct {
	of   *Placed
	dims []bool
}

// NewMirrored returns the layout that mirrors l along the dims that are set in dims,
// which has an element for each dim of the tensor.
func NewMirrored(l *Placed, dims []bool) *Mirrored { return &Mirrored{l, dims} }

// Shape returns the shape of the tensor.
func (r *Mirrored) Shape() []int { return r.of.Shape() }

// Ranks returns those of the mesh.
func (r *Mirrored) Ranks() []int { return r.of.Ranks() }

// Boxes returns the one block that rank holds, or none.
func (r *Mirrored) Boxes(rank int) []Box {
	b, ok := r.of.Box(rank)
	if !ok {
		return nil
	}
	c := newBox(len(b.Lo))
	for d, n := range r.of.Shape() {
		c.Lo[d], c.Hi[d] = b.Lo[d], b.Hi[d]
		if r.dims[d] {
			c.Lo[d], c.Hi[d] = n-b.Hi[d], n-b.Lo[d]
		}
	}
	return []Box{c}
}

// String returns what is mirrored.
func (r *Mirrored) String() string { return fmt.Sprintf("%v, mirrored", r.of) }

func (r *Mirrored) at(rank int) (part, term int) { return r.of.at(rank) }
