package op

import (
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// sort along a dim that is cut, where no other can be cut instead: columnsort
// (Leighton, "Tight bounds on the complexity of parallel sorting", IEEE Transactions on
// Computers C-34(4), 1985). Each rank has a column of elements, which it sorts four
// times; between, all ranks exchange equal parts of them twice, and neighbours half
// columns twice. What is sent does not depend on the elements, so that a plan knows it.
// On the way an element and its place are one number of 64 bits.

func init() {
	packed := Param{Name: "packed", Kind: Tensor, Doc: "an int64 tensor"}
	first := Param{Name: "first", Kind: Int, Doc: "the number of the first"}
	descending := Param{Name: "descending", Kind: Bool, Doc: "the order"}
	numbers := func(c *Call) error { return c.Result(dtype.Int64, c.In[0].Shape()) }
	everyDim := besides(func(c *Call) []bool { return make([]bool, max(1, c.In[0].Ndim())) })
	register(&Def{
		Name:    "pack_order",
		Surface: Internal,
		OfParts: true,
		Doc:     "pack_order(x, dim, descending, first) returns negative int64 numbers, each of an element of x and its place along dim, counted from first, that are ordered as sort orders these.",
		Params:  []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}, {Name: "dim", Kind: Dim, Doc: "a dim"}, descending, first},
		Infer:   numbers,
		Run: func(c *Call) error {
			onOrdered(c.In[0].DType(), func() { packRows[float32](c) }, func() { packRows[float64](c) }, func() { packRows[int32](c) }, func() { packRows[int64](c) }, func() { packRows[uint8](c) })
			return nil
		},
		Shard: everyDim,
		Local: func(b *Blocks) ([]*tensor.Tensor, error) {
			lo, _ := b.Span(0, b.Args[0].Int)
			return b.Apply(b.Args[0], b.Args[1], Int1(lo))
		},
	})
	register(&Def{
		Name:    "unpack_order",
		Surface: Internal,
		OfParts: true,
		Doc:     "unpack_order(packed, descending, dtype) returns (values, places), the elements of dtype that pack_order has packed, and where they were.",
		Params:  []Param{packed, descending, {Name: "dtype", Kind: DType, Doc: "the dtype of the elements"}},
		Infer: func(c *Call) error {
			s := c.In[0].Shape()
			return c.Results(Spec{dtype.DType(c.Args[1].Int), s}, Spec{dtype.Int64, s})
		},
		Run: func(c *Call) error {
			onOrdered(c.Spec[0].DType, func() { unpackAll[float32](c) }, func() { unpackAll[float64](c) }, func() { unpackAll[int32](c) }, func() { unpackAll[int64](c) }, func() { unpackAll[uint8](c) })
			return nil
		},
		Shard: everyDim,
	})
	register(&Def{
		Name:    "sort_dims",
		Surface: Internal,
		OfParts: true,
		Doc:     "sort_dims(packed, dims) returns the numbers in ascending order along two dims beside each other, which count as one.",
		Params:  []Param{packed, {Name: "dims", Kind: Ints, Doc: "dims"}},
		Infer:   numbers,
		Run: func(c *Call) error {
			x, y, d := c.In[0], c.Out[0], c.Args[0].Ints[0]
			sortInto(jointly(y, d), jointly(x, d), x.Shape()[d]*x.Shape()[d+1], func(int) int { return 1 })
			return nil
		},
		Shard: besides(func(c *Call) []bool {
			in := make([]bool, c.In[0].Ndim())
			for _, d := range c.Args[0].Ints {
				in[d] = true
			}
			return in
		}),
		Cost: func(c *Call) Cost {
			s, d := c.In[0].Shape(), c.Args[0].Ints[0]
			return c.costs(s.Numel() * halvings(s[d]*s[d+1]))
		},
	})
	register(&Def{
		Name:    "sort_shifted",
		Surface: Internal,
		OfParts: true,
		Doc:     "sort_shifted(packed, first) returns the rows of numbers in ascending order. Those of row 0 are sorted in two halves, each by itself; rows are counted along the dim before the last, from first on.",
		Params:  []Param{packed, first},
		Infer:   numbers,
		Run: func(c *Call) error {
			rows, n := matrix(c.In[0])
			sortInto(c.Out[0], c.In[0], n, func(row int) int {
				if row%rows+c.Args[0].Int == 0 {
					return 2
				}
				return 1
			})
			return nil
		},
		Shard: besides(func(c *Call) []bool { return lastDims(c.In[0].Shape(), 1) }),
		Local: func(b *Blocks) ([]*tensor.Tensor, error) {
			lo, _ := b.Span(0, len(b.whole(0))-2)
			return b.Apply(Int1(lo))
		},
		Cost: func(c *Call) Cost {
			_, n := matrix(c.In[0])
			return c.costs(c.In[0].Numel() * halvings(n))
		},
	})
}

