package op

import (
	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// embeddingRows is the rule of embedding: the numbers may be cut, and the
// weight by its columns, or by its rows, which then have one owner each.
func embeddingRows(c *Call) []Row {
	x, w := c.In[0], c.In[1]
	var rows []Row
	for d := range x.Shape() {
		rows = append(rows, Row{In: []mesh.Placement{mesh.Shard(d), replicate}, Out: []mesh.Placement{mesh.Shard(d)}})
	}
	rows = append(rows,
		Row{In: []mesh.Placement{replicate, mesh.Shard(1)}, Out: []mesh.Placement{mesh.Shard(x.Ndim())}},
		Row{In: []mesh.Placement{replicate, mesh.Shard(0)}, Out: []mesh.Placement{oneOwner(w.DType())}})
	return append(rows, carried(c, 1)...)
}

func embeddingLocal(b *Blocks) ([]*tensor.Tensor, error) {
	ids, err := b.rowNumbers(b.X[0], b.whole(1)[0], "rows of weight "+Describe(b.In[1]))
	if err != nil {
		return nil, err
	}
	return one(b.T.Reshape(b.take(1, 0, toInts(ids)), b.OutShape(0))), nil
}

func toInts(list []int64) []int {
	out := make([]int, len(list))
	for i, v := range list {
		out[i] = int(v)
	}
	return out
}

// embeddingGradRows is the rule of embedding_grad: like says which dims of the
// result are cut, and may be cut anyhow where the result is summands.
func embeddingGradRows(c *Call) []Row {
	ndim := c.In[1].Ndim()
	columns := Row{In: []mesh.Placement{mesh.Shard(ndim), replicate, mesh.Shard(1)}, Out: []mesh.Placement{mesh.Shard(1)}}
	rows := []Row{columns}
	if c.In[2] != nil {
		rows = append(rows, Row{In: []mesh.Placement{replicate, replicate, mesh.Shard(0)}, Out: []mesh.Placement{mesh.Shard(0)}})
	}
	for d := range ndim {
		parts := Row{In: []mesh.Placement{mesh.Shard(d), mesh.Shard(d), replicate}, Out: []mesh.Placement{summands}}
		rows = append(rows, anyLike(c, 2, parts)...)
	}
	for _, row := range separately(c, 0) {
		rows = append(rows, anyLike(c, 2, row)...)
	}
	return rows
}

func embeddingGradLocal(b *Blocks) ([]*tensor.Tensor, error) {
	ids, err := b.rowNumbers(b.X[1], b.Args[0].Int, "rows")
	if err != nil {
		return nil, err
	}
	lo, hi := b.OutSpan(0, 0)
	local, places := held(toInts(ids), lo, hi)
	g := b.X[0]
	g = b.T.Reshape(g, shape.Shape{len(ids), g.Shape()[g.Ndim()-1]})
	if len(local) < len(ids) {
		g = b.T.indexSelect(g, 0, b.ints(places))
	}
	return one(b.T.addRows(g, b.ints(local), hi-lo, nil)), nil
}

// embeddingScaleRows is the rule of embedding_scale; numbers that are to be
// counted are needed whole.
func embeddingScaleRows(c *Call) []Row {
	if c.Args[2].Int != 0 {
		return nil
	}
	return Elementwise(c)
}

// countedScale is embedding_scale with a sum over the ranks for each number.
func countedScale(t *Tape, c *Call) []*tensor.Tensor {
	x, n, padding := c.In[0], c.Args[0].Int, c.Args[1]
	y := t.Do("ones_like", c.In, Int1(int(dtype.Float64)))
	if c.Args[2].Int != 0 {
		counts := t.addRows(t.column(y, x.Ndim()), x, n, nil)
		y = t.unary("reciprocal", t.Reshape(t.takeRows(x, counts), x.Shape()))
	}
	if padding.Set {
		is := t.binary("eq", t.Cast(x, dtype.Int64), tensor.Number(int64(padding.Int)))
		y = t.Where(is, tensor.Number(0.0), y)
	}
	return one(y)
}
