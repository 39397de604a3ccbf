package op

import (
	"fmt"
	"math"
	goruntime "runtime"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "hash_tensor",
		Surface: Method | Function,
		Doc: "hash_tensor(x, dim=None, keepdim=False, mode=0) returns the exclusive or of the bits of all elements over dim, as uint64.\n" + dimsDoc +
			"Floats have the\nbits that they have as float64, integers and bools those of int64. Equal tensors have equal\nhashes, in any order of their elements. Of no elements it is an error.\n" +
			">>> hash_tensor(tensor([[1, 2], [4, 4]]), dim=1).tolist()\n" +
			"[3, 0]",
		Params: append(slices.Clone(dimsParams), Param{Name: "mode", Kind: Int, Doc: "which hash: 0, the only one", Default: Default(Int1(0))}),
		Infer: func(c *Call) error {
			if x := c.In[0]; x.DType().IsComplex() {
				return c.Bad("x", Describe(x), "a tensor of real numbers", "")
			}
			if mode := c.Args[2].Int; mode != 0 {
				return c.Bad("mode", fmt.Sprint(mode), "0", "")
			}
			if err := c.someElements(); err != nil {
				return err
			}
			return c.inferReduced(dtype.Uint64)
		},
		Run: func(c *Call) error {
			dims, err := c.reduced()
			if err != nil {
				return err
			}
			hashTo(c.Out[0], c.In[0], dims)
			return nil
		},
		Shard:   keptRows,
		Compose: composeHash,
	})
	register(&Def{
		Name:    "part_hash",
		Surface: Internal,
		OfParts: true,
		Doc:     "part_hash(x, dim, parts) returns the hash along dim of each rank's block of x, of which there are parts.",
		Params:  []Param{inX, {Name: "dim", Kind: Dim, Doc: "a dim"}, {Name: "parts", Kind: Int, Doc: "how many ranks there are along it"}},
		Infer: func(c *Call) error {
			s := slices.Clone(c.In[0].Shape())
			s[c.Args[0].Int] = c.Args[1].Int
			return c.Result(dtype.Uint64, s)
		},
		Run: func(c *Call) error { // all of x is one part
			y, d := c.Out[0], c.Args[0].Int
			copyInto(y, tensor.Number(int64(0)))
			dims := make([]bool, y.Ndim())
			dims[d] = true
			if first := slices.Clone(y.Shape()); first[d] > 0 {
				first[d] = 1
				hashTo(y.View(first, y.Strides(), y.Offset()), c.In[0], dims)
			}
			return nil
		},
		Shard: func(c *Call) []Row {
			var rows []Row
			for d := range c.In[0].Shape() {
				rows = append(rows, cutting(c, d, d))
			}
			return rows
		},
		Local: func(b *Blocks) ([]*tensor.Tensor, error) {
			return b.Apply(b.Args[0], Int1(b.OutShape(0)[b.Args[0].Int]))
		},
		Cost: reducedCost(1, 0),
	})
}

// hashTo stores in dst the exclusive or of the bits of x over the dims that are true in reduced.
func hashTo(dst, x *tensor.Tensor, reduced []bool) {
	f := foldOf(x, reduced)
	v := f.view(x)
	load := bitsOf(v)
	reduceBlocks(dst, &f, &kernel.XorBits, load, nil)
	goruntime.KeepAlive(x)
}

// bitsOf returns a function that gives elements lo to hi of x: integers, and of floats the bits
// that they have as float64.
func bitsOf(x *tensor.Tensor) func(lo, hi int) []int64 {
	if !x.DType().IsFloat() {
		src := newSource[int64](x, x.Shape())
		return src.block
	}
	src := newSource[float64](x, x.Shape())
	var bits []int64
	return func(lo, hi int) []int64 {
		bits = slices.Grow(bits[:0], hi-lo)[:hi-lo]
		for i, v := range src.block(lo, hi) {
			bits[i] = int64(math.Float64bits(v))
		}
		return bits
	}
}

// composeHash makes a hash along dims that are cut: of each block first, then of these.
func composeHash(t *Tape, c *Call) []*tensor.Tensor {
	dims, _ := c.reduced()
	if !cutIn(c.In[0], dims) {
		return nil
	}
	x := t.settled(c.In[0]).Detach()
	var within []int
	first := -1
	for _, d := range listed(dims) {
		switch {
		case partsAlong(x, []int{d}) < 2:
			within = append(within, d)
		case first < 0:
			first = d
		}
	}
	if first < 0 {
		return nil
	}
	if len(within) > 0 {
		x = t.Do("hash_tensor", one(x), IntsN(within...), Bool1(true), Int1(0))
	}
	parts := t.Do("part_hash", one(x), Int1(first), Int1(partsAlong(x, []int{first})))
	return one(t.Do("hash_tensor", one(t.gatheredAlong(parts, first)), IntsN(listed(dims)...), c.Args[1], Int1(0)))
}
