package op

import (
	"math"

	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

func init() {
	approximate := Param{Name: "approximate", Kind: Choice, Doc: `"none", or "tanh" for the approximation by tanh`,
		Default: Default(Str1("none")), Choices: []string{"none", "tanh"}}
	register(&Def{
		Name:    "gelu",
		Surface: Namespace,
		Doc: "gelu(x, approximate=\"none\") returns x times the normal distribution function at x.\n" +
			">>> F.gelu(tensor([-1.0, 0.0, 1.0]))\n" +
			"[-0.15865526  0.          0.8413447 ]",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a float tensor"}, approximate},
		Infer:  inferActivation,
		Run:    func(c *Call) error { float1(c.Ctx.Workers, c.Out[0], c.In[0], geluRow(c)); return nil },
		Reads:  ReadsInputs,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{t.Do("gelu_grad", []*tensor.Tensor{dy[0], c.In[0]}, c.Args...)}
		},
		Shard:     Elementwise,
		Cost:      geluCost,
		Pointwise: true,
	})
	register(&Def{
		Name:    "gelu_grad",
		Surface: Internal,
		Doc:     "gelu_grad(g, x, approximate) returns g times the derivative of gelu at x.",
		Params:  []Param{{Name: "g", Kind: Tensor, Doc: "a gradient"}, {Name: "x", Kind: Tensor, Doc: "what gelu was given"}, approximate},
		Infer:   inferActivationGrad,
		Run:     func(c *Call) error { float2(c.Ctx.Workers, c.Out[0], c.In[0], c.In[1], geluGradRow(c)); return nil },
		Reads:   ReadsInputs,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			g, x := t.wide(c.In[0]), t.wide(c.In[1])
			second := t.geluSecond(x)
			if c.Args[0].Str == "tanh" {
				second = t.geluTanhSecond(x)
			}
			return []*tensor.Tensor{t.Do("gelu_grad", []*tensor.Tensor{dy[0], x}, c.Args...), t.Mul(dy[0], t.Mul(g, second))}
		},
		Shard:     LinearIn(0),
		Cost:      geluGradCost,
		Pointwise: true,
	})
	register(&Def{
		Name:    "silu",
		Surface: Namespace,
		Doc: "silu(x) returns x times the sigmoid of x.\n" +
			">>> F.silu(tensor([-1.0, 0.0, 1.0]))\n" +
			"[-0.26894143  0.          0.7310586 ]",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a float tensor"}},
		Infer:  inferActivation,
		Run:    func(c *Call) error { float1(c.Ctx.Workers, c.Out[0], c.In[0], &kernel.Silu); return nil },
		Reads:  ReadsInputs,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{t.binary("silu_grad", dy[0], c.In[0])}
		},
		Shard:     Elementwise,
		Cost:      each(2),
		Pointwise: true,
	})
	register(&Def{
		Name:    "silu_grad",
		Surface: Internal,
		Doc:     "silu_grad(g, x) returns g times the derivative of silu at x.",
		Params:  []Param{{Name: "g", Kind: Tensor, Doc: "a gradient"}, {Name: "x", Kind: Tensor, Doc: "what silu was given"}},
		Infer:   inferActivationGrad,
		Run:     func(c *Call) error { float2(c.Ctx.Workers, c.Out[0], c.In[0], c.In[1], &kernel.SiluGrad); return nil },
		Reads:   ReadsInputs,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			g, x := t.wide(c.In[0]), t.wide(c.In[1])
			return []*tensor.Tensor{t.binary("silu_grad", dy[0], x), t.Mul(dy[0], t.Mul(g, t.siluSecond(x)))}
		},
		Shard:     LinearIn(0),
		Cost:      each(6),
		Pointwise: true,
	})
	register(&Def{
		Name:    "softplus",
		Surface: Internal,
		Doc:     "softplus(x) returns log(1 + exp(x)).",
		Params:  []Param{{Name: "x", Kind: Tensor, Doc: "a float tensor"}},
		Infer:   inferActivation,
		Run:     func(c *Call) error { float1(c.Ctx.Workers, c.Out[0], c.In[0], &kernel.Softplus); return nil },
		Reads:   ReadsInputs,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{t.Mul(dy[0], t.unary("sigmoid", t.wide(c.In[0])))}
		},
		Shard:     Monotonic,
		Cost:      each(3),
		Pointwise: true,
	})
}

func inferActivation(c *Call) error {
	if err := c.checkFloat("x", c.In[0]); err != nil {
		return err
	}
	return c.Result(c.In[0].DType(), c.In[0].Shape())
}

// inferActivationGrad is the shape rule of the derivatives, whose two inputs
// are alike but may differ in dtype.
func inferActivationGrad(c *Call) error {
	if err := c.checkFloat(c.InName(1), c.In[1]); err != nil {
		return err
	}
	if !c.In[0].Shape().Equal(c.In[1].Shape()) {
		return c.Bad("g", Describe(c.In[0]), "shape "+c.In[1].Shape().String(), "that of "+c.InName(1))
	}
	return c.Result(promote(c.Ctx, c.In...), c.In[1].Shape())
}

func geluRow(c *Call) *kernel.Unary {
	if c.Args[0].Str == "tanh" {
		return &kernel.GeluTanh
	}
	return &kernel.Gelu
}

func geluGradRow(c *Call) *kernel.Binary {
	if c.Args[0].Str == "tanh" {
		return &kernel.GeluTanhGrad
	}
	return &kernel.GeluGrad
}

// geluSecond returns the second derivative of gelu: φ(x) (2 - x²).
func (t *Tape) geluSecond(x *tensor.Tensor) *tensor.Tensor {
	x2 := t.Mul(x, x)
	density := t.Scale(t.unary("exp", t.Scale(x2, -0.5)), 1/math.Sqrt(2*math.Pi))
	return t.Mul(density, t.AddNumber(t.Neg(x2), 2))
}

// geluTanhSecond returns the second derivative of gelu's approximation. With
// u = √(2/π)(x + 0.044715 x³) and T = tanh u it is
// (1 - T²) (u' + x u”/2 - x T u'²).
func (t *Tape) geluTanhSecond(x *tensor.Tensor) *tensor.Tensor {
	const scale, cube = 0.7978845608028654, 0.044715
	x2 := t.Mul(x, x)
	th := t.unary("tanh", t.Mul(t.Scale(x, scale), t.AddNumber(t.Scale(x2, cube), 1)))
	u1 := t.Scale(t.AddNumber(t.Scale(x2, 3*cube), 1), scale)
	sum := t.Add(u1, t.Scale(x2, 3*cube*scale)) // x u''/2 = √(2/π) 3·0.044715 x²
	sum = t.Sub(sum, t.Mul(t.Mul(x, th), t.Mul(u1, u1)))
	return t.Mul(t.AddNumber(t.Neg(t.Mul(th, th)), 1), sum)
}

// siluSecond returns the second derivative of silu: s (1 - s) (2 + x (1 - 2s))
// for the sigmoid s.
func (t *Tape) siluSecond(x *tensor.Tensor) *tensor.Tensor {
	s := t.unary("sigmoid", x)
	slope := t.Sub(s, t.Mul(s, s))
	bend := t.AddNumber(t.Mul(x, t.AddNumber(t.Scale(s, -2), 1)), 2)
	return t.Mul(slope, bend)
}
