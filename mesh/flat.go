package mesh

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// A Range is the elements [Lo, Hi) of a tensor in row-major order.
type Range struct{ Lo, Hi int }

// Flat is the Layout of a tensor of which each rank stores some ranges of the
// elements in row-major order, one after another in one dim.
type Flat struct {
	shape  []int
	ranks  []int
	ranges [][]Range // by place in ranks
	places map[int]int
}

// NewFlat returns the layout in which ranks[k] stores ranges[k], in that order.
// It returns an *Error unless there are ranges for each rank and together they
// hold each element of a tensor of the shape once.
func NewFlat(shape, ranks []int, ranges [][]Range) (*Flat, error) {
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	if len(ranges) != len(ranks) {
		return nil, rangesError(listOf(len(ranges)), strconv.Itoa(len(ranks)), "one list for each rank of the group")
	}
	if err := checkRanges(shape, ranges); err != nil {
		return nil, err
	}
	f := &Flat{slices.Clone(shape), slices.Clone(ranks), make([][]Range, len(ranges)), make(map[int]int, len(ranks))}
	for i, r := range ranks {
		if _, twice := f.places[r]; twice {
			return nil, &Error{"ranks", fmt.Sprintf("rank %d twice", r), "every rank at most once", ""}
		}
		f.places[r] = i
		f.ranges[i] = slices.Clone(ranges[i])
	}
	return f, nil
}

// rangesError is an Error about ranges, under their name in scripts.
func rangesError(got, want, rule string) error {
	return &Error{"unsharded_flattened_offsets", got, want, rule}
}

// checkRanges returns an error unless ranges hold each element once.
func checkRanges(shape []int, ranges [][]Range) error {
	n, held := numel(shape), 0
	var all []Range
	for _, list := range ranges {
		for _, r := range list {
			if r.Lo < 0 || r.Lo > r.Hi || r.Hi > n {
				return rangesError(r.String(), fmt.Sprintf("a start and an end in order within 0..%d", n), "shape "+Tuple(shape))
			}
			if r.Lo < r.Hi {
				all = append(all, r)
			}
			held += r.Hi - r.Lo
		}
	}
	if held != n {
		return rangesError(fmt.Sprintf("ranges of %d elements", held), strconv.Itoa(n), "shape "+Tuple(shape))
	}
	slices.SortFunc(all, func(a, b Range) int { return cmp.Compare(a.Lo, b.Lo) })
	for i := 1; i < len(all); i++ {
		if all[i-1].Hi > all[i].Lo {
			return rangesError(fmt.Sprintf("%v and %v", all[i-1], all[i]), "ranges without a common element", "")
		}
	}
	return nil
}

// EvenRanges cuts n elements into parts Blocks, one for each rank.
func EvenRanges(n, parts int) [][]Range {
	ranges := make([][]Range, parts)
	for i := range ranges {
		lo, hi := Block(n, parts, i)
		ranges[i] = []Range{{lo, hi}}
	}
	return ranges
}

// String returns r as a script writes it: (0, 3).
func (r Range) String() string { return Tuple([]int{r.Lo, r.Hi}) }

// String returns the shape and the ranks: (2, 4) in ranges on ranks 0-2.
func (f *Flat) String() string { return Tuple(f.shape) + " in ranges on ranks " + rankRanges(f.ranks) }

// Shape returns the shape of the tensor.
func (f *Flat) Shape() []int { return f.shape }

// Ranks returns those that store the tensor, in the order of their ranges.
func (f *Flat) Ranks() []int { return f.ranks }

// Ranges returns what rank stores, in the order stored.
func (f *Flat) Ranges(rank int) []Range {
	if i, ok := f.places[rank]; ok {
		return f.ranges[i]
	}
	return nil
}

// Numel returns the number of elements that rank stores.
func (f *Flat) Numel(rank int) int {
	n := 0
	for _, r := range f.Ranges(rank) {
		n += r.Hi - r.Lo
	}
	return n
}

// Boxes returns the boxes that the ranges of rank consist of, in the order
// stored: at most 2n-1 for a range of a tensor of n dims.
func (f *Flat) Boxes(rank int) []Box {
	var boxes []Box
	for _, r := range f.Ranges(rank) {
		boxes = appendRange(boxes, nil, f.shape, r)
	}
	return boxes
}

// at gives each rank a part of its own.
func (f *Flat) at(rank int) (part, term int) { return f.places[rank], 0 }

// appendRange appends the boxes of range r of a tensor whose first dims are
// held at outer and whose others have the sizes shape: what r has of its first
// row, the whole rows, and what it has of its last row.
func appendRange(boxes []Box, outer, shape []int, r Range) []Box {
	if r.Lo == r.Hi {
		return boxes
	}
	if len(shape) == 0 {
		return append(boxes, boxAt(outer, 0, 1, nil))
	}
	row := numel(shape[1:])
	first, whole := r.Lo/row, r.Hi/row // the row it begins in, and the one that it does not fill
	if start := first * row; start < r.Lo {
		inner := Range{r.Lo - start, min(r.Hi-start, row)}
		boxes = appendRange(boxes, append(slices.Clip(outer), first), shape[1:], inner)
		first++
	}
	if first < whole {
		boxes = append(boxes, boxAt(outer, first, whole, shape))
	}
	if start := whole * row; first <= whole && start < r.Hi {
		inner := Range{max(r.Lo-start, 0), r.Hi - start}
		boxes = appendRange(boxes, append(slices.Clip(outer), whole), shape[1:], inner)
	}
	return boxes
}

// boxAt returns the box of one element along the outer dims, [lo, hi) along the
// next, and all of the others.
func boxAt(outer []int, lo, hi int, shape []int) Box {
	b := newBox(len(outer) + len(shape))
	for d, i := range outer {
		b.Lo[d], b.Hi[d] = i, i+1
	}
	if len(shape) > 0 {
		n := len(outer)
		b.Lo[n], b.Hi[n] = lo, hi
		copy(b.Hi[n+1:], shape[1:])
	}
	return b
}
