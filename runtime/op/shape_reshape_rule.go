package op

import (
	"tpsh/mesh"
	"tpsh/runtime/shape"
)

// A dimGroup is a run of dims of a tensor and the run of dims of its reshaped
// form that hold the same elements: as few of both as possible.
type dimGroup struct {
	in, out int // the first dim of each run whose size is not 1
}

// reshapeGroups returns the groups of a reshape from shape a to shape b that
// hold a dim whose size is not 1. Of a tensor without elements these are only
// the dims in front that stay.
func reshapeGroups(a, b shape.Shape) []dimGroup {
	var groups []dimGroup
	if a.Numel() == 0 {
		for d := 0; d < min(len(a), len(b)) && a[d] == b[d]; d++ {
			groups = append(groups, dimGroup{d, d})
		}
		return groups
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == 1:
			i++
			continue
		case b[j] == 1:
			j++
			continue
		}
		groups = append(groups, dimGroup{i, j})
		n, m := a[i], b[j]
		for i, j = i+1, j+1; n != m; {
			if n < m {
				n, i = n*a[i], i+1
			} else {
				m, j = m*b[j], j+1
			}
		}
	}
	return groups
}

// reshapeRows is the rule of reshape and its kind: the first dim of each group
// may be cut. So may a dim of size 1, of which one rank holds all and the others
// nothing, if the result has a dim of size 1 that can be cut instead.
func reshapeRows(c *Call) []Row {
	var rows []Row
	a, b := c.In[0].Shape(), c.Spec[0].Shape
	for _, g := range reshapeGroups(a, b) {
		rows = append(rows, cutting(c, g.in, g.out))
	}
	for d, o := range matchedOnes(a, b) {
		if o >= 0 {
			rows = append(rows, cutting(c, d, o))
		}
	}
	return append(rows, carried(c, 0)...)
}

// matchedOnes returns, for each dim of size 1 of a, the dim of size 1 of b that is
// likest to it: as many elements and dims of size 1 lie before it, or as many
// elements, or else it is the first. It is -1 for other dims of a, and where b has
// none.
func matchedOnes(a, b shape.Shape) []int {
	match := make([]int, len(a))
	for d, n := range a {
		match[d] = -1
		if n != 1 {
			continue
		}
		like := -1
		for o, m := range b {
			if m != 1 {
				continue
			}
			if l := likeness(a[:d], b[:o]); l > like {
				match[d], like = o, l
			}
		}
	}
	return match
}

// likeness says how much alike two dims of size 1 are that a and b stand before.
func likeness(a, b shape.Shape) int {
	switch {
	case a.Numel() != b.Numel():
		return 0
	case onesAtEnd(a) != onesAtEnd(b):
		return 1
	}
	return 2
}

// onesAtEnd returns how many dims of size 1 s ends with.
func onesAtEnd(s shape.Shape) int {
	n := 0
	for n < len(s) && s[len(s)-1-n] == 1 {
		n++
	}
	return n
}

// reshapeAligned reports whether each rank's block of a reshaped tensor is its
// block of the result: of each group, whose first dims alone are cut, it holds
// the same elements of both.
func reshapeAligned(c *Call, from, to []*mesh.Placed) bool {
	a, b := c.In[0].Shape(), c.Spec[0].Shape
	if a.Numel() == 0 {
		return true
	}
	groups := reshapeGroups(a, b)
	as, bs := a.Strides(), b.Strides()
	for _, rank := range from[0].Ranks() {
		x, _ := from[0].Box(rank)
		y, _ := to[0].Box(rank)
		switch {
		case x.Numel() != y.Numel():
			return false
		case x.Numel() == 0:
			continue
		}
		for _, g := range groups {
			if x.Lo[g.in]*as[g.in] != y.Lo[g.out]*bs[g.out] || x.Hi[g.in]*as[g.in] != y.Hi[g.out]*bs[g.out] {
				return false
			}
		}
	}
	return true
}

// reflow is the exchange of a reshape whose blocks are not blocks of the result,
// but whose input is cut along its outermost dim alone: in row-major order each
// rank holds a range of the elements, and so it does of the result, cut along its
// outermost dim.
var reflow = &Exchange{To: flowsTo, Parts: func(_ *Call, from, to *mesh.Placed, ranks []int) (src, dst mesh.Layout, err error) {
	if src, err = rangesOf(from, ranks); err != nil {
		return nil, nil, err
	}
	dst, err = rangesOf(to, ranks)
	return src, dst, err
}}

// flowsTo cuts the result along its outermost dim, if the input is cut along its
// outermost dim alone, and by something.
func flowsTo(c *Call, from *mesh.Placed) []mesh.Placement {
	s := c.Spec[0].Shape
	to, cut := make([]mesh.Placement, len(from.Placements())), false
	for i, p := range from.Placements() {
		d, sharded := p.Shard()
		if sharded && d != outermost(from.Shape()) || !sharded && !p.IsReplicate() {
			return nil
		}
		if sharded {
			to[i], cut = mesh.Shard(outermost(s)), true
		}
	}
	if !cut || len(s) == 0 {
		return nil
	}
	return to
}

// outermost returns the first dim of more than one element, or 0.
func outermost(s shape.Shape) int {
	for d, n := range s {
		if n != 1 {
			return d
		}
	}
	return 0
}

// rangesOf returns, as a layout of the elements in row-major order, which range of
// them each of ranks holds of a tensor that is cut along its outermost dim alone.
func rangesOf(l *mesh.Placed, ranks []int) (*mesh.Flat, error) {
	s := shape.Shape(l.Shape())
	d := outermost(s)
	inner := s[d+1:].Numel()
	ranges := make([][]mesh.Range, len(ranks))
	for i, r := range ranks {
		box, _ := l.Box(r)
		ranges[i] = []mesh.Range{{Lo: box.Lo[d] * inner, Hi: box.Hi[d] * inner}}
	}
	return mesh.NewFlat([]int{s.Numel()}, ranks, ranges)
}
