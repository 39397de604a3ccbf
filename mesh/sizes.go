package mesh

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// A Sizer tells apart ranks by the sizes of what they hold and exchange: what it says
// of two ranks is equal if each holds, sends and receives as large boxes as the other,
// in the same order of the ranks that they go to and come from. Which ranks these are
// it does not say. It keeps what it has found out.
type Sizer struct {
	step      *Step
	src, dst  *view
	exchanges map[int]*Exchange // by the first position of a line
	crowds    map[int]*[2]crowdSizes
}

// NewSizer returns the Sizer of s.
func NewSizer(s *Step) *Sizer {
	return &Sizer{step: s, src: s.Src.view(), dst: s.Dst.view(), exchanges: map[int]*Exchange{}, crowds: map[int]*[2]crowdSizes{}}
}

// Of returns what tells rank, which is of the mesh, apart.
func (z *Sizer) Of(rank int) string {
	m := z.step.Src.mesh
	pos := m.positions[rank]
	have, want := z.src.boxes[pos][0], z.dst.boxes[pos][0]
	b := appendShape(appendShape(nil, have), want)
	first := m.LineStart(pos, z.step.Dims...)
	switch z.step.Op {
	case AllReduce:
		return string(b)
	case Direct:
		if z.exchanges[first] == nil {
			z.exchanges[first] = z.step.Exchange(rank)
		}
		return string(b) + z.exchanges[first].Sizes(rank)
	}
	if z.crowds[first] == nil {
		line := m.line(first, z.step.Dims)
		z.crowds[first] = &[2]crowdSizes{{crowd: newCrowd(z.step.Src, z.src, line, z.step.Dims)}, {crowd: newCrowd(z.step.Dst, z.dst, line, z.step.Dims)}}
	}
	c := z.crowds[first]
	return string(c[0].append(c[1].append(b, have), want))
}

// appendShape appends the sizes of box, of which there are as many for all ranks.
func appendShape(b []byte, box Box) []byte {
	for d := range box.Lo {
		b = binary.AppendUvarint(b, uint64(box.Hi[d]-box.Lo[d]))
	}
	return b
}

// appendText appends text so that what follows it cannot be taken for a part of it.
func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// crowdSizes are what boxes have in common with those of the ranks of a line.
type crowdSizes struct {
	*crowd
	known map[[3]int]string // by dim of the tensor, and the edges of a box along it
}

// append appends, of each rank whose box has something in common with box, how much
// that is.
func (c *crowdSizes) append(b []byte, box Box) []byte {
	if c.known == nil {
		c.known = map[[3]int]string{}
	}
	start := len(b)
	for d := range c.covers {
		key := [3]int{d, box.Lo[d], box.Hi[d]}
		text, ok := c.known[key]
		if !ok {
			text = c.covers[d].sizes(box.Lo[d], box.Hi[d])
			c.known[key] = text
		}
		if text == "" { // nothing along one dim is nothing
			return append(b[:start], 0)
		}
		b = appendText(b, text)
	}
	return b
}

// sizes returns how much of [lo, hi) each interval has that has any, and where they have
// indices, at which of those that are among them.
func (c *cover) sizes(lo, hi int) string {
	if lo == hi {
		return ""
	}
	first, _ := slices.BinarySearch(c.lo, lo)
	if first > 0 && c.hi[first-1] > lo {
		first--
	}
	last, _ := slices.BinarySearch(c.lo, hi)
	var b []byte
	size, run := 0, 0
	for i := first; i < last; i++ {
		n := min(c.hi[i], hi) - max(c.lo[i], lo)
		if n != size {
			b = appendRun(b, size, run)
			size, run = n, 0
		}
		run++
	}
	b = appendRun(b, size, run)
	if c.at != nil && last > first {
		b = appendPattern(b, c.at[first:last])
	}
	return string(b)
}

// appendRun appends that run boxes have a size.
func appendRun(b []byte, size, run int) []byte {
	if run == 0 {
		return b
	}
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(size)), uint64(run))
}

// appendPattern appends indices along each dim, counted among those that there are.
func appendPattern(b []byte, at [][]int) []byte {
	for k := range at[0] {
		column := make([]int, len(at))
		for i := range at {
			column[i] = at[i][k]
		}
		sorted := slices.Compact(slices.Sorted(slices.Values(column)))
		for _, v := range column {
			i, _ := slices.BinarySearch(sorted, v)
			b = binary.AppendUvarint(b, uint64(i))
		}
	}
	return b
}

// Sizes returns what a Sizer says of what rank sends and receives.
func (x *Exchange) Sizes(rank int) string {
	me, ok := x.places[rank]
	if !ok {
		return ""
	}
	var sent, got []sized
	for _, s := range x.sends[me] {
		sent = append(sent, sized{place: x.places[s.To], box: s.Box})
	}
	for i, p := range x.pieces[me] {
		for _, from := range p.From {
			place, piece := x.places[from], 0
			if len(p.From) > 1 {
				piece = i + 1
			}
			got = append(got, sized{place, piece, p.Box})
			if place == me {
				sent = append(sent, sized{place: me, box: p.Box})
			}
		}
	}
	return string(appendSized(appendText(nil, appendSized(nil, sent)), got))
}

// A sized is a box that goes to, or comes from, a place.
type sized struct {
	place, piece int // piece: of several terms the number, from 1
	box          Box
}

// appendSized appends the sizes of list in the order of places, runs of equal ones once.
func appendSized(b []byte, list []sized) []byte {
	slices.SortStableFunc(list, func(a, b sized) int { return cmp.Compare(a.place, b.place) })
	var last []byte
	run := 0
	for i := 0; i <= len(list); i++ {
		var text []byte
		if i < len(list) {
			text = appendShape(binary.AppendUvarint(nil, uint64(list[i].piece)), list[i].box)
		}
		if i > 0 && !slices.Equal(text, last) {
			b = append(binary.AppendUvarint(b, uint64(run)), last...)
			run = 0
		}
		last, run = text, run+1
	}
	return b
}
