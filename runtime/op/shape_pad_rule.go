package op

import (
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// padRows is the rule of pad: dims without margins may be cut. What is put
// around x commutes with a sum if it is zero, and with a product if it is one.
func padRows(c *Call) []Row {
	before, after, _ := margins(c)
	var rows []Row
	for d := range c.In[0].Shape() {
		if before[d] == 0 && after[d] == 0 {
			rows = append(rows, cutting(c, d, d))
		}
	}
	if v := c.Args[2].Float; c.Args[1].Str == "constant" && v != 0 {
		return append(rows, togetherIn(c, []int{0}, anyPartial[3:]...)...)
	}
	return append(rows, carried(c, 0)...)
}

// movedPad is pad by moving boxes between ranks.
func movedPad(t *Tape, c *Call) []*tensor.Tensor {
	before, after, _ := margins(c)
	x := c.In[0]
	if c.Args[1].Str != "constant" {
		for d := range before {
			x = c.mirrored(t, x, d, before[d], after[d])
		}
		return one(x)
	}
	lo, at, size := make([]int, len(before)), make([]int, len(before)), slices.Clone(x.Shape())
	for d := range before {
		lo[d], at[d] = max(-before[d], 0), max(before[d], 0)
		if size[d] += min(before[d], 0) + min(after[d], 0); size[d] < 0 {
			return nil // what is taken away at one end reaches beyond the other
		}
	}
	out := c.Spec[0].Shape
	x = t.subtensorGet(x, lo, size)
	y := t.subtensorPut(x, out, at)
	if v := c.Args[2].Float; v != 0 {
		inside := t.Do("ones_like", one(x), Int1(int(dtype.Bool)))
		y = t.Cast(t.Where(t.subtensorPut(inside, out, at), y, numberIn(x.DType(), v)), x.DType())
	}
	return one(y)
}

// numberIn returns v as a number of the kind of dt.
func numberIn(dt dtype.DType, v float64) *tensor.Tensor {
	if dt.IsFloat() {
		return tensor.Number(v)
	}
	return tensor.Number(int64(v))
}

// mirrored returns x with the margins of dim d made of its elements, or taken away.
func (c *Call) mirrored(t *Tape, x *tensor.Tensor, d, before, after int) *tensor.Tensor {
	n := x.Shape()[d]
	first, kept := keptOf(n, before, after)
	before, after = max(before, 0), max(after, 0)
	piece := func(start, count int) *tensor.Tensor {
		lo, size := make([]int, x.Ndim()), slices.Clone(x.Shape())
		lo[d], size[d] = start, count
		return t.subtensorGet(x, lo, size)
	}
	edge := func(start, count int) *tensor.Tensor {
		size := slices.Clone(x.Shape())
		size[d] = count
		return t.Expand(piece(start, 1), size)
	}
	parts := one(x)
	if kept != n {
		parts = one(piece(first, kept))
	}
	switch c.Args[1].Str {
	case "reflect":
		parts = t.around(parts, before, after,
			func() *tensor.Tensor { return t.Do("flip", one(piece(1, before)), IntsN(d)) },
			func() *tensor.Tensor { return t.Do("flip", one(piece(n-1-after, after)), IntsN(d)) })
	case "replicate":
		parts = t.around(parts, before, after,
			func() *tensor.Tensor { return edge(0, before) },
			func() *tensor.Tensor { return edge(n-1, after) })
	case "circular":
		x, n = parts[0], kept
		parts = t.around(parts, before, after,
			func() *tensor.Tensor { return piece(n-before, before) },
			func() *tensor.Tensor { return piece(0, after) })
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return t.Do("cat", parts, Int1(d))
}

// around returns parts with what left and right make put at its ends, where
// before and after are not 0.
func (t *Tape) around(parts []*tensor.Tensor, before, after int, left, right func() *tensor.Tensor) []*tensor.Tensor {
	if before != 0 {
		parts = slices.Insert(parts, 0, left())
	}
	if after != 0 {
		parts = append(parts, right())
	}
	return parts
}
