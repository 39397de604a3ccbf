package op

import (
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// indexRows is the rule of index with an index tensor. A mask's result has a
// shape that no rank knows from its block.
func indexRows(c *Call) []Row {
	s, is := c.In[0].Shape(), c.In[1].Shape()
	if c.In[1].DType() == dtype.Bool {
		return nil
	}
	var rows []Row
	for d := 1; d < len(s); d++ {
		rows = append(rows, cutting(c, d, d-1+len(is)))
	}
	for d := range is {
		rows = append(rows, Row{In: []mesh.Placement{replicate, mesh.Shard(d)}, Out: []mesh.Placement{mesh.Shard(d)}})
	}
	rows = append(rows, ownersRow(c, 0))
	return append(rows, carried(c, 0)...)
}

func indexLocal(b *Blocks) ([]*tensor.Tensor, error) {
	at, err := b.indices("index", b.X[1], 0, b.whole(0))
	if err != nil {
		return nil, err
	}
	return one(b.T.Reshape(b.take(0, 0, at), b.OutShape(0))), nil
}

// alongRegion returns how a value that is stored in a region is placed where
// dim d of the region is cut.
func alongRegion(value *tensor.Tensor, region shape.Shape, d int) mesh.Placement {
	s := value.Shape()
	lead := leadingOnes(s, len(region))
	p := alongBroadcast(s[lead:], region, d)
	if at, cut := p.Shard(); cut {
		return mesh.Shard(at + lead)
	}
	return p
}

// setitemRows is the rule of setitem and setitem_: who owns the index stores
// the value.
func setitemRows(c *Call) []Row {
	k := len(c.Args[0].Ints)
	region := c.In[0].Shape()[k:]
	var rows []Row
	for d := range c.In[0].Shape() {
		row := cutting(c, d, d)
		if d >= k {
			row.In[1] = alongRegion(c.In[1], region, d-k)
		}
		rows = append(rows, row)
	}
	return append(rows, carried(c, 0, 1)...)
}

// target returns what a call that replaces a part of In[0] writes into: the
// rank's block, or a copy of it.
func (b *Blocks) target() *tensor.Tensor {
	if b.Def.InPlace {
		return b.X[0]
	}
	return b.T.unary("clone", b.X[0])
}

func setitemLocal(b *Blocks) ([]*tensor.Tensor, error) {
	w, err := item(b.Call)
	if err != nil {
		return nil, err
	}
	y := b.target()
	box, _ := b.From[0].Box(b.Rank)
	k := len(b.Args[0].Ints)
	v, _ := w.within(box, b.whole(0), shape.Shape(box.Shape())[k:])
	if b.same(0, w.reaches(b)) {
		value := withoutOnes(b.X[1], len(v.shape))
		b.T.Do("copy_", []*tensor.Tensor{v.view(y), value})
	}
	return one(y), nil
}

// indexPutRows is the rule of index_put and index_put_. With a mask only a
// value of one element can be stored on blocks.
func indexPutRows(c *Call) []Row {
	x, index, value := c.In[0], c.In[1], c.In[2]
	s, is := x.Shape(), index.Shape()
	mask, lead := index.DType() == dtype.Bool, 1
	if mask {
		lead = len(is)
	}
	if mask && value.Numel() != 1 {
		return nil
	}
	region := slices.Concat(is, s[lead:])
	var rows []Row
	for d := range s {
		row := cutting(c, d, d)
		switch {
		case mask && d < lead:
			row.In[1] = mesh.Shard(d)
		case !mask && d >= lead:
			row.In[2] = alongRegion(value, region, d-lead+len(is))
		}
		rows = append(rows, row)
	}
	return append(rows, carried(c, 0, 2)...)
}

func indexPutLocal(b *Blocks) ([]*tensor.Tensor, error) {
	y, index, value := b.target(), b.X[1], b.X[2]
	if index.DType() != dtype.Bool {
		at, err := b.indices("index", index, 0, b.whole(0))
		if err != nil {
			return nil, err
		}
		lo, hi := b.Span(0, 0)
		local, places := held(at, lo, hi)
		if rest := y.Shape()[1:]; value.Numel() != 1 {
			value = withoutOnes(value, index.Ndim()+len(rest))
			value = b.T.Expand(value, slices.Concat(index.Shape(), rest))
			value = b.T.Reshape(value, append(shape.Shape{len(at)}, rest...))
			value = b.T.indexSelect(value, 0, b.ints(places))
		} else if !value.Weak() {
			value = b.T.Reshape(value, nil)
		}
		index = b.ints(local)
	}
	_, err := b.T.A.Apply(must("index_put_"), []*tensor.Tensor{y, index, value}, nil)
	return one(y), err
}
