package mesh

import (
	"cmp"
	"slices"
)

// An index finds the boxes of sources that have elements in common with a box, without
// looking at all of them: along the dim in which most of them begin elsewhere.
type index struct {
	dim     int
	entries []entry
	reach   []int // the greatest end along dim of an entry and those before it
	found   []int // of a search: entries, in the order of their sources
}

// An entry is a box of a source.
type entry struct {
	*source
	order, box int // which of the sources, and of its boxes
	lo         int
}

// newIndex returns the index of the boxes of sources.
func newIndex(sources []*source) *index {
	x := &index{dim: widest(sources)}
	for i, s := range sources {
		for k := range s.boxes {
			x.entries = append(x.entries, entry{s, i, k, x.end(s.boxes[k].Lo)})
		}
	}
	slices.SortStableFunc(x.entries, func(a, b entry) int { return cmp.Compare(a.lo, b.lo) })
	x.reach = make([]int, len(x.entries))
	for i, e := range x.entries {
		x.reach[i] = x.end(e.boxes[e.box].Hi)
		if i > 0 {
			x.reach[i] = max(x.reach[i], x.reach[i-1])
		}
	}
	return x
}

// widest returns the dim in which the boxes of sources have the most beginnings.
func widest(sources []*source) (dim int) {
	most := 0
	for d := 0; len(sources) > 0 && d < len(sources[0].boxes[0].Lo); d++ {
		begins := map[int]bool{}
		for _, s := range sources {
			for k := range s.boxes {
				begins[s.boxes[k].Lo[d]] = true
			}
		}
		if len(begins) > most {
			most, dim = len(begins), d
		}
	}
	return dim
}

// end returns that of edges along the index's dim; of a tensor of no dims 0.
func (x *index) end(edges []int) int {
	if len(edges) == 0 {
		return 0
	}
	return edges[x.dim]
}

// near returns the entries that have something in common with box, in the order of their
// sources. The next search overwrites them.
func (x *index) near(box Box) []int {
	x.found = x.found[:0]
	last, scalar := x.end(box.Hi), len(box.Hi) == 0
	first := x.end(box.Lo)
	n, _ := slices.BinarySearchFunc(x.entries, last, func(e entry, last int) int { return cmp.Compare(e.lo, last) })
	if scalar {
		n = len(x.entries)
	}
	for i := n - 1; i >= 0 && (scalar || x.reach[i] > first); i-- {
		if e := &x.entries[i]; e.boxes[e.box].overlap(box) > 0 {
			x.found = append(x.found, i)
		}
	}
	slices.SortFunc(x.found, func(i, j int) int {
		a, b := &x.entries[i], &x.entries[j]
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.box, b.box))
	})
	return x.found
}

// cut cuts boxes into what they have in common with each of the sources. It reports
// false if that is not all of them.
func (x *index) cut(boxes []Box) (pieces []Piece, origins []*source, ok bool) {
	missing := total(boxes)
	for j, box := range boxes {
		for _, i := range x.near(box) {
			e := &x.entries[i]
			if !e.complete {
				continue
			}
			common, _ := e.boxes[e.box].Intersect(box)
			missing -= common.Numel()
			pieces = append(pieces, Piece{Box: common, SrcBox: e.box, DstBox: j})
			origins = append(origins, e.source)
		}
	}
	return pieces, origins, missing == 0
}
