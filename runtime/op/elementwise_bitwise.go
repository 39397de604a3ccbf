package op

import (
	"fmt"

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
	registerIntegers("gcd", "the greatest common divisors of x and other", "[4, 0]", kernel.Gcd)
	registerIntegers("lcm", "the least common multiples of x and other", "[24, 0]", kernel.Lcm)
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
			runUnary(c.Ctx.Workers, &kernel.Invert, c.In[0].DType(), c.Out[0], c.In[0])
			return nil
		},
		Shard:     Elementwise,
		Pointwise: true,
	})
}

// registerIntegers registers a function of two integers; the example is of 8, 0 and 12, 0.
func registerIntegers(name, returns, gives string, row kernel.Binary) {
	register((&binaryOp{row: row, wants: "integers"}).def(&Def{
		Name:    name,
		Surface: Method | Function,
		MakeDoc: func() string {
			return fmt.Sprintf("%s(x, other) returns %s, elementwise, of integers.\n"+
				"x and other are broadcast.\n>>> %s(tensor([8, 0]), tensor([12, 0])).tolist()\n%s", name, returns, name, gives)
		},
		Shard: Elementwise,
	}))
}

func init() {
	for _, s := range []struct {
		name, symbol, gives, zero string
		row                       kernel.Binary
	}{
		{"bitwise_left_shift", "<<", "[24]", "0", kernel.ShiftLeft},
		{"bitwise_right_shift", ">>", "[1]", "0, or -1 where x is negative,", kernel.ShiftRight},
	} {
		register((&binaryOp{row: s.row, wants: "integers"}).def(&Def{
			Name:    s.name,
			Surface: Method | Function,
			Symbol:  s.symbol,
			MakeDoc: func() string {
				return fmt.Sprintf("%s(x, other) returns x %s other, elementwise, of integers: the bits of x moved by other.\n"+
					"x and other are broadcast. It is %s where other is negative or has no less than the number of bits.\n"+
					">>> %s(tensor([6]), tensor([2])).tolist()\n%s", s.name, s.symbol, s.zero, s.name, s.gives)
			},
			Shard: Elementwise,
		}))
	}
}

// And returns x & y, of bools.
func (t *Tape) And(x, y *tensor.Tensor) *tensor.Tensor { return t.binary("and", x, y) }
