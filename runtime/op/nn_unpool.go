package op

import (
	"fmt"
	goruntime "runtime"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "unpool_put",
		Surface: Internal,
		Doc: "unpool_put(x, index, size) returns zeros [n, c, size] with the elements of x [n, c, k] at the places that index gives along the last dim; of equal places the last wins.\n" +
			"As in PyTorch each gets the gradient of its place, also one that a later one replaced:\n" +
			"where windows overlap it is the same element.",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor [n, c, k]"},
			{Name: "index", Kind: Tensor, Doc: "an integer tensor of the shape of x"},
			{Name: "size", Kind: Int, Doc: "how many places there are"},
		},
		Infer: inferUnpool,
		Run: func(c *Call) error {
			src, err := contiguous(c.Ctx, c.In[0])
			if err != nil {
				return c.memory(err)
			}
			clear(c.Out[0].Bytes())
			err = c.putAlong(c.Out[0], src, c.In[1], 2)
			goruntime.KeepAlive(src)
			return err
		},
		Reads: ReadsRest,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{t.Do("gather", []*tensor.Tensor{dy[0], c.In[1]}, Int1(2)), nil}
		},
		Shard: besides(func(*Call) []bool { return []bool{false, false, true} }),
		Cost:  moves,
	})
}

// inferUnpool checks a call that has an index [n, c, k] of places of x, one of size.
func inferUnpool(c *Call) error {
	x, index := c.In[0], c.In[1]
	if x.Ndim() != 3 {
		return c.Bad("x", Describe(x), "a tensor [n, c, k]", "")
	}
	if err := c.checkInts("index", index); err != nil {
		return err
	}
	if !index.Shape().Equal(x.Shape()) {
		return c.Bad("index", Describe(index), "shape "+x.Shape().String(), "x is "+Describe(x))
	}
	if c.Args[0].Int < 0 {
		return c.Bad("size", fmt.Sprint(c.Args[0].Int), "a non-negative int", "")
	}
	return c.Result(x.DType(), shape.Shape{x.Shape()[0], x.Shape()[1], c.Args[0].Int})
}
