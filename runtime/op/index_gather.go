package op

import (
	"fmt"

	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "gather",
		Surface: Method,
		Doc: "gather(x, dim, index) returns elements of x: for each of index the one at its place, but with that index of dim.\n" +
			"index has as many dims as x and is no larger but along dim. Negative indices count\n" +
			"from the end. An index without elements may be of any shape.\n" +
			">>> tensor([[1, 2], [3, 4]]).gather(1, tensor([[0, 0], [1, 0]])).tolist()\n" +
			"[[1, 1], [4, 3]]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "dim", Kind: Dim, Doc: "the dim to index"},
			{Name: "index", Kind: Tensor, Doc: "an integer tensor"},
		},
		Infer: inferGather,
		Run:   runGather,
		Reads: ReadsInputs,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			zeros := t.Do("zeros_like", c.In[:1], Int1(int(dy[0].DType())))
			if dy[0].Numel() == 0 {
				return []*tensor.Tensor{zeros, nil}
			}
			return []*tensor.Tensor{t.Do("scatter_add", []*tensor.Tensor{zeros, c.In[1], dy[0]}, c.Args...), nil}
		},

		Shard:   gatherRows,
		Local:   gatherLocal,
		Sited:   anywhere,
		Aligned: alongAligned,
		Cost:    takes,
	})
	register(&Def{
		Name:    "scatter_add",
		Surface: Method,
		Doc: "scatter_add(x, dim, index, src) returns a copy of x with src added: each element at its place but with the index of dim that index gives.\n" +
			"index has as many dims as x and src, is no larger than src, and no larger than x\n" +
			"but along dim. Negative indices count from the end.\n" +
			">>> zeros(3).scatter_add(0, tensor([0, 2, 0]), tensor([1.0, 2.0, 3.0])).tolist()\n" +
			"[4.0, 0.0, 2.0]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor of numbers"},
			{Name: "dim", Kind: Dim, Doc: "the dim to index"},
			{Name: "index", Kind: Tensor, Doc: "an integer tensor"},
			{Name: "src", Kind: Tensor, Doc: "a tensor of x's dtype"},
		},
		Infer: inferScatterAdd,
		Run:   runScatterAdd,
		Grad:  scatterAddGrad,

		Shard:   scatterAddRows,
		Local:   scatterAddLocal,
		Sited:   anywhere,
		Aligned: alongAligned,
		Cost:    scatterCost,
	})
}

// checkAlong returns an error unless x has as many dims as index and is no
// smaller but along dim d; d is -1 for no dim.
func checkAlong(c *Call, param string, x, index *tensor.Tensor, d int) error {
	s, is := x.Shape(), index.Shape()
	if len(s) != len(is) {
		return c.Bad("index", Describe(index), fmt.Sprintf("%d dims", len(s)), param+" is "+Describe(x))
	}
	for e := range s {
		if e != d && is[e] > s[e] {
			return c.Bad("index", Describe(index), fmt.Sprintf("a size of at most %d in dim %d", s[e], e), param+" is "+Describe(x))
		}
	}
	return nil
}

// inferAlong checks the dim and the index tensor of In[0] and returns the dim.
func inferAlong(c *Call) (int, error) {
	x, index := c.In[0], c.In[1]
	d, err := c.Dim(0, x.Shape())
	if err != nil {
		return 0, err
	}
	if err := c.checkInts("index", index); err != nil {
		return 0, err
	}
	return d, checkAlong(c, c.InName(0), x, index, d)
}

func inferGather(c *Call) error {
	if index := c.In[1]; index.Numel() == 0 && index.DType().IsInt() {
		if _, err := c.axis(0, c.In[0].Shape()); err != nil {
			return err
		}
		return c.Result(c.In[0].DType(), index.Shape())
	}
	if _, err := inferAlong(c); err != nil {
		return err
	}
	return c.Result(c.In[0].DType(), c.In[1].Shape())
}

func runGather(c *Call) error {
	if c.Out[0].Numel() == 0 {
		return nil
	}
	d, err := c.Dim(0, c.In[0].Shape())
	if err != nil {
		return err
	}
	return c.takeAlong(c.Out[0], c.In[0], c.In[1], d)
}

func inferScatterAdd(c *Call) error {
	x, index, src := c.In[0], c.In[1], c.In[2]
	if x.DType() == dtype.Bool {
		return c.Bad("x", Describe(x), "a tensor of numbers", "no arithmetic on bools")
	}
	if _, err := inferAlong(c); err != nil {
		return err
	}
	if err := c.sameDType("src", src, x); err != nil {
		return err
	}
	if err := checkAlong(c, "src", src, index, -1); err != nil {
		return err
	}
	return c.Result(x.DType(), x.Shape())
}

func runScatterAdd(c *Call) error {
	x, index, src := c.In[0], c.In[1], c.In[2]
	d, err := c.Dim(0, x.Shape())
	if err != nil {
		return err
	}
	part := src.View(index.Shape(), src.Strides(), src.Offset())
	return c.accumulate(c.Out[0], x, part, func(sum, src *tensor.Tensor) error { return c.addAlong(sum, src, index, d) })
}

// For y = scatter_add(x, src), dx is dy, and dsrc the elements of dy that src
// was added to; what index does not reach of src has no gradient.
func scatterAddGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	src := c.In[2]
	grads := []*tensor.Tensor{dy[0], nil, nil}
	if src.RequiresGrad() {
		g := t.Do("gather", []*tensor.Tensor{dy[0], c.In[1]}, c.Args...)
		grads[2] = t.subtensorPut(g, src.Shape(), make([]int, src.Ndim()))
	}
	return grads
}