// packRows packs the rows of In[0] along a dim.
func packRows[T dtype.Number](c *Call) {
	x, y := lastDim(c.In[0], c.Args[0].Int), lastDim(c.Out[0], c.Args[0].Int)
	src, out, n := newSource[T](x, x.Shape()), newSink[int64](y), x.Shape()[x.Ndim()-1]
	for lo := 0; lo < x.Numel(); lo += n {
		kernel.PackOrderTo(out.block(lo, lo+n), src.block(lo, lo+n), c.Args[2].Int, c.Args[1].Int != 0)
		out.store(lo, lo+n)
	}
}

// unpackAll unpacks the elements of In[0].
func unpackAll[T dtype.Number](c *Call) {
	n := c.In[0].Numel()
	src, values, places := newSource[int64](c.In[0], c.In[0].Shape()), newSink[T](c.Out[0]), newSink[int64](c.Out[1])
	for lo := 0; lo < n; lo += blockSize {
		hi := min(lo+blockSize, n)
		kernel.UnpackOrderTo(values.block(lo, hi), places.block(lo, hi), src.block(lo, hi), c.Args[0].Int != 0)
		values.store(lo, hi)
		places.store(lo, hi)
	}
}

// jointly returns a view of x with dims d and d+1 as the last two.
func jointly(x *tensor.Tensor, d int) *tensor.Tensor { return lastDim(lastDim(x, d), d) }

// sortInto stores the rows of n elements of x in ascending order in y: each row in so
// many equal parts, each part by itself.
func sortInto(y, x *tensor.Tensor, n int, parts func(row int) int) {
	src, out := newSource[int64](x, x.Shape()), newSink[int64](y)
	for row := range x.Numel() / max(n, 1) {
		to := out.block(row*n, (row+1)*n)
		copy(to, src.block(row*n, (row+1)*n))
		for k, size := 0, n/parts(row); k < n; k += size {
			slices.Sort(to[k : k+size])
		}
		out.store(row*n, (row+1)*n)
	}
}

// sortByBlock is the Compose of sort: nil unless the elements have at most 32 bits of
// order, one dim of the mesh cuts the dim, and columns are as high as columnsort asks.
func sortByBlock(t *Tape, c *Call) []*tensor.Tensor {
	x := c.In[0]
	d, _ := c.axis(0, x.Shape())
	parts := partsAlong(x, []int{d})
	if parts < 2 || orderBits(x.DType()) > 32 || !cutOnce(x, d) || instead(x.Shape(), d, parts) {
		return nil
	}
	n := x.Shape()[d]
	column := (n + parts - 1) / parts
	if n >= kernel.MaxPacked/2 || column < 2*(parts-1)*(parts-1) || !byColumns(parts, x.DType().Size(), n) {
		return nil
	}
	column = (column + 2*parts - 1) / (2 * parts) * 2 * parts // even, and of parts equal parts
	last := x.Ndim() - 1
	y := t.Do("pack_order", one(x.Detach()), Int1(d), c.Args[1], Int1(0))
	y = t.columnsorted(t.Transpose(y, d, last), parts, column)
	out := t.several("unpack_order", one(t.Transpose(y, d, last)), c.Args[1], Int1(int(x.DType())))
	return []*tensor.Tensor{t.Do("known_at", []*tensor.Tensor{x, out[0], out[1]}, Int1(d)), out[1]}
}

// byColumns reports whether n elements of size bytes are better sorted by columns than
// gathered: where columns send less, or where results of so many elements, and their
// places, had better stay cut.
func byColumns(parts, size, n int) bool {
	sent := 8 * (2*(parts-1) + parts) // times n/parts², as what a gather sends
	return sent < size*(parts-1)*parts || parts > 2 && n >= 1<<20
}

// cutOnce reports whether one dim of the mesh cuts dim d of x.
func cutOnce(x *tensor.Tensor, d int) bool {
	times := 0
	for _, at := range cuts(x.Layout()) {
		if at == d {
			times++
		}
	}
	return times == 1
}

// columnsorted returns the packed numbers x in ascending order along the last dim, of
// which each of parts ranks has a column, or less.
func (t *Tape) columnsorted(x *tensor.Tensor, parts, column int) *tensor.Tensor {
	s := x.Shape()
	last := len(s) - 1
	full := append(slices.Clone(s[:last]), parts*column)
	with := func(sizes ...int) shape.Shape { return append(slices.Clone(s[:last]), sizes...) }
	x = t.subtensorPut(x, full, make([]int, len(s))) // zeros, greater than all packed numbers, fill it
	x = t.Reshape(x, with(parts, column/parts, parts))
	within, across := IntsN(last+1, last+2), IntsN(last, last+1)
	for _, dims := range []Arg{within, across, within} { // its column; the column of the transpose; its column again
		x = t.Do("sort_dims", one(x), dims)
	}
	half := column / 2
	x = t.Do("roll", one(t.Reshape(x, full)), IntsN(half), IntsN(last))
	x = t.Do("sort_shifted", one(t.Reshape(x, with(parts, column))), Int1(0))
	x = t.Do("roll", one(t.Reshape(x, full)), IntsN(-half), IntsN(last))
	return t.subtensorGet(x, make([]int, len(s)), s)
}
