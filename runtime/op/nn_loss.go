package op

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// reductionParam is how a loss joins its elements.
var reductionParam = Param{Name: "reduction", Kind: Choice, Doc: `"mean", "sum", or "none" for every element's own loss`,
	Default: Default(Str1("mean")), Choices: []string{"none", "mean", "sum"}}

func init() {
	register(&Def{
		Name:    "binary_cross_entropy_with_logits",
		Surface: Namespace,
		Doc: "binary_cross_entropy_with_logits(x, target, weight=None, reduction=\"mean\", pos_weight=None) returns the cross entropy of the sigmoid of x against target, averaged.\n" +
			"The target holds numbers from 0 to 1. weight multiplies the losses, pos_weight the\n" +
			"part of each that is due to a target of 1; both are broadcast.\n" +
			">>> F.binary_cross_entropy_with_logits(tensor([0.0]), tensor([1.0]))\n" +
			"0.6931472",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a float tensor"},
			{Name: "target", Kind: Tensor, Doc: "a float tensor of the same shape"},
			{Name: "weight", Kind: OptTensor, Doc: "a float tensor that broadcasts to the shape of x, or None", Default: Default(None)},
			reductionParam,
			{Name: "pos_weight", Kind: OptTensor, Doc: "a float tensor that broadcasts to the shape of x, or None", Default: Default(None)},
		},
		Infer: inferBCE,
		Run:   runBCE,
		Grad:  bceGrad,
		Shard: func(c *Call) []Row { return c.lossRows(c.In[0].Shape()) },
		Local: localLoss,
		Cost:  bceCost,
	})
}

// reduced returns the shape of a loss whose elements have shape s.
func reduced(reduction string, s shape.Shape) shape.Shape {
	if reduction == "none" {
		return s
	}
	return nil
}

// reduce returns the elements of a loss joined.
func (t *Tape) reduce(reduction string, losses *tensor.Tensor) *tensor.Tensor {
	switch reduction {
	case "mean":
		return t.Do("mean", []*tensor.Tensor{losses}, None, Bool1(false))
	case "sum":
		return t.Do("sum", []*tensor.Tensor{losses}, None, Bool1(false))
	}
	return losses
}

// reduceGrad returns the gradient of n elements of a loss, to be broadcast to
// them, given that of the loss.
func (t *Tape) reduceGrad(reduction string, dy *tensor.Tensor, n int) *tensor.Tensor {
	if reduction == "mean" {
		return t.Scale(dy, 1/float64(n))
	}
	return dy
}

func inferBCE(c *Call) error {
	x, target := c.In[0], c.In[1]
	if err := c.checkFloat("x", x); err != nil {
		return err
	}
	if err := c.checkFloat("target", target); err != nil {
		return err
	}
	if !target.Shape().Equal(x.Shape()) {
		return c.Bad("target", Describe(target), "shape "+x.Shape().String(), "that of x")
	}
	if err := c.checkSpread("weight", c.In[2], x.Shape()); err != nil {
		return err
	}
	if err := c.checkSpread("pos_weight", c.In[3], x.Shape()); err != nil {
		return err
	}
	return c.Result(promote(c.Ctx, c.In...), reduced(c.Args[0].Str, x.Shape()))
}

// checkSpread returns an error unless w is nil or a float tensor that
// broadcasts to shape s.
func (c *Call) checkSpread(param string, w *tensor.Tensor, s shape.Shape) error {
	if w == nil {
		return nil
	}
	if err := c.checkFloat(param, w); err != nil {
		return err
	}
	if out, ok := shape.Broadcast(w.Shape(), s); !ok || !out.Equal(s) {
		return c.Bad(param, Describe(w), "a tensor that broadcasts to shape "+s.String(), "that of x")
	}
	return nil
}

func runBCE(c *Call) error {
	x, target, weight, positive := c.In[0], c.In[1], c.In[2], c.In[3]
	if positive == nil {
		positive = tensor.Number(1.0)
	}
	losses, err := c.room(c.Out[0].DType().Compute(), x.Shape())
	if err != nil {
		return err
	}
	defer losses.Buffer().Discard()
	if losses.DType() == dtype.Float64 {
		run3(c.Ctx.Workers, losses, x, target, positive, kernel.BinaryCrossEntropyTo[float64])
	} else {
		run3(c.Ctx.Workers, losses, x, target, positive, kernel.BinaryCrossEntropyTo[float32])
	}
	return c.compose(func(t *Tape) *tensor.Tensor {
		if weight != nil {
			losses = t.Mul(losses, weight)
		}
		return t.reduce(c.Args[0].Str, losses)
	})
}

// bceGrad differentiates w ((1 - t) x + (1 + (p - 1) t) softplus(-x)).
func bceGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x, target := t.wide(c.In[0]), t.wide(c.In[1])
	weight, positive := c.In[2], c.In[3]
	g := t.Expand(t.reduceGrad(c.Args[0].Str, t.wide(dy[0]), x.Numel()), x.Shape())
	dx := make([]*tensor.Tensor, 4)
	plus := func() *tensor.Tensor { return t.unary("softplus", t.Neg(x)) } // -log sigmoid(x)
	if weight != nil {
		if weight.RequiresGrad() {
			loss := t.Add(t.Sub(x, t.Mul(target, x)), t.Mul(t.bceFactor(target, positive), plus()))
			dx[2] = t.SumTo(t.Mul(g, loss), weight.Shape())
		}
		g = t.Mul(g, t.wide(weight))
	}
	if c.In[0].RequiresGrad() {
		dx[0] = t.apply(bceSlope, []*tensor.Tensor{g, x, target, positive})
	}
	if c.In[1].RequiresGrad() { // (p - 1) softplus(-x) - x
		bend := t.Neg(x)
		if positive != nil {
			bend = t.Add(bend, t.Mul(t.AddNumber(t.wide(positive), -1), plus()))
		}
		dx[1] = t.Mul(g, bend)
	}
	if positive != nil && positive.RequiresGrad() {
		dx[3] = t.SumTo(t.Mul(g, t.Mul(target, plus())), positive.Shape())
	}
	return dx
}

// bceSlope is g times the slope of a loss in x, (1 - t) - factor * (1 - sigmoid(x)).
var bceSlope = pointwise("binary_cross_entropy_with_logits",
	[]Param{{Name: "g", Kind: Tensor}, {Name: "x", Kind: Tensor}, {Name: "target", Kind: Tensor}, {Name: "pos_weight", Kind: OptTensor}},
	func(m *maker) *tensor.Tensor {
		x, target := m.x(1), m.x(2)
		up := m.Mul(m.bceFactor(target, m.x(3)), m.unary("sigmoid", m.Neg(x)))
		return m.Mul(m.x(0), m.Sub(m.AddNumber(m.Neg(target), 1), up))
	})

// bceFactor returns 1 + (p - 1) t, of no p 1.
func (t *Tape) bceFactor(target, positive *tensor.Tensor) *tensor.Tensor {
	if positive == nil {
		return tensor.Number(1.0)
	}
	return t.AddNumber(t.Mul(t.AddNumber(t.wide(positive), -1), target), 1)
}
