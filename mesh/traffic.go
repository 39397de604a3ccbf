package mesh

import (
	"cmp"
	"slices"
)

// What the ranks of a line send and receive when they go from one layout to another
// follows from intervals: a rank's box is one along each dim of the tensor, and which
// one depends on the rank's indices along the dims of the mesh that cut it, which are
// others for each dim. So what boxes have in common adds up dim by dim, and nobody has
// to compare each rank with each.

// A crowd is the ranks of a line in a layout.
type crowd struct {
	view   *view
	line   []int
	covers []cover // by dim of the tensor: what the ranks' boxes hold along it
	alike  int     // ranks that hold the same box
	terms  int     // of a sum, that ranks hold of the same box

	by, positions []int // of gather
}

// newCrowd returns the ranks at the positions of line, which is along dims of the mesh,
// in l, which they see as v.
func newCrowd(l *Placed, v *view, line, dims []int) *crowd {
	c := &crowd{}
	c.gather(l, v, line, dims, true)
	return c
}

// gather makes c what newCrowd returns, in the room that it has: with the indices of
// covers only if they are wanted.
func (c *crowd) gather(l *Placed, v *view, line, dims []int, indices bool) {
	c.view, c.line, c.alike, c.terms = v, line, 1, 1
	for _, i := range dims {
		switch p := l.placements[i]; {
		case p.cuts():
			continue
		case p.kind == partial:
			c.terms *= l.mesh.shape[i]
		}
		c.alike *= l.mesh.shape[i]
	}
	if c.covers == nil {
		c.covers = make([]cover, len(l.shape))
	}
	for d := range c.covers {
		c.by = c.by[:0]
		for _, i := range dims {
			if p := l.placements[i]; p.cuts() && p.dim == d {
				c.by = append(c.by, i)
			}
		}
		c.positions = l.mesh.lineIn(c.positions, line[0], c.by)
		var at []int
		if indices {
			at = amid(l, c.by, dims)
		}
		c.covers[d].gather(l.mesh, v, c.positions, d, at)
	}
}

// A cover is the elements that boxes hold along one dim, each once: intervals that are
// disjoint and ascend.
type cover struct {
	lo, hi []int
	before []int   // the elements of the intervals before
	at     [][]int // of each, the indices along the dims of the mesh that gather is given
}

// amid returns by, those of dims of the mesh that cut a dim of the tensor, if others of
// dims may lie between them in the order of ranks, or if they cut in another.
func amid(l *Placed, by, dims []int) []int {
	if len(by) <= 1 || len(by) == len(dims) && slices.IsSorted(l.order) {
		return nil
	}
	return by
}

// gather makes c what the boxes at positions, which are cut along dim d of the tensor
// and no other, hold along it, and the indices of each along dims of the mesh.
func (c *cover) gather(m *Mesh, v *view, positions []int, d int, dims []int) {
	if n := len(positions); cap(c.lo) < n {
		room := make([]int, 3*n)
		c.lo, c.hi, c.before = room[:0:n], room[n:n:2*n], room[2*n:2*n]
	}
	c.lo, c.hi, c.before, c.at = c.lo[:0], c.hi[:0], c.before[:0], nil
	sum := 0
	begin := func(a, b int) int { return cmp.Compare(v.boxes[a][0].Lo[d], v.boxes[b][0].Lo[d]) }
	if !slices.IsSortedFunc(positions, begin) {
		positions = slices.SortedStableFunc(slices.Values(positions), begin)
	}
	for _, pos := range positions {
		b := v.boxes[pos][0]
		if b.Lo[d] == b.Hi[d] {
			continue
		}
		c.lo, c.hi, c.before = append(c.lo, b.Lo[d]), append(c.hi, b.Hi[d]), append(c.before, sum)
		sum += b.Hi[d] - b.Lo[d]
		if len(dims) > 0 {
			at := make([]int, len(dims))
			for k, i := range dims {
				at[k] = m.index(pos, i)
			}
			c.at = append(c.at, at)
		}
	}
}

// within returns how many of the elements are in [lo, hi).
func (c *cover) within(lo, hi int) int { return c.below(hi) - c.below(lo) }

// below returns how many of the elements are less than x.
func (c *cover) below(x int) int {
	i, _ := slices.BinarySearch(c.lo, x)
	if i == 0 {
		return 0
	}
	return c.before[i-1] + min(x, c.hi[i-1]) - c.lo[i-1]
}

// held returns how many elements of box the ranks hold, each counted once.
func (c *crowd) held(box Box) int {
	n := 1
	for d := range c.covers {
		n *= c.covers[d].within(box.Lo[d], box.Hi[d])
	}
	return n
}

// box returns that of the rank at pos.
func (c *crowd) box(pos int) Box { return c.view.boxes[pos][0] }

// tally adds to sent and received what the ranks of from send each other to come to
// hold what they do in to. It reports false if they do not hold all that they need.
func (s *search) tally(from, to *crowd, sent, received []int) bool {
	for _, pos := range to.line {
		if box := to.box(pos); from.held(box) != box.Numel() {
			return false
		}
	}
	for _, pos := range to.line {
		have, need := from.box(pos), to.box(pos)
		own := have.overlap(need)
		received[pos] += (need.Numel()*from.terms - own) * s.itemSize
		if from.alike == from.terms { // no other rank has the same to give
			sent[pos] += (to.held(have)*to.alike - own) * s.itemSize
		}
	}
	if from.alike > from.terms {
		s.tallyHolders(from, to, sent)
	}
	return true
}

// A holding is a term of a part.
type holding struct{ part, term int }

// tallyHolders adds to sent what ranks send of which several hold the same: see
// Exchange for whom others ask.
func (s *search) tallyHolders(from, to *crowd, sent []int) {
	v := from.view
	holders := map[holding][]int{}
	var order []holding
	for _, pos := range from.line {
		if total(v.boxes[pos]) > 0 {
			h := holding{v.part[pos], v.term[pos]}
			if holders[h] == nil {
				order = append(order, h)
			}
			holders[h] = append(holders[h], pos)
		}
	}
	var needs []int // of each who asks for it, the elements
	for _, h := range order {
		box := from.box(holders[h][0])
		needs = needs[:0]
		for _, pos := range to.line {
			if v.part[pos] == h.part && v.term[pos] == h.term {
				continue
			}
			if n := box.overlap(to.box(pos)); n > 0 {
				needs = append(needs, n)
			}
		}
		for k, n := range needs {
			sent[holders[h][k*len(holders[h])/len(needs)]] += n * s.itemSize
		}
	}
}
