package op

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

// The operators of this file are the steps of optimisers. Each is there twice:
// as the value, and with an underscore, as optimisers use it, storing the value
// in x. They are applied where nothing is recorded, and have no gradient.

// A stepOp is one of them. Its tensors have one shape.
type stepOp struct {
	name    string
	returns string
	tensors []Param // after x
	numbers []Param
	f32     func(c *Call, dst *tensor.Tensor, in []*tensor.Tensor)
	f64     func(c *Call, dst *tensor.Tensor, in []*tensor.Tensor)
	shard   Rule
	cost    int // operations an element
}

func init() {
	other := Param{Name: "y", Kind: Tensor, Doc: "a float tensor of the shape of x"}
	number := func(name, doc string) Param { return Param{Name: name, Kind: Float, Doc: doc} }
	for _, s := range []*stepOp{
		{
			name: "combine", returns: "a x + b y",
			tensors: []Param{other}, numbers: []Param{number("a", "the factor of x"), number("b", "the factor of y")},
			f32: runCombine[float32], f64: runCombine[float64], shard: Linear, cost: 3,
		},
		{
			name: "lerp", returns: "x + weight (y - x)",
			tensors: []Param{other}, numbers: []Param{number("weight", "how far from x to y")},
			f32: runLerp[float32], f64: runLerp[float64], shard: Linear, cost: 3,
		},
		{
			name: "add_square", returns: "keep x + share y²",
			tensors: []Param{other}, numbers: []Param{number("keep", "the factor of x"), number("share", "the factor of y²")},
			f32: runAddSquare[float32], f64: runAddSquare[float64], shard: Elementwise, cost: 4,
		},
		{
			name: "adam_step", returns: "x - rate m / (√v / root + eps)",
			tensors: []Param{{Name: "m", Kind: Tensor, Doc: "the mean of gradients"}, {Name: "v", Kind: Tensor, Doc: "the mean of their squares"}},
			numbers: []Param{number("rate", "the learning rate"), number("root", "what √v is divided by"), number("eps", "a small number")},
			f32:     runAdam[float32], f64: runAdam[float64], shard: Elementwise, cost: 6,
		},
	} {
		s.register()
	}
}

func runCombine[T dtype.Float](c *Call, dst *tensor.Tensor, in []*tensor.Tensor) {
	a, b := T(c.Args[0].Float), T(c.Args[1].Float)
	run2(c.Ctx.Workers, dst, in[0], in[1], func(dst, x, y []T) { kernel.CombineTo(dst, x, y, a, b) })
}

func runLerp[T dtype.Float](c *Call, dst *tensor.Tensor, in []*tensor.Tensor) {
	w := T(c.Args[0].Float)
	run2(c.Ctx.Workers, dst, in[0], in[1], func(dst, x, y []T) { kernel.LerpTo(dst, x, y, w) })
}

func runAddSquare[T dtype.Float](c *Call, dst *tensor.Tensor, in []*tensor.Tensor) {
	keep, share := T(c.Args[0].Float), T(c.Args[1].Float)
	run2(c.Ctx.Workers, dst, in[0], in[1], func(dst, x, y []T) { kernel.AddSquareTo(dst, x, y, keep, share) })
}

func runAdam[T dtype.Float](c *Call, dst *tensor.Tensor, in []*tensor.Tensor) {
	rate, root, eps := T(c.Args[0].Float), T(c.Args[1].Float), T(c.Args[2].Float)
	run3(c.Ctx.Workers, dst, in[0], in[1], in[2], func(dst, x, m, v []T) { kernel.AdamTo(dst, x, m, v, rate, root, eps) })
}

// register registers both forms of s.
func (s *stepOp) register() {
	params := append([]Param{{Name: "x", Kind: Tensor, Doc: "a float tensor"}}, s.tensors...)
	params = append(params, s.numbers...)
	register(&Def{
		Name:    s.name,
		Surface: Internal,
		Doc:     s.name + "(x, ...) returns " + s.returns + ", elementwise.",
		Params:  params,
		Infer: func(c *Call) error {
			if err := c.checkAlike(); err != nil {
				return err
			}
			return c.Result(promote(c.Ctx, c.In...), c.In[0].Shape())
		},
		Run:     func(c *Call) error { s.compute(c, c.Out[0], c.In); return nil },
		Shard:   s.shard,
		Cost:    each(s.cost),
		InParts: true,
	})
	register(&Def{
		Name:    s.name + "_",
		Surface: Internal,
		Doc:     s.name + "_(x, ...) returns x, in which it stores " + s.returns + ".",
		Params:  params,
		InPlace: true,
		Base:    s.name,
		Infer: func(c *Call) error {
			if err := c.checkAlike(); err != nil {
				return err
			}
			return c.intoX(promote(c.Ctx, c.In...), c.In[0].Shape())
		},
		Run:   s.runInto,
		Shard: s.shard,
	})
}

// checkAlike returns an error unless the tensors are floats of one shape.
func (c *Call) checkAlike() error {
	for i, x := range c.In {
		if err := c.checkFloat(c.InName(i), x); err != nil {
			return err
		}
		if s := c.In[0].Shape(); !x.Shape().Equal(s) {
			return c.Bad(c.InName(i), Describe(x), "shape "+s.String(), "that of x")
		}
	}
	return nil
}

func (s *stepOp) runInto(c *Call) error {
	in := []*tensor.Tensor{c.In[0]}
	for _, y := range c.In[1:] {
		y, err := c.apart(y)
		if err != nil {
			return err
		}
		in = append(in, y)
	}
	s.compute(c, c.In[0], in)
	return nil
}

// compute stores in dst what the step makes of the inputs in.
func (s *stepOp) compute(c *Call, dst *tensor.Tensor, in []*tensor.Tensor) {
	if computeOf(in...) == dtype.Float64 {
		s.f64(c, dst, in)
	} else {
		s.f32(c, dst, in)
	}
}
