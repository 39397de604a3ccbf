package op

import (
	"tpsh/mesh"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Rules of the operators that index. Every rank of a dim that is cut has all
// the indices and looks at those of its own block: what it takes of the others
// is zero, and so the ranks' results add up to the whole.

// held returns those of the indices at that lie in [lo, hi), counted from lo,
// and their places among at.
func held(at []int, lo, hi int) (local, places []int64) {
	for i, j := range at {
		if j >= lo && j < hi {
			local, places = append(local, int64(j-lo)), append(places, int64(i))
		}
	}
	return local, places
}

// ints returns a tensor of the given elements.
func (b *Blocks) ints(elems []int64) *tensor.Tensor { return b.T.ints(b.Ctx, elems) }

// take returns what the rank holds of input i at the indices at of dim d of the
// whole, and zeros for the rest.
func (b *Blocks) take(i, d int, at []int) *tensor.Tensor {
	x := b.X[i]
	lo, hi := b.Span(i, d)
	local, places := held(at, lo, hi)
	part := b.T.indexSelect(x, d, b.ints(local))
	if len(local) == len(at) {
		return part
	}
	s := append(shape.Shape{}, x.Shape()...)
	s[d] = len(at)
	return b.T.Do("index_copy", []*tensor.Tensor{b.T.Zeros(x.DType(), s), b.ints(places), part}, Int1(d))
}

// indexSelectRows is the rule of index_select.
func indexSelectRows(c *Call) []Row {
	s := c.In[0].Shape()
	at, _ := c.Dim(0, s)
	var rows []Row
	for d := range s {
		if d != at {
			rows = append(rows, cutting(c, d, d))
		}
	}
	if c.In[1].Ndim() == 1 {
		rows = append(rows, Row{In: []mesh.Placement{replicate, mesh.Shard(0)}, Out: []mesh.Placement{mesh.Shard(at)}})
	}
	rows = append(rows, ownersRow(c, at))
	return append(rows, carried(c, 0)...)
}

// ownersRow returns the row of an operator that takes elements of In[0] in
// which dim d of it is cut: each element of the result has one owner.
func ownersRow(c *Call, d int) Row {
	row := rowOf(c)
	row.In[0], row.Out[0] = mesh.Shard(d), oneOwner(c.In[0].DType())
	return row
}

func indexSelectLocal(b *Blocks) ([]*tensor.Tensor, error) {
	d, at, err := b.indexed(b.whole(0))
	if err != nil {
		return nil, err
	}
	return one(b.take(0, d, at)), nil
}

// indexed returns the dim that Args[0] names, of a tensor of shape s, and what
// the index tensor In[1] holds, both counted from the front.
func (b *Blocks) indexed(s shape.Shape) (d int, at []int, err error) {
	if d, err = b.Dim(0, s); err == nil {
		at, err = b.indices("index", b.X[1], d, s)
	}
	return d, at, err
}

// indexSpreadRows is the rule of index_spread: like says which dims of the
// result are cut, and may be cut anyhow where the result is summands.
func indexSpreadRows(c *Call) []Row {
	s := c.In[0].Shape()
	at, _ := c.Dim(0, s)
	var rows []Row
	for d := range s {
		if d != at {
			row := cutting(c, d, d)
			row.In[2] = mesh.Shard(d)
			rows = append(rows, row)
		}
	}
	if c.In[2] != nil {
		rows = append(rows, Row{In: []mesh.Placement{replicate, replicate, mesh.Shard(at)}, Out: []mesh.Placement{mesh.Shard(at)}})
	}
	if c.In[1].Ndim() == 1 {
		parts := Row{In: []mesh.Placement{mesh.Shard(at), mesh.Shard(0), replicate}, Out: []mesh.Placement{summands}}
		rows = append(rows, anyLike(c, 2, parts)...)
	}
	for _, row := range separately(c, 0) {
		rows = append(rows, anyLike(c, 2, row)...)
	}
	return rows
}

// anyLike returns row once for each placement of input i that a tensor can have
// of which nothing is read; once if there is no such input.
func anyLike(c *Call, i int, row Row) []Row {
	rows := []Row{row}
	if c.In[i] == nil {
		return rows
	}
	for d := range c.In[i].Shape() {
		other := Row{In: append([]mesh.Placement{}, row.In...), Out: row.Out}
		other.In[i] = mesh.Shard(d)
		rows = append(rows, other)
	}
	return rows
}

// like returns x for an operator that makes its result as x is cut; nil if it
// is not.
func (t *Tape) like(x *tensor.Tensor) *tensor.Tensor {
	if !x.Placed() || x.Layout().IsPartial() {
		return nil
	}
	return x
}

func indexSpreadLocal(b *Blocks) ([]*tensor.Tensor, error) {
	d, at, err := b.indexed(b.Spec[0].Shape)
	if err != nil {
		return nil, err
	}
	lo, hi := b.OutSpan(0, d)
	local, places := held(at, lo, hi)
	src := b.X[0]
	if len(local) < len(at) {
		src = b.T.indexSelect(src, d, b.ints(places))
	}
	return one(b.T.indexSpread(src, d, hi-lo, b.ints(local), nil)), nil
}

// indexCopyRows is the rule of index_copy.
func indexCopyRows(c *Call) []Row {
	at, region, _ := inferIndexed(c, c.In[1])
	var rows []Row
	for d := range region {
		row := cutting(c, d, d)
		if d != at {
			row.In[2] = alongBroadcast(c.In[2].Shape(), region, d)
		}
		rows = append(rows, row)
	}
	return append(rows, carried(c, 0, 2)...)
}

func indexCopyLocal(b *Blocks) ([]*tensor.Tensor, error) {
	s := b.whole(0)
	d, at, err := b.indexed(s)
	if err != nil {
		return nil, err
	}
	lo, hi := b.Span(0, d)
	local, places := held(at, lo, hi)
	src := b.X[2]
	if e := d - (len(s) - src.Ndim()); e >= 0 && src.Shape()[e] == len(at) && len(local) < len(at) {
		src = b.T.indexSelect(src, e, b.ints(places))
	}
	return one(b.T.Do("index_copy", []*tensor.Tensor{b.X[0], b.ints(local), src}, Int1(d))), nil
}
