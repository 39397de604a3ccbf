package op

import (
	goruntime "runtime"

	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "scatter_put",
		Surface: Internal,
		Doc:     "scatter_put(x, dim, index, src) returns a copy of x with src, of the shape of index: each element at its place but with the index of dim that index gives; of equal places the last wins.",
		Params:  []Param{inX, {Name: "dim", Kind: Dim, Doc: "the dim to index"}, {Name: "index", Kind: Tensor, Doc: "an integer tensor"}, {Name: "src", Kind: Tensor, Doc: "a tensor of x's dtype"}},
		Infer: func(c *Call) error {
			if _, err := inferAlong(c); err != nil {
				return err
			}
			if x, src := c.In[0], c.In[2]; src.DType() != x.DType() || !src.Shape().Equal(c.In[1].Shape()) {
				return c.Bad("src", Describe(src), "dtype "+x.DType().String()+" and the shape of index", "")
			}
			return c.Result(c.In[0].DType(), c.In[0].Shape())
		},
		Run:   runScatterPut,
		Grad:  scatterPutGrad,
		Shard: scatterFoldRows,
		Cost:  scatterCost,
	})
}

func runScatterPut(c *Call) error {
	x, index, y := c.In[0], c.In[1], c.Out[0]
	d, err := c.Dim(0, x.Shape())
	if err != nil {
		return err
	}
	src, err := contiguous(c.Ctx, c.In[2])
	if err != nil {
		return c.memory(err)
	}
	copyInto(y, x)
	err = c.putAlong(y, src, index, d)
	goruntime.KeepAlive(src)
	return err
}

// For y = scatter_put(x, src), dx is dy with zeros at the places, and dsrc is dy there, with
// zeros for what a later element replaced: numbers that are put where src was tell.
func scatterPutGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x, index, src := c.In[0], c.In[1], c.In[2]
	put := func(x, v *tensor.Tensor) *tensor.Tensor {
		return t.Do("scatter_put", []*tensor.Tensor{x, index, v}, c.Args...)
	}
	at := func(x *tensor.Tensor) *tensor.Tensor {
		return t.Do("gather", []*tensor.Tensor{x, index}, c.Args...)
	}
	grads := make([]*tensor.Tensor, 3)
	if x.RequiresGrad() {
		grads[0] = put(dy[0], t.Zeros(dy[0].DType(), src.Shape()))
	}
	if src.RequiresGrad() {
		number := t.Reshape((&maker{t, c}).upTo(src.Numel()), src.Shape())
		last := t.binary("eq", at(put(t.Zeros(dtype.Int64, x.Shape()), number)), number)
		grads[2] = t.Where(last, at(dy[0]), tensor.Number(0.0))
	}
	return grads
}
