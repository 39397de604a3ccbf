package op

import (
	"tpsh/mesh"
	"tpsh/runtime/tensor"
)

// flip along dims that are cut: ranks exchange the blocks that mirror each other, and
// each reverses what it then has. The result lies as x does.

func init() {
	params := []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}, {Name: "dims", Kind: Ints, Doc: "the dims to reverse"}}
	infer := func(c *Call) error { return c.Result(c.In[0].DType(), c.In[0].Shape()) }
	register(&Def{
		Name:    "mirror_blocks",
		Surface: Internal,
		OfParts: true,
		Doc:     "mirror_blocks(x, dims) returns for each rank the block of x that flip has to reverse to get that of its result.",
		Params:  params,
		Infer:   infer,
		Run: func(c *Call) error {
			copyInto(c.Out[0], c.In[0])
			return nil
		},
		Shard: flipRows,
		Cost:  moves,
		Exchange: &Exchange{To: sameAs, Parts: func(c *Call, from, to *mesh.Placed, _ []int) (src, dst mesh.Layout, err error) {
			dims, err := c.Dims(0, c.In[0].Shape())
			return from, mesh.NewMirrored(to, dims), err
		}},
	})
	register(&Def{
		Name:    "flip_mirrored",
		Surface: Internal,
		OfParts: true,
		Doc:     "flip_mirrored(x, mirrored, dims) returns flip(x, dims), of blocks as mirror_blocks exchanges them; its gradient is that of flip.",
		Params:  []Param{params[0], {Name: "mirrored", Kind: Tensor, Doc: "its blocks"}, params[1]},
		Infer:   infer,
		Run: func(c *Call) error {
			return (&Call{Def: must("flip"), Ctx: c.Ctx, In: c.In[1:], Args: c.Args, Out: c.Out}).runFlip()
		},
		Reads: ReadsShapes,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{t.Do("flip", dy, c.Args...), nil}
		},
		Shard: besides(func(c *Call) []bool { return make([]bool, max(1, c.In[0].Ndim())) }),
		Cost:  moves,
	})
}

// flipByBlock is the Compose of flip: nil of summands, and where no dim that it
// reverses is cut.
func flipByBlock(t *Tape, c *Call) []*tensor.Tensor {
	x := c.In[0]
	flipped, _ := c.Dims(0, x.Shape())
	if partsAlong(x, listed(flipped)) < 2 {
		return nil
	}
	mirrored := t.Do("mirror_blocks", one(x.Detach()), c.Args...)
	return one(t.Do("flip_mirrored", []*tensor.Tensor{x, mirrored}, c.Args...))
}
