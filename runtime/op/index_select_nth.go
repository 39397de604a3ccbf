package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The element that stands in a place of the order along a dim: of medians and the like.

func init() {
	register(&Def{
		Name:    "element_at",
		Surface: Internal,
		Doc: "element_at(x, at, dim) returns (values, indices) of the elements of x that sort puts in the places at [.., 1, ..] along dim, which keeps size 1.\n" +
			"Equal elements keep their order. NaN counts as greater than all else.",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}, {Name: "at", Kind: Tensor, Doc: "an int64 tensor of places, from 0"}, {Name: "dim", Kind: Dim, Doc: "a dim"}},
		Infer: func(c *Call) error {
			x, at := c.In[0], c.In[1]
			d, err := c.Dim(0, x.Shape())
			if err != nil {
				return err
			}
			s := slices.Clone(x.Shape())
			s[d] = 1
			if at.DType() != dtype.Int64 || !at.Shape().Equal(s) {
				return c.Bad("at", Describe(at), "int64"+s.String(), "a place for each row of x")
			}
			return c.Results(Spec{x.DType(), s}, Spec{dtype.Int64, s})
		},
		Run: runElementAt,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{t.scatterBack(c, dy[0], c.Out[1]), nil}
		},
		Shard:   besides(onAxis(0)),
		Compose: elementByCounts,
		Cost:    sortCost(wholeRow),
	})
	register(&Def{
		Name:    "order_of",
		Surface: Internal,
		OfParts: true,
		Doc:     "order_of(x) returns int64 numbers that are ordered as sort orders the elements of x; those of elements of 64 bits as unsigned ones.",
		Params:  xAlone,
		Infer:   func(c *Call) error { return c.Result(dtype.Int64, c.In[0].Shape()) },
		Run: func(c *Call) error {
			onOrdered(c.In[0].DType(), func() { run1(c.Ctx.Workers, c.Out[0], c.In[0], kernel.OrderTo[float32]) }, func() { run1(c.Ctx.Workers, c.Out[0], c.In[0], kernel.OrderTo[float64]) },
				func() { run1(c.Ctx.Workers, c.Out[0], c.In[0], kernel.OrderTo[int32]) }, func() { run1(c.Ctx.Workers, c.Out[0], c.In[0], kernel.OrderTo[int64]) }, func() { run1(c.Ctx.Workers, c.Out[0], c.In[0], kernel.OrderTo[uint8]) })
			return nil
		},
		Shard: Elementwise,
	})
	register(&Def{
		Name:    "digit_counts",
		Surface: Internal,
		OfParts: true,
		Doc:     "digit_counts(keys, prefix, dim, shift) returns how many numbers along dim that begin with prefix [.., 1, ..] have each of 256 digits, the 8 bits from shift on.",
		Params: []Param{{Name: "keys", Kind: Tensor, Doc: "numbers of order_of"}, {Name: "prefix", Kind: Tensor, Doc: "an int64 tensor"}, {Name: "dim", Kind: Dim, Doc: "a dim"},
			{Name: "shift", Kind: Int, Doc: "where the digit begins"}},
		Infer: func(c *Call) error {
			s := slices.Clone(c.In[0].Shape())
			s[c.Args[0].Int] = 256
			return c.Result(dtype.Int64, s)
		},
		Run: runDigitCounts,
		Shard: func(c *Call) []Row {
			rows := besides(onAxis(0))(c)
			row := cutting(c, c.Args[0].Int, c.Args[0].Int)
			row.Out[0] = summands
			return append(rows, row)
		},
	})
}

// orderBits returns how many bits the numbers have that order_of makes of elements of dt.
func orderBits(dt dtype.DType) (bits int) {
	onOrdered(dt, func() { bits = kernel.OrderBits[float32]() }, func() { bits = kernel.OrderBits[float64]() }, func() { bits = kernel.OrderBits[int32]() },
		func() { bits = kernel.OrderBits[int64]() }, func() { bits = kernel.OrderBits[uint8]() })
	return bits
}

