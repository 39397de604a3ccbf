package op

import (
	"tpsh/mesh"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// gatherRows is the rule of gather: dims of the index may be cut, together with
// those of x that are as large, and those of x.
func gatherRows(c *Call) []Row {
	s, is := c.In[0].Shape(), c.In[1].Shape()
	if len(s) != len(is) { // of an index without elements
		return nil
	}
	at, _ := c.Dim(0, s)
	var rows []Row
	for d := range s {
		cut := []mesh.Placement{mesh.Shard(d)}
		if d != at && s[d] == is[d] {
			rows = append(rows, Row{In: []mesh.Placement{cut[0], cut[0]}, Out: cut})
		}
		rows = append(rows, Row{In: []mesh.Placement{replicate, cut[0]}, Out: cut}, ownersRow(c, d))
	}
	return append(rows, carried(c, 0)...)
}

// A pointing says, for some elements of a rank's block of an index tensor,
// where they are in it, and where in the rank's block of In[0] they point to.
type pointing struct {
	index, to []int64
	places    [][]int // of each of these elements, its place in the whole index
}

// pointing returns which elements of the rank's block of the index tensor In[1]
// point along dim d of In[0] into the rank's block of that.
func (b *Blocks) pointing() (p pointing, err error) {
	d, list, err := b.indexed(b.whole(0))
	if err != nil {
		return p, err
	}
	block, _ := b.From[1].Box(b.Rank)
	box, _ := b.From[0].Box(b.Rank)
	strides, is := shape.Shape(box.Shape()).Strides(), b.X[1].Shape()
	for i, j := range list {
		place, to, inside := unravelled(i, is), 0, true
		for e := range place {
			place[e] += block.Lo[e]
			x := place[e]
			if e == d {
				x = j
			}
			inside = inside && x >= box.Lo[e] && x < box.Hi[e]
			to += (x - box.Lo[e]) * strides[e]
		}
		if inside {
			p.index, p.to, p.places = append(p.index, int64(i)), append(p.to, int64(to)), append(p.places, place)
		}
	}
	return p, nil
}

// unravelled returns the index of element at, in row-major order, of a tensor
// of shape s.
func unravelled(at int, s shape.Shape) []int {
	index := make([]int, len(s))
	for d := len(s) - 1; d >= 0; d-- {
		index[d], at = at%s[d], at/s[d]
	}
	return index
}

// flat returns x as a tensor of one dim.
func (t *Tape) flat(x *tensor.Tensor) *tensor.Tensor {
	return t.Reshape(x, shape.Shape{x.Numel()})
}

func gatherLocal(b *Blocks) ([]*tensor.Tensor, error) {
	p, err := b.pointing()
	if err != nil {
		return nil, err
	}
	part := b.T.indexSelect(b.T.flat(b.X[0]), 0, b.ints(p.to))
	y := b.T.flat(b.zeros(0))
	y = b.T.Do("index_copy", []*tensor.Tensor{y, b.ints(p.index), part}, Int1(0))
	return one(b.T.Reshape(y, b.OutShape(0))), nil
}

// scatterAddRows is the rule of scatter_add: dims that are the same in x, the
// index and src may be cut; those of x; and those of index, whose parts then
// add to parts of the result.
func scatterAddRows(c *Call) []Row {
	s, is, ss := c.In[0].Shape(), c.In[1].Shape(), c.In[2].Shape()
	at, _ := c.Dim(0, s)
	var rows []Row
	for d := range s {
		cut := mesh.Shard(d)
		if d != at && s[d] == is[d] && s[d] == ss[d] {
			rows = append(rows, Row{In: []mesh.Placement{cut, cut, cut}, Out: []mesh.Placement{cut}})
		}
		rows = append(rows, cutting(c, d, d))
		parts := Row{In: []mesh.Placement{summands, cut, replicate}, Out: []mesh.Placement{summands}}
		if is[d] == ss[d] {
			parts.In[2] = cut
		}
		rows = append(rows, parts)
	}
	return append(rows, togetherIn(c, []int{0, 2}, mesh.Sum, mesh.Mean)...)
}

func scatterAddLocal(b *Blocks) ([]*tensor.Tensor, error) {
	p, err := b.pointing()
	if err != nil {
		return nil, err
	}
	box, _ := b.From[2].Box(b.Rank)
	strides, from := shape.Shape(box.Shape()).Strides(), make([]int64, len(p.places))
	for i, place := range p.places {
		for e, x := range place {
			from[i] += int64((x - box.Lo[e]) * strides[e])
		}
	}
	part := b.T.indexSelect(b.T.flat(b.X[2]), 0, b.ints(from))
	y := b.T.Do("scatter_add", []*tensor.Tensor{b.T.flat(b.X[0]), b.ints(p.to), part}, Int1(0))
	return one(b.T.Reshape(y, b.OutShape(0))), nil
}

// alongAligned reports whether the blocks of x and of the index fit together:
// where a dim of both is cut by one dim of the mesh, it is cut alike by all.
func alongAligned(c *Call, from, to []*mesh.Placed) bool {
	x, index := from[0].Placements(), from[1].Placements()
	together, apart := map[int]bool{}, map[int]bool{}
	for k := range x {
		d, cut := x[k].Shard()
		e, cutIndex := index[k].Shard()
		if cut && cutIndex && d == e {
			together[d] = true
			continue
		}
		if cut {
			apart[d] = true
		}
		if cutIndex {
			apart[e] = true
		}
	}
	for d := range together {
		if apart[d] {
			return false
		}
	}
	return true
}
