package op

import (
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// topk along a dim that is cut: each rank gives the first k of its block, and all
// choose among these.

func init() {
	register(&Def{
		Name:    "part_topk",
		Surface: Internal,
		OfParts: true,
		Doc: "part_topk(x, k, dim, largest, parts) returns (values, indices), the first k along dim of each rank's block of x, as topk has them.\n" +
			"There are parts k of them, with indices of the whole. No block has fewer than k.",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}, {Name: "k", Kind: Int, Doc: "how many"}, {Name: "dim", Kind: Dim, Doc: "a dim"},
			{Name: "largest", Kind: Bool, Doc: "as topk"}, {Name: "parts", Kind: Int, Doc: "how many ranks there are along it"}},
		Infer: func(c *Call) error {
			s := slices.Clone(c.In[0].Shape())
			s[c.Args[1].Int] = c.Args[0].Int * c.Args[3].Int
			return c.Results(Spec{c.In[0].DType(), s}, Spec{dtype.Int64, s})
		},
		Run:  runPartTopK,
		Cost: sortCost(firstK),
		Shard: func(c *Call) []Row {
			var rows []Row
			for d := range c.In[0].Shape() {
				rows = append(rows, cutting(c, d, d))
			}
			return rows
		},
		Local: func(b *Blocks) ([]*tensor.Tensor, error) {
			d := b.Args[1].Int
			out, err := b.Apply(b.Args[0], b.Args[1], b.Args[2], Int1(b.OutShape(0)[d]/max(b.Args[0].Int, 1)))
			if err != nil {
				return nil, err
			}
			lo, _ := b.Span(0, d)
			return []*tensor.Tensor{out[0], b.T.Add(out[1], tensor.Number(int64(lo)))}, nil
		},
	})
	register(&Def{
		Name:    "known_at",
		Surface: Internal,
		OfParts: true,
		Doc:     "known_at(x, values, indices, dim) returns values, which are those of x at indices along dim; its gradient is that of gather.",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}, {Name: "values", Kind: Tensor, Doc: "its values"}, {Name: "indices", Kind: Tensor, Doc: "where they are"},
			{Name: "dim", Kind: Dim, Doc: "a dim"}},
		Infer: func(c *Call) error { return c.Result(c.In[1].DType(), c.In[1].Shape()) },
		Run: func(c *Call) error {
			copyInto(c.Out[0], c.In[1])
			return nil
		},
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			zeros := t.Do("zeros_like", one(c.In[0]), Int1(int(dy[0].DType())))
			return []*tensor.Tensor{t.Do("scatter_add", []*tensor.Tensor{zeros, c.In[2], dy[0]}, c.Args[0]), nil, nil}
		},
		Shard: func(c *Call) []Row {
			var rows []Row
			for d := range c.In[0].Shape() {
				row := rowOf(c)
				row.In[0] = mesh.Shard(d)
				if d == c.Args[0].Int {
					rows = append(rows, row)
				}
				row = rowOf(c)
				row.In[0], row.In[1], row.In[2], row.Out[0] = mesh.Shard(d), mesh.Shard(d), mesh.Shard(d), mesh.Shard(d)
				rows = append(rows, row)
			}
			return rows
		},
		Cost: moves,
	})
}

// runPartTopK gives the first k of x, all of which is one part.
func runPartTopK(c *Call) error {
	copyInto(c.Out[0], tensor.Number(0.0))
	copyInto(c.Out[1], tensor.Number(int64(0)))
	if c.Out[0].Numel() == 0 {
		return nil
	}
	k, d := c.Args[0].Int, c.Args[1].Int
	first := &Call{Def: must("topk"), Ctx: c.Ctx, In: c.In, Args: []Arg{Int1(k), Int1(d), c.Args[2], Bool1(true)}}
	if err := first.Apply(); err != nil {
		return err
	}
	for i, y := range first.Out {
		copyInto(c.Out[i].View(y.Shape(), c.Out[i].Strides(), c.Out[i].Offset()), y)
	}
	return nil
}

// topKByBlock is the Compose of topk: nil unless each block has k elements. The blocks of a RaggedShard
// are cut anew, to give as many each, and may then have fewer.
func topKByBlock(t *Tape, c *Call) []*tensor.Tensor {
	x, k := c.In[0], c.Args[0].Int
	d, _ := c.axis(1, x.Shape())
	parts := partsAlong(x, []int{d})
	if parts < 2 || k == 0 || isRagged(x) || k > leastBlock(x, d) {
		return nil
	}
	few := t.several("part_topk", one(x.Detach()), Int1(k), Int1(d), c.Args[2], Int1(parts))
	values, from := t.gatheredAlong(few[0], d), t.gatheredAlong(few[1], d)
	best := t.several("topk", one(values), Int1(k), Int1(d), c.Args[2], Bool1(true))
	at := t.Do("gather", []*tensor.Tensor{from, best[1]}, Int1(d))
	return []*tensor.Tensor{t.Do("known_at", []*tensor.Tensor{x, best[0], at}, Int1(d)), at}
}

// isRagged reports whether a placement of x is a RaggedShard.
func isRagged(x *tensor.Tensor) bool {
	return slices.ContainsFunc(x.Layout().Placements(), func(p mesh.Placement) bool {
		_, _, ragged := p.Units()
		return ragged
	})
}

// leastBlock returns the size of the least block of dim d of x.
func leastBlock(x *tensor.Tensor, d int) int {
	least := x.Shape()[d]
	for _, r := range x.Layout().Ranks() {
		box, _ := x.Layout().Box(r)
		least = min(least, box.Hi[d]-box.Lo[d])
	}
	return least
}

// gatheredAlong returns x with dim d, which is cut, whole.
func (t *Tape) gatheredAlong(x *tensor.Tensor, d int) *tensor.Tensor {
	return t.Do("settle", one(x), IntsN(slices.DeleteFunc(cuts(x.Layout()), func(at int) bool { return at == d })...))
}