// runElementAt selects an element of each row.
func runElementAt(c *Call) error {
	d, err := c.Dim(0, c.In[0].Shape())
	if err != nil {
		return err
	}
	x, values, indices, n := lastDim(c.In[0], d), lastDim(c.Out[0], d), lastDim(c.Out[1], d), c.In[0].Shape()[d]
	places := Int64s(lastDim(c.In[1], d))
	for _, at := range places {
		if at < 0 || at >= int64(n) {
			return c.Bad("at", fmt.Sprint(at), fmt.Sprintf("0..%d", n-1), "the size of the dim")
		}
	}
	onOrdered(x.DType(), func() { elementRows[float32](values, indices, x, places) }, func() { elementRows[float64](values, indices, x, places) },
		func() { elementRows[int32](values, indices, x, places) }, func() { elementRows[int64](values, indices, x, places) }, func() { elementRows[uint8](values, indices, x, places) })
	return nil
}

func elementRows[T dtype.Number](values, indices, x *tensor.Tensor, places []int64) {
	src, vs, at := newSource[T](x, x.Shape()), newSink[T](values), newSink[int64](indices)
	n := x.Shape()[x.Ndim()-1]
	for row, k := range places {
		vs.block(row, row+1)[0], at.block(row, row+1)[0] = kernel.Nth(src.block(row*n, (row+1)*n), int(k))
		vs.store(row, row+1)
		at.store(row, row+1)
	}
}

func runDigitCounts(c *Call) error {
	d, shift := c.Args[0].Int, c.Args[1].Int
	keys, counts := lastDim(c.In[0], d), lastDim(c.Out[0], d)
	prefixes, n := Int64s(lastDim(c.In[1], d)), keys.Shape()[keys.Ndim()-1]
	src, out := newSource[int64](keys, keys.Shape()), newSink[int64](counts)
	for row, prefix := range prefixes {
		to := out.block(row*256, (row+1)*256)
		clear(to)
		kernel.DigitCountsTo(to, src.block(row*n, (row+1)*n), prefix, shift)
		out.store(row*256, (row+1)*256)
	}
	return nil
}

// elementByCounts is the Compose of element_at: ranks count the digits of their
// elements, eight bits after the other, and find who has the element. It is nil where
// the elements are less than the counts.
func elementByCounts(t *Tape, c *Call) []*tensor.Tensor {
	x, at := c.In[0], c.In[1]
	d, _ := c.Dim(0, x.Shape())
	parts, bits := partsAlong(x, []int{d}), orderBits(x.DType())
	if parts < 2 || countedBytes(c, bits) >= movedBytes(x, d, parts) {
		return nil
	}
	at = t.shared(at)
	keys := t.Do("order_of", one(x.Detach()))
	prefix := t.Do("zeros_like", one(at), None)
	for shift := bits - 8; shift >= 0; shift -= 8 {
		counts := t.shared(t.Do("digit_counts", []*tensor.Tensor{keys, prefix}, Int1(d), Int1(shift)))
		below := t.binary("le", t.Do("cumsum", one(counts), Int1(d)), at) // digits that are less than that of the element
		at = t.Sub(at, t.Sum(t.Mul(counts, below), []int{d}, true))
		prefix = t.Add(t.Mul(prefix, integer(256)), t.Sum(below, []int{d}, true))
	}
	same := t.Cast(t.binary("eq", keys, prefix), dtype.Int64)
	number := t.Mul(t.Do("cumsum", one(same), Int1(d)), same) // from 1, of those that are equal to it
	index := t.shared(t.Do("index_of", []*tensor.Tensor{number, t.Add(at, integer(1))}, Int1(d), Bool1(true)))
	return []*tensor.Tensor{t.Do("gather", []*tensor.Tensor{x, index}, Int1(d)), index}
}

// countedBytes returns the bytes of the counts of elementByCounts, and of their sums.
func countedBytes(c *Call, bits int) int { return c.In[1].Numel() * 256 * 8 * 2 * (bits / 8) }

// movedBytes returns how many bytes of x a rank receives, times the parts of its other
// dims, if dim d, which is cut in parts, is made whole: another dim may be cut instead.
func movedBytes(x *tensor.Tensor, d, parts int) int {
	bytes := x.Numel() * x.DType().Size() / parts
	if instead(x.Shape(), d, parts) {
		return bytes
	}
	return bytes * (parts - 1)
}

// instead reports whether a dim of s other than d has an element for each of parts.
func instead(s shape.Shape, d, parts int) bool {
	for i, n := range s {
		if i != d && n >= parts {
			return true
		}
	}
	return false
}
