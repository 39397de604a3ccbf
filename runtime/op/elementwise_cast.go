package op

import (
	"fmt"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "to",
		Surface: Method,
		Doc: "to(x, dtype) returns x converted to dtype; of that dtype already, it shares the storage of x.\n" +
			"A float becomes an integer by truncation, kept within the integer's range, NaN\n" +
			"becoming 0; an integer keeps its low bits; all but 0 becomes True.\n" +
			"The device \"cpu\", before the dtype or as device=, changes nothing.\n" +
			">>> tensor([1.9, -1.9]).to(int32).tolist()\n" +
			"[1, -1]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "dtype", Kind: DType, Doc: "the dtype of the result"},
		},
		View: true,
		Infer: func(c *Call) error {
			return c.Result(dtype.DType(c.Args[0].Int), c.In[0].Shape())
		},
		Run: func(c *Call) error {
			x, dt := c.In[0], c.Spec[0].DType
			if x.DType() == dt {
				return c.alias(x)
			}
			return c.copied(x, dt)
		},
		Reads:     ReadsShapes,
		Grad:      sameGrad,
		Shard:     Copying,
		Cost:      castCost,
		Pointwise: true,
	})
	register(&Def{
		Name:    "clone",
		Surface: Method,
		Doc: "clone(x) returns a contiguous copy of x with storage of its own.\n" +
			">>> tensor([1, 2]).clone().tolist()\n" +
			"[1, 2]",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}},
		Infer:  func(c *Call) error { return c.Result(c.In[0].DType(), c.In[0].Shape()) },
		Run: func(c *Call) error {
			copyInto(c.Out[0], c.In[0])
			return nil
		},
		Reads: ReadsShapes,
		Grad:  sameGrad,
		Shard: Copying,
		Cost:  moves,
	})
	register(&Def{
		Name:    "contiguous",
		Surface: Method,
		Doc: "contiguous(x) returns x with its elements in row-major order; if they are, it shares their storage.\n" +
			">>> tensor([[1, 2], [3, 4]]).T.contiguous().tolist()\n" +
			"[[1, 3], [2, 4]]",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}},
		View:   true,
		Infer:  func(c *Call) error { return c.Result(c.In[0].DType(), c.In[0].Shape()) },
		Run: func(c *Call) error {
			if x := c.In[0]; !x.Contiguous() {
				return c.copied(x, x.DType())
			}
			return c.alias(c.In[0])
		},
		Reads: ReadsShapes,
		Grad:  sameGrad,
		Shard: Copying,
		Cost:  inOrderCost,
	})
}

func init() {
	register(&Def{
		Name:    "settle",
		Surface: Internal,
		Doc: "settle(x, dims) returns x, sharing its storage.\n" +
			"The summands that ranks hold of x are made into one, which may then be cut along dims,\n" +
			"along each no more often than it is listed.",
		Params:  []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}, {Name: "dims", Kind: Ints, Doc: "dims of x"}},
		View:    true,
		Infer:   func(c *Call) error { return c.Result(c.In[0].DType(), c.In[0].Shape()) },
		Run:     func(c *Call) error { return c.alias(c.In[0]) },
		Grad:    sameGrad,
		Shard:   besides(func(c *Call) []bool { return without(c.In[0].Ndim(), c.Args[0].Ints) }),
		Aligned: settledAligned,
	})
	registerLike("zeros_like", "zeros", ">>> zeros_like(tensor([1, 2])).tolist()\n[0, 0]", 0)
	registerLike("ones_like", "ones", ">>> ones_like(tensor([1.0, 2.0])).tolist()\n[1.0, 1.0]", 1)
	register(&Def{
		Name:    "empty_like",
		Surface: Function,
		Creates: true,
		Doc: "empty_like(x, dtype=None) returns a tensor of the shape of x, to be filled. It holds zeros.\n" +
			">>> empty_like(tensor([[1, 2]])).shape\n" +
			"(1, 2)",
		Params: likeParams(),
		Infer:  inferLike,
		Run:    func(c *Call) error { return fillWith(c.Out[0], 0) },
		Shard:  likeRule,
		Cost:   makes(0),
	})
	register(&Def{
		Name:    "full_like",
		Surface: Function,
		Creates: true,
		Doc: "full_like(x, fill_value, dtype=None) returns a tensor of the shape of x, and of its dtype if dtype is None, filled with fill_value.\n" +
			">>> full_like(tensor([1, 2]), 7).tolist()\n" +
			"[7, 7]",
		Params: likeParams(Param{Name: "fill_value", Kind: Operand, Doc: "a number or a tensor of one element"}),
		Infer: func(c *Call) error {
			if err := c.oneElement("fill_value", c.In[1]); err != nil {
				return err
			}
			if err := inferLike(c); err != nil {
				return err
			}
			return c.checkNumber("fill_value", c.In[1], c.Spec[0].DType)
		},
		Run: func(c *Call) error {
			copyInto(c.Out[0], scalar(c.In[1]))
			return nil
		},
		Shard: Rule(likeRule).withScalar(1),
		Cost:  makes(0),
	})
}

