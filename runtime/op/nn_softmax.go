package op

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

func init() {
	params := []Param{
		{Name: "x", Kind: Tensor, Doc: "a float tensor"},
		{Name: "dim", Kind: Dim, Doc: "the dim whose elements sum to 1"},
		{Name: "dtype", Kind: OptDType, Doc: "the float dtype to convert x to first, or None", Default: Default(None)},
	}
	register(&Def{
		Name:    "softmax",
		Surface: Method | Namespace,
		Doc: "softmax(x, dim, dtype=None) returns exp(x) divided by its sum over dim.\n" +
			">>> F.softmax(tensor([0.0, 0.0]), dim=0)\n" +
			"[0.5 0.5]",
		Params:  params,
		Infer:   inferSoftmax,
		InParts: true,
		Run:     func(c *Call) error { return c.alongArgDim(kernel.SoftmaxTo[float32], kernel.SoftmaxTo[float64]) },
		Reads:   ReadsResults,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return t.rowGrad(c, dy[0], "softmax_grad", (*Tape).softmaxGrad)
		},
		Shard:   besides(onAxis(0)),
		Compose: composeSoftmax,
		Cost:    eachIn(5),
	})
	register(&Def{
		Name:    "log_softmax",
		Surface: Method | Namespace,
		Doc: "log_softmax(x, dim, dtype=None) returns the logarithm of softmax(x, dim), without overflow.\n" +
			">>> F.log_softmax(tensor([0.0, 0.0]), dim=0)\n" +
			"[-0.6931472 -0.6931472]",
		Params:  params,
		Infer:   inferSoftmax,
		InParts: true,
		Run:     func(c *Call) error { return c.alongArgDim(kernel.LogSoftmaxTo[float32], kernel.LogSoftmaxTo[float64]) },
		Reads:   ReadsResults,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return t.rowGrad(c, dy[0], "log_softmax_grad", (*Tape).logSoftmaxGrad)
		},
		Shard:   besides(onAxis(0)),
		Compose: composeLogSoftmax,
		Cost:    logSoftmaxCost,
	})
}

func inferSoftmax(c *Call) error {
	x := c.In[0]
	dt := x.DType()
	if c.Args[1].Set {
		dt = dtype.DType(c.Args[1].Int)
		if !dt.IsFloat() {
			return c.Bad("dtype", dt.String(), "a float dtype", "")
		}
	} else if err := c.checkFloat("x", x); err != nil {
		return err
	}
	if _, err := c.axis(0, x.Shape()); err != nil {
		return err
	}
	return c.Result(dt, x.Shape())
}

// composeSoftmax takes the greatest and the sum over a dim that is cut.
func composeSoftmax(t *Tape, c *Call) []*tensor.Tensor {
	x, d, dt := t.softmaxInput(c)
	if x == nil {
		return nil
	}
	e := t.unary("exp", t.Sub(x, t.most(x, d)))
	return one(t.Cast(t.Div(e, t.Sum(e, []int{d}, true)), dt))
}

func composeLogSoftmax(t *Tape, c *Call) []*tensor.Tensor {
	x, d, dt := t.softmaxInput(c)
	if x == nil {
		return nil
	}
	x = t.Sub(x, t.most(x, d))
	return one(t.Cast(t.Sub(x, t.unary("log", t.Sum(t.unary("exp", x), []int{d}, true))), dt))
}

// softmaxInput returns what c takes the softmax of, in the dtype of the
// computation, along which dim, and the dtype of the result; nil if that dim is
// not cut.
func (t *Tape) softmaxInput(c *Call) (x *tensor.Tensor, d int, dt dtype.DType) {
	x = c.In[0]
	d, _ = c.axis(0, x.Shape())
	if x.Ndim() == 0 || !cutIn(x, onAxis(0)(c)) {
		return nil, 0, 0
	}
	dt = c.dtypeArg(1, x.DType())
	return t.wide(t.Cast(t.settled(x), dt)), d, dt
}

// most returns the greatest of x along dim d, which stays with size 1. It takes
// no part in differentiation.
func (t *Tape) most(x *tensor.Tensor, d int) *tensor.Tensor {
	return t.shared(t.Do("amax", one(x.Detach()), IntsN(d), Bool1(true)))
}

// alongArgDim is alongDim of the first input, along the dim that the first
// argument names.
func (c *Call) alongArgDim(f32 func(dst, x []float32), f64 func(dst, x []float64)) error {
	d, err := c.axis(0, c.In[0].Shape())
	if err != nil {
		return err
	}
	return c.alongDim(c.In[0], d, f32, f64)
}
