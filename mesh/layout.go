package mesh

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// A Layout says which boxes of a tensor each of some ranks holds. It is a
// *Placed, a *Flat, a *Window or a *Mirrored, and immutable; slices that its methods return are to be
// read only.
//
// Ranks hold parts. Two ranks of one part hold the same boxes, two of different
// parts have no element in common, and the parts cover the tensor. Where the
// tensor is a sum, the ranks of a part hold the terms of it: those of one term
// hold the same.
type Layout interface {
	// Shape returns the shape of the tensor.
	Shape() []int
	// Ranks returns those that take part, in the order in which terms are
	// added.
	Ranks() []int
	// Boxes returns what rank holds. What it stores is the elements of each
	// box in row-major order, one box after another. A rank that does not take
	// part has no boxes.
	Boxes(rank int) []Box
	// String describes the layout in one line.
	String() string
	// at returns the part and the term of a rank that takes part.
	at(rank int) (part, term int)
}

// Replicas returns the ranks that hold the same as rank in l, in the order of
// Ranks: rank itself and those of its part and term. There are none if rank
// holds no boxes.
func Replicas(l Layout, rank int) []int {
	if len(l.Boxes(rank)) == 0 {
		return nil
	}
	part, term := l.at(rank)
	var same []int
	for _, r := range l.Ranks() {
		if p, t := l.at(r); p == part && t == term {
			same = append(same, r)
		}
	}
	return same
}

// Placed is the Layout of a tensor with one Placement for each dim of a mesh.
// They apply outermost first: each cuts what the dims before it have left, or where it
// is a StridedShard what some dims after it have left, too, into blocks of one size or, where
// it is a RaggedShard, of its units.
// Every rank holds one box, which is empty where there is nothing left to cut:
// it then begins where its part ends.
type Placed struct {
	mesh       *Mesh
	shape      []int
	placements []Placement
	order      []int // the mesh dims that cut, those of one dim of the tensor in the order in which they do
	summed     bool  // one of placements is a sum or a mean
}

// Place returns the layout of a tensor of a shape with the given placements,
// whose dims may be negative. It returns an *Error unless there is one for each
// dim of m and the tensor has the dims that they cut.
func Place(m *Mesh, shape []int, placements []Placement) (*Placed, error) {
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	if len(placements) != len(m.shape) {
		return nil, &Error{"placements", listOf(len(placements)), strconv.Itoa(len(m.shape)), "one for each dim of the mesh " + m.Short()}
	}
	placements, err := Normalize(placements, shape)
	if err != nil {
		return nil, err
	}
	if err := checkFactors(m, placements); err != nil {
		return nil, err
	}
	if err := checkUnits(m, shape, placements); err != nil {
		return nil, err
	}
	return newPlaced(m, append([]int{}, shape...), placements), nil
}

// checkShape returns an error unless the bytes of a tensor can be counted.
func checkShape(shape []int) error {
	n, most := 1, math.MaxInt/16
	for i, d := range shape {
		if d < 0 {
			return &Error{"shape", fmt.Sprintf("%d at index %d", d, i), "a non-negative int", ""}
		}
		if d > 0 && n > most/d {
			return &Error{"shape", Tuple(shape), "fewer than 2**59 elements", ""}
		}
		n *= max(d, 1)
	}
	return nil
}

// Grid returns the layout of a tensor whose dims are cut into parts by the
// ranks along one dim of m: that dim is read as a number in mixed radix parts,
// the first digit the most significant, whose k-th digit says which block of
// dims[k] a rank holds. The layout is that of these placements on m split so.
//
// Grid returns an *Error unless dims and parts are equally long and the parts
// multiply to the size of the mesh dim.
func Grid(m *Mesh, meshDim int, shape, dims, parts []int) (*Placed, error) {
	if len(dims) != len(parts) {
		return nil, &Error{"num_partitions", listOf(len(parts)), strconv.Itoa(len(dims)), "one for each of dims"}
	}
	ways := 1
	for _, n := range parts {
		if n <= 0 || n > maxRanks/ways {
			return nil, &Error{"num_partitions", strconv.Itoa(n), "a positive int", "that divides the ranks of the group"}
		}
		ways *= n
	}
	if ways != m.shape[meshDim] {
		return nil, &Error{"num_partitions", "[" + join(parts, ", ") + "]", fmt.Sprintf("a product of %d", m.shape[meshDim]), "the number of ranks in the group"}
	}
	if len(dims) == 0 {
		return Place(m, shape, make([]Placement, len(m.shape)))
	}
	cuts := make([]Placement, len(dims))
	for i, d := range dims {
		cuts[i] = Shard(d)
	}
	placements := slices.Replace(make([]Placement, len(m.shape)), meshDim, meshDim+1, cuts...)
	return Place(m.Split(meshDim, parts), shape, placements)
}