// likeParams returns the parameters of a creation like x.
func likeParams(more ...Param) []Param {
	params := append([]Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}}, more...)
	return append(params, Param{Name: "dtype", Kind: OptDType, Doc: "the dtype, or None for that of x", Default: Default(None)})
}

// inferLike gives the shape of x, and its dtype if the argument dtype is None.
func inferLike(c *Call) error {
	dt := c.In[0].DType()
	if c.Args[0].Set {
		dt = dtype.DType(c.Args[0].Int)
	}
	return c.Result(dt, c.In[0].Shape())
}

// registerLike registers the creation called name, of tensors filled with v.
func registerLike(name, of, example string, v float64) {
	register(&Def{
		Name:    name,
		Surface: Function,
		Creates: true,
		MakeDoc: func() string {
			return fmt.Sprintf("%s(x, dtype=None) returns a tensor of %s of the shape of x, and of its dtype if dtype is None.\n%s",
				name, of, example)
		},
		Params:    likeParams(),
		Infer:     inferLike,
		Run:       func(c *Call) error { return fillWith(c.Out[0], v) },
		Shard:     likeRule,
		Cost:      makes(0),
		Pointwise: true,
	})
}

// likeRule is the rule of creations like the first input: they are cut as it is,
// and of its elements take nothing.
func likeRule(c *Call) []Row { return append(Elementwise(c), unread(c)...) }

// unread returns the rows of an operator that takes nothing of the elements of
// the first input, in which that is partial.
func unread(c *Call) []Row {
	var rows []Row
	for _, by := range anyPartial {
		row := rowOf(c)
		row.In[0] = mesh.Partial(by)
		rows = append(rows, row)
	}
	return rows
}

// fillWith fills dst with v.
func fillWith(dst *tensor.Tensor, v float64) error {
	copyInto(dst, tensor.Number(v))
	return nil
}

// oneElement refuses x, the tensor parameter called param, if it has not one
// element.
func (c *Call) oneElement(param string, x *tensor.Tensor) error {
	if x.Numel() != 1 {
		return c.Bad(param, Describe(x), "a number or a tensor of one element", "")
	}
	return nil
}

// scalar returns x, of one element, with shape ().
func scalar(x *tensor.Tensor) *tensor.Tensor {
	if x.Ndim() == 0 {
		return x
	}
	return x.View(shape.Shape{}, nil, x.Offset())
}

// alias makes the result of c a tensor on the storage of x.
func (c *Call) alias(x *tensor.Tensor) error {
	c.Out[0] = x.View(x.Shape(), x.Strides(), x.Offset())
	return nil
}

// copied makes the result of c a contiguous copy of x in dtype dt.
func (c *Call) copied(x *tensor.Tensor, dt dtype.DType) error {
	y, err := copyOf(c.Ctx, x, dt)
	if err != nil {
		return c.memory(err)
	}
	c.Out[0] = y
	return nil
}

// sameGrad is the gradient of an operator that changes no value.
func sameGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor { return dy }
