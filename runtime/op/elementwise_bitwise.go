package op

import (
	"tpsh/mesh"
	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

func init() {
	register((&binaryOp{row: kernel.And, wants: "integers or bools"}).def(&Def{
		Name:    "and",
		Surface: Operator,
		Symbol:  "&",
		Doc: "and(x, other) returns x & other, bit by bit, of integers and bools.\n" +
			"x and other are broadcast.\n" +
			">>> (tensor([True, False]) & True).tolist()\n" +
			"[True, False]",
		Shard: Rule(Elementwise).ofBools(mesh.Min), // and is the least
	}))
	register((&binaryOp{row: kernel.Or, wants: "integers or bools"}).def(&Def{
		Name:    "or",
		Surface: Operator,
		Symbol:  "|",
		Doc: "or(x, other) returns x | other, bit by bit, of integers and bools.\n" +
			"x and other are broadcast.\n" +
			">>> (tensor([1, 2]) | 4).tolist()\n" +
			"[5, 6]",
		Shard: Rule(Elementwise).ofBools(mesh.Max), // or is the greatest
	}))
	register((&binaryOp{row: kernel.Xor, wants: "integers or bools"}).def(&Def{
		Name:    "xor",
		Surface: Operator,
		Symbol:  "^",
		Doc: "xor(x, other) returns x ^ other, bit by bit, of integers and bools.\n" +
			"x and other are broadcast.\n" +
			">>> (tensor([True, False]) ^ True).tolist()\n" +
			"[False, True]",
		Shard: Elementwise,
	}))
	register(&Def{
		Name:    "invert",
		Surface: Operator,
		Symbol:  "~",
		Doc: "invert(x) returns ~x, every bit inverted, of integers and bools.\n" +
			">>> (~tensor([True, False])).tolist()\n" +
			"[False, True]",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a tensor of integers or bools"}},
		Infer: func(c *Call) error {
			x := c.In[0]
			if x.DType().IsFloat() {
				return c.Bad("x", Describe(x), "a tensor of integers or bools", "")
			}
			return c.Result(x.DType(), x.Shape())
		},
		Run: func(c *Call) error {
			runUnary(&kernel.Invert, c.In[0].DType(), c.Out[0], c.In[0])
			return nil
		},
		Shard: Elementwise,
	})
}

// And returns x & y, of bools.
func (t *Tape) And(x, y *tensor.Tensor) *tensor.Tensor { return t.binary("and", x, y) }