// with returns l with other placements, which are known to be right.
func (l *Placed) with(placements []Placement) *Placed {
	return newPlaced(l.mesh, l.shape, placements)
}

// Mesh returns the mesh that l places its tensor on.
func (l *Placed) Mesh() *Mesh { return l.mesh }

// Placements returns one for each dim of the mesh, with dims counted from the
// front.
func (l *Placed) Placements() []Placement { return l.placements }

// Summed reports whether the tensor is a sum or a mean of the ranks' terms.
func (l *Placed) Summed() bool { return l.summed }

func newPlaced(m *Mesh, shape []int, placements []Placement) *Placed {
	summed := slices.ContainsFunc(placements, func(p Placement) bool { return p.kind == partial && (p.op == Sum || p.op == Mean) })
	order, _ := CutOrder(m.shape, placements)
	return &Placed{m, shape, placements, order, summed}
}

// Shape returns the shape of the tensor. It is never nil.
func (l *Placed) Shape() []int { return l.shape }

// Ranks returns those of the mesh.
func (l *Placed) Ranks() []int { return l.mesh.ranks }

// Box returns the block that rank holds, if it is in the mesh.
func (l *Placed) Box(rank int) (b Box, ok bool) {
	pos, ok := l.mesh.positions[rank]
	if !ok {
		return Box{}, false
	}
	return l.box(pos), true
}

// Boxes returns the one block that rank holds, or none.
func (l *Placed) Boxes(rank int) []Box {
	if b, ok := l.Box(rank); ok {
		return []Box{b}
	}
	return nil
}

// LocalShape returns the sizes of what rank holds; nil if it is not in the
// mesh.
func (l *Placed) LocalShape(rank int) []int {
	b, ok := l.Box(rank)
	if !ok {
		return nil
	}
	return b.Shape()
}

// Even reports whether all ranks of the mesh hold blocks of one shape.
func (l *Placed) Even() bool {
	left := slices.Clone(l.shape)
	for i, p := range l.placements {
		if p.cuts() {
			if left[p.dim]%l.mesh.shape[i] != 0 || p.kind == ragged && left[p.dim] > 0 {
				return false
			}
			left[p.dim] /= l.mesh.shape[i]
		}
	}
	return true
}

// Offset returns where in the tensor begins what rank holds; nil if it is not
// in the mesh.
func (l *Placed) Offset(rank int) []int {
	b, _ := l.Box(rank)
	return b.Lo
}

// IsPartial reports whether the ranks hold summands.
func (l *Placed) IsPartial() bool {
	return slices.ContainsFunc(l.placements, func(p Placement) bool { return p.kind == partial })
}

// Equal reports whether l and o lay the same tensor out alike on equal meshes.
func (l *Placed) Equal(o *Placed) bool {
	return l == o || slices.Equal(l.placements, o.placements) && slices.Equal(l.shape, o.shape) && l.mesh.Equal(o.mesh)
}

// String returns the shape, the placements and the mesh:
// (7, 5) as [S(0), R] on (dp=2, tp=3).
func (l *Placed) String() string {
	return Tuple(l.shape) + " as " + List(l.placements) + " on " + l.mesh.Short()
}

// box returns the block at a position.
func (l *Placed) box(pos int) Box {
	b := newBox(len(l.shape))
	l.fill(b, pos)
	return b
}

// fill makes b, which begins at the origin, the block at a position.
func (l *Placed) fill(b Box, pos int) {
	copy(b.Hi, l.shape)
	for _, i := range l.order {
		d := l.placements[i].dim
		lo, hi := l.placements[i].Cut(b.Hi[d]-b.Lo[d], l.mesh.shape[i], l.mesh.index(pos, i))
		b.Lo[d], b.Hi[d] = b.Lo[d]+lo, b.Lo[d]+hi
	}
}

// at returns the rank's indices along the dims that cut, and along those that
// hold terms, each as one number.
func (l *Placed) at(rank int) (part, term int) {
	return l.atPosition(l.mesh.positions[rank])
}

func (l *Placed) atPosition(pos int) (part, term int) {
	for i, p := range l.placements {
		switch p.kind {
		case shard, strided, ragged:
			part = part*l.mesh.shape[i] + l.mesh.index(pos, i)
		case partial:
			term = term*l.mesh.shape[i] + l.mesh.index(pos, i)
		}
	}
	return part, term
}
