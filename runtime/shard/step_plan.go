package shard

import (
	"tpsh/comm"
	"tpsh/mesh"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A stepPlan is a step of a plan as one rank carries it out: a call on a group, and
// which subblocks of the rank's blocks its members exchange.
type stepPlan struct {
	name   string // of the operation, for the contract and traces
	detail string // of the tensor moved, for the contract
	back   string // detail while gradients are computed
	kind   comm.Kind
	reduce string // of a reduction
	group  *comm.Group
	whole  shape.Shape // of the tensor
	want   shape.Shape // of the rank's block after
	mesh   *mesh.Mesh  // whose notes the call compares; nil for none

	// By member: the part it gets of my block, and where the part I get of its block
	// goes in mine. Of AllReduce they are nil, as are send of AllGather, which is the whole
	// block, and recv of ReduceScatter.
	send, recv []*subBlock

	// Of an exchange: the elements that each member sends to others. Ranks that have as much
	// to give away or to keep, in the same order, may be told apart by which of it
	// they keep: the one whose place they have.
	sent  []int
	bytes map[int][]int // sent in bytes, by the size of an element

	// Of an exchange that adds terms: the members whose subblocks make up each piece
	// of my block, in the order they are added; recv then says where they go
	// before that.
	pieces [][]int
}

// A subBlock is a box of a contiguous block, as a comm.Block sees it in elements.
type subBlock struct {
	box                        mesh.Box // empty for no elements
	elems                      int      // in the box, which is nothing if there are none
	strided                    bool     // the other fields describe it
	rows, width, pitch, offset int
}

// subBlockOf returns the subBlock of box in a contiguous block of shape s.
func subBlockOf(box mesh.Box, s shape.Shape) subBlock {
	if box.Numel() == 0 {
		return subBlock{strided: true}
	}
	a := subBlock{box: box, elems: box.Numel(), strided: true, rows: 1}
	strides := s.Strides()
	for d, lo := range box.Lo {
		a.offset += lo * strides[d]
	}
	d := len(s) - 1
	a.width = 1
	for full := true; full && d >= 0; d-- {
		n := box.Hi[d] - box.Lo[d]
		a.width, full = n*a.width, n == s[d]
	}
	a.pitch = a.width
	for ; d >= 0; d-- {
		switch n := box.Hi[d] - box.Lo[d]; {
		case n == 1:
		case a.rows == 1:
			a.rows, a.pitch = n, strides[d]
		case a.rows*a.pitch == strides[d]:
			a.rows *= n
		default:
			a.strided = false
		}
	}
	return a
}

// block returns a of the contiguous tensor x as package comm sees it; not ok if
// it can't.
func (a *subBlock) block(x *tensor.Tensor) (b comm.Block, ok bool) {
	if !a.strided || a.elems == 0 {
		return comm.Block{}, a.strided
	}
	size := x.DType().Size()
	return comm.Block{Data: x.Bytes()[a.offset*size:], Rows: a.rows, Width: a.width * size, Pitch: a.pitch * size}, true
}

// stepPlan returns the stepPlan of s, made when it is first asked for.
func (e *Engine) stepPlan(s *mesh.Step) (*stepPlan, error) {
	if p := e.stepPlans[s]; p != nil {
		return p, nil
	}
	group, err := e.host.LineGroup(s.Src.Mesh(), s.Dims...)
	if err != nil {
		return nil, err
	}
	if e.host.Alike() && !simple(s) {
		e.host.Part(s.Src.Mesh(), mesh.NewSizer(s).Of)
	}
	p := planStep(s, e.host.Self())
	p.group = group
	if len(e.stepPlans) >= maxDecisions {
		clear(e.stepPlans)
	}
	e.stepPlans[s] = p
	return p, nil
}

// simple reports whether s moves as much on all ranks, at a glance.
func simple(s *mesh.Step) bool {
	if !s.Src.Even() || !s.Dst.Even() {
		return false
	}
	return s.Op == mesh.AllReduce || s.Op != mesh.Direct && s.Src.Mesh().NDim() == 1
}

// planStep returns the stepPlan of s of a rank, without the group.
func planStep(s *mesh.Step, me int) *stepPlan {
	want, _ := s.Dst.Box(me)
	p := &stepPlan{name: s.Op.String(), detail: mesh.List(s.Src.Placements()) + " to " + mesh.List(s.Dst.Placements()),
		whole: s.Src.Shape(), want: want.Shape(), mesh: s.Src.Mesh()}
	p.back = p.detail + " " + comm.InBackward
	ranks := s.Group(me)
	if red, ok := s.Reduces(); ok {
		p.reduce = red.String()
	}
	switch s.Op {
	case mesh.AllReduce:
		p.kind = comm.AllReduce
	case mesh.ReduceScatter:
		p.kind = comm.ReduceScatter
		p.send = overlaps(s.Src, me, s.Dst, ranks)
	case mesh.AllGather:
		p.kind = comm.AllGather
		p.recv = overlaps(s.Dst, me, s.Src, ranks)
	case mesh.AllToAll:
		p.kind = comm.AllToAll
		p.send, p.recv = overlaps(s.Src, me, s.Dst, ranks), overlaps(s.Dst, me, s.Src, ranks)
	default:
		p.kind = comm.AllToAll
		p.exchange(s.Exchange(me), s.Src, s.Dst, me)
	}
	return p
}

// overlaps returns which parts of the block that I have by mine each of the ranks has by theirs.
func overlaps(mine *mesh.Placed, me int, theirs *mesh.Placed, ranks []int) []*subBlock {
	list := make([]*subBlock, len(ranks))
	base, _ := mine.Box(me)
	for i, other := range ranks {
		box, _ := theirs.Box(other)
		list[i] = common(base, box)
	}
	return list
}

// common returns the subBlock, in the block that holds base, of the elements that it has in common
// with box.
func common(base, box mesh.Box) *subBlock {
	both, some := base.Intersect(box)
	if !some {
		return &noSubBlock
	}
	return subBlockWithin(both, base)
}

// subBlockWithin returns the subBlock of box in the block that holds base.
func subBlockWithin(box, base mesh.Box) *subBlock {
	a := subBlockOf(relative(box, base), base.Shape())
	return &a
}

// exchange has each member get the boxes that x says.
func (p *stepPlan) exchange(x *mesh.Exchange, src, dst mesh.Layout, me int) {
	n := len(x.Ranks())
	p.send, p.recv, p.sent = noSubBlocks(n), noSubBlocks(n), x.Sent()
	have, want := boxOf(src, me), boxOf(dst, me)
	place := func(rank int) int { i, _ := x.Place(rank); return i }
	for _, s := range x.Sends(me) {
		p.send[place(s.To)] = subBlockWithin(s.Box, have)
	}
	for _, piece := range x.Pieces(me) {
		from := make([]int, len(piece.From))
		for i, rank := range piece.From {
			from[i] = place(rank)
			p.recv[from[i]] = subBlockWithin(piece.Box, want)
			if rank == me {
				p.send[from[i]] = subBlockWithin(piece.Box, have)
			}
		}
		if len(from) > 1 {
			p.pieces = append(p.pieces, from)
		}
	}
}

// noSubBlock is that of no elements: most members of a large group exchange nothing.
var noSubBlock = subBlock{strided: true}

// noSubBlocks returns those of n members that get nothing.
func noSubBlocks(n int) []*subBlock {
	list := make([]*subBlock, n)
	for i := range list {
		list[i] = &noSubBlock
	}
	return list
}

// boxOf returns the one box that rank holds, or an empty one.
func boxOf(l mesh.Layout, rank int) mesh.Box {
	if boxes := l.Boxes(rank); len(boxes) == 1 {
		return boxes[0]
	}
	zero := make([]int, max(1, len(l.Shape())))
	return mesh.Box{Lo: zero, Hi: zero}
}
