package op

import (
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The mean and the sum of squared distances from it of what ranks hold are known
// after one exchange: each rank gives the number of its elements, their mean and
// their sum (M2), and those of the whole follow, without the loss of digits that sums
// of squares would have.
//
// Chan, Golub and LeVeque, "Algorithms for computing the sample variance",
// The American Statistician 37(3), 1983.

func init() {
	register(&Def{
		Name:    "moments",
		Surface: Internal,
		Doc: "moments(x, dim, parts) returns a tensor [parts, 3, ...] of the moments of x along dim.\n" +
			"They are the number of elements, their mean and the sum of their squared distances from it, with size 1 in place\n" +
			"of dim. A rank gives the part of its block; of a part that nobody has the number is 0.",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a float tensor"}, {Name: "dim", Kind: Dims, Doc: "dims"}, {Name: "parts", Kind: Int, Doc: "how many ranks there are along them"}},
		Infer: func(c *Call) error {
			dims, err := c.Dims(0, c.In[0].Shape())
			if err != nil {
				return err
			}
			return c.Result(c.In[0].DType(), slices.Concat(shape.Shape{c.Args[1].Int, 3}, reducedShape(c.In[0].Shape(), dims, true)))
		},
		Run:     runMoments,
		OfParts: true,
		Shard:   momentsRows,
		Local: func(b *Blocks) ([]*tensor.Tensor, error) {
			return b.Apply(b.Args[0], Int1(b.OutShape(0)[0]))
		},
		Cost: reducedCost(5, 2),
	})
	register(&Def{
		Name:    "known_mean",
		Surface: Internal,
		OfParts: true,
		Doc:     "known_mean(x, value, dim) returns value, the mean of x over dim, which keeps size 1; its gradient is that of the mean.",
		Params:  []Param{{Name: "x", Kind: Tensor, Doc: "a float tensor"}, {Name: "value", Kind: Tensor, Doc: "its mean"}, {Name: "dim", Kind: Dims, Doc: "dims"}},
		Infer:   func(c *Call) error { return c.Result(c.In[1].DType(), c.In[1].Shape()) },
		Run: func(c *Call) error {
			copyInto(c.Out[0], c.In[1])
			return nil
		},
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			s := c.In[0].Shape()
			n := s.Numel() / max(c.In[1].Shape().Numel(), 1)
			return []*tensor.Tensor{t.Expand(t.Scale(dy[0], 1/float64(n)), s), nil}
		},
		Shard: knownMeanRows,
		Cost:  moves,
	})
}

// runMoments puts what there is into the first part.
func runMoments(c *Call) error {
	dims, err := c.Dims(0, c.In[0].Shape())
	if err != nil {
		return err
	}
	x := c.In[0]
	n := float64(sizeOf(x.Shape(), dims))
	copyInto(c.Out[0], tensor.Number(0.0))
	if n == 0 || c.Out[0].Numel() == 0 {
		return nil
	}
	mean, err := c.reducedRoom(dims)
	if err != nil {
		return err
	}
	meanTo(mean, x, dims, n)
	spread, err := c.reducedRoom(dims)
	if err != nil {
		return err
	}
	spreadTo(spread, x, mean, dims, nil)
	part := func(i int) *tensor.Tensor {
		s := mean.Shape()
		return c.Out[0].View(s, s.Strides(), i*s.Numel())
	}
	copyInto(part(0), tensor.Number(n))
	copyInto(part(1), mean)
	copyInto(part(2), spread)
	return nil
}

// momentsRows: a dim that is reduced may be cut, each rank having a part, and any
// other, which is two later in the result.
func momentsRows(c *Call) []Row {
	dims, _ := c.Dims(0, c.In[0].Shape())
	var rows []Row
	for d, in := range dims {
		if in {
			rows = append(rows, cutting(c, d, 0))
		} else {
			rows = append(rows, cutting(c, d, d+2))
		}
	}
	return rows
}

// knownMeanRows: of the mean a rank has what it has of the other dims.
func knownMeanRows(c *Call) []Row {
	dims, _ := c.Dims(0, c.In[0].Shape())
	var rows []Row
	for d, in := range dims {
		row := rowOf(c)
		row.In[0] = mesh.Shard(d)
		if !in {
			row.In[1], row.Out[0] = mesh.Shard(d), mesh.Shard(d)
		}
		rows = append(rows, row)
	}
	return rows
}

// wholeMoments returns the mean of x over dims and the mean of the squared distances
// from it, which keep size 1, by one exchange; nil unless ranks share what is to be
// reduced of x, none of which is summands.
func (t *Tape) wholeMoments(x *tensor.Tensor, dims []int) (mean, square *tensor.Tensor) {
	parts := partsAlong(x, dims)
	if parts < 2 || x.Numel() == 0 {
		return nil, nil
	}
	m := t.Do("moments", one(x.Detach()), IntsN(dims...), Int1(parts))
	m = t.gatheredParts(m)
	column := func(i int) *tensor.Tensor { return t.Select(m, 1, i) }
	count, means := column(0), column(1)
	share := t.Div(count, t.Sum(count, []int{0}, true))
	mean = t.Sum(t.Mul(share, means), []int{0}, false)
	apart := t.Sub(means, mean)
	total := t.Add(t.Sum(column(2), []int{0}, false), t.Sum(t.Mul(count, t.Mul(apart, apart)), []int{0}, false))
	square = t.Div(total, t.Sum(count, []int{0}, false))
	mean = t.Do("known_mean", []*tensor.Tensor{x, mean.Detach()}, IntsN(dims...))
	return mean, square.Detach()
}

// gatheredParts returns x [parts, ...], of which each rank has its part, with all
// parts on all of them.
func (t *Tape) gatheredParts(x *tensor.Tensor) *tensor.Tensor {
	return t.gatheredAlong(x, 0)
}

// partsAlong returns among how many ranks dims of x are divided; 0 if x is Partial, or has a
// RaggedShard on a mesh of several dims: an operator that works on equal blocks may have others
// of them cut x then.
func partsAlong(x *tensor.Tensor, dims []int) int {
	if !x.Placed() || x.Layout().IsPartial() {
		return 0
	}
	parts, ways := 1, x.Layout().Placements()
	for i, p := range ways {
		if _, _, ragged := p.Units(); ragged && len(ways) > 1 {
			return 0
		}
		if d, cut := p.Shard(); cut && slices.Contains(dims, d) {
			parts *= x.Layout().Mesh().Shape()[i]
		}
	}
	return parts
}
