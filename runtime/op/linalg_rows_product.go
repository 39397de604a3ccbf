package op

import (
	"slices"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "rows_product",
		Surface: Internal,
		Doc: "rows_product(a, b) returns the matrix product of the transposed a and b, all dims in front of the last being the rows of both.\n" +
			"[..., k] and [..., n] give [k, n]: the gradient of a matrix that many rows are\n" +
			"multiplied by.",
		Params: []Param{
			{Name: "a", Kind: Tensor, Doc: "a tensor [..., k], not of bools"},
			{Name: "b", Kind: Tensor, Doc: "a tensor [..., n], not of bools"},
		},
		Infer: inferRowsProduct,
		Run:   runRowsProduct,
		// For y = aᵀ b, da = b dyᵀ and db = a dy.
		Reads: ReadsFactors,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{t.MatMul(c.In[1], t.unary("T", dy[0])), t.MatMul(c.In[0], dy[0])}
		},
		Shard: func(c *Call) []Row {
			lead := dimLetters(c.In[0].Ndim() - 1)
			return letterRows(c, []string{lead + "k", lead + "n"}, "kn")
		},
		Cost: rowsProductCost,
	})
}

// rowsProduct returns aᵀ b, of rows [..., k] and [..., n].
func (t *Tape) rowsProduct(a, b *tensor.Tensor) *tensor.Tensor {
	return t.binary("rows_product", a, b)
}

func inferRowsProduct(c *Call) error {
	dt, err := inferFactors(c, 0)
	if err != nil {
		return err
	}
	as, bs := c.In[0].Shape(), c.In[1].Shape()
	if len(as) == 0 {
		return c.Bad("a", Describe(c.In[0]), "a tensor [..., k]", "")
	}
	if n := len(as) - 1; len(bs) != len(as) || !as[:n].Equal(bs[:n]) {
		return c.Bad("b", Describe(c.In[1]), "the sizes of a but for the last", "a is "+Describe(c.In[0]))
	}
	return c.Result(dt, shape.Shape{as[len(as)-1], bs[len(bs)-1]})
}

func runRowsProduct(c *Call) error {
	a, err := c.asRows(c.In[0])
	if err != nil {
		return err
	}
	b, err := c.asRows(c.In[1])
	if err != nil {
		return err
	}
	s, strides := slices.Clone(a.Shape()), slices.Clone(a.Strides())
	slices.Reverse(s)
	slices.Reverse(strides)
	return productOf(a.View(s, strides, a.Offset()), b).into(c, c.Out[0])
}

// asRows returns x [..., n] as a matrix, whose rows are the dims in front: a
// view if its strides allow, else a copy.
func (c *Call) asRows(x *tensor.Tensor) (*tensor.Tensor, error) {
	if x.Ndim() == 2 {
		return x, nil
	}
	n := x.Shape()[x.Ndim()-1]
	s := shape.Shape{x.Shape()[:x.Ndim()-1].Numel(), n}
	if strides, ok := viewStrides(x, s); ok {
		return x.View(s, strides, x.Offset()), nil
	}
	y, err := c.inOrder(x, x.DType())
	if err != nil {
		return nil, err
	}
	return y.View(s, s.Strides(), y.Offset()), nil
}
