package op

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

func init() {
	like := func(name, doc string) Param {
		return Param{Name: name, Kind: Tensor, Doc: doc + ", a float tensor of the shape of x"}
	}
	number := func(name, doc string) Param { return Param{Name: name, Kind: Float, Doc: doc} }
	params := []Param{
		{Name: "x", Kind: Tensor, Doc: "a float tensor"},
		like("m", "the mean of gradients"), like("v", "the mean of their squares"), like("g", "the gradient"),
		number("decay", "the factor of x"), number("weight", "how far from m to g"),
		number("keep", "the factor of v"), number("share", "the factor of g²"),
		number("rate", "the learning rate"), number("root", "what √v is divided by"), number("eps", "a small number"),
	}
	register(&Def{
		Name:    "adam_update",
		Surface: Internal,
		Doc:     "adam_update(x, m, v, g, ...) returns adam_step of decay x, lerp of m and g, and add_square of v and g.",
		Params:  params,
		Infer: func(c *Call) error {
			if err := c.checkAlike(); err != nil {
				return err
			}
			return c.Result(promote(c.Ctx, c.In...), c.In[0].Shape())
		},
		InParts: true,
		Run: func(c *Call) error {
			_, _, x, err := c.adamValues()
			if err == nil {
				copyInto(c.Out[0], x)
			}
			return err
		},
		Shard: Elementwise,
		Cost:  each(14),
	})
	register(&Def{
		Name:    "adam_update_",
		Surface: Internal,
		Doc:     "adam_update_(x, m, v, g, ...) returns x, in which it stores adam_update, and stores lerp of m and g in m, and add_square of v and g in v, in one pass.",
		Params:  params,
		InPlace: true,
		Writes:  3,
		Base:    "adam_update",
		Infer: func(c *Call) error {
			if err := c.checkAlike(); err != nil {
				return err
			}
			return c.intoX(promote(c.Ctx, c.In...), c.In[0].Shape())
		},
		InParts: true,
		Run:     runAdamInto,
		Shard:   Elementwise,
	})
}

// adamRule returns the numbers of c.
func (c *Call) adamRule() *kernel.AdamRule {
	a := c.Args
	return &kernel.AdamRule{Decay: a[0].Float, Weight: a[1].Float, Keep: a[2].Float, Share: a[3].Float,
		Rate: a[4].Float, Root: a[5].Float, Eps: a[6].Float}
}

// adamValues returns what adam_update_ stores in m, v and x.
func (c *Call) adamValues() (m, v, x *tensor.Tensor, err error) {
	if computeOf(c.In...) == dtype.Float64 {
		return adamSteps[float64](c, dtype.Float64)
	}
	return adamSteps[float32](c, dtype.Float32)
}

func adamSteps[T dtype.Float](c *Call, dt dtype.DType) (m, v, x *tensor.Tensor, err error) {
	var room [3]*tensor.Tensor
	for i := range room {
		if room[i], err = c.room(dt, c.In[0].Shape()); err != nil {
			return nil, nil, nil, err
		}
	}
	r := c.adamRule()
	m, v, x = room[0], room[1], room[2]
	run2(c.Ctx.Workers, m, c.In[1], c.In[3], func(dst, x, y []T) { kernel.LerpTo(dst, x, y, T(r.Weight)) })
	run2(c.Ctx.Workers, v, c.In[2], c.In[3], func(dst, x, y []T) { kernel.AddSquareTo(dst, x, y, T(r.Keep), T(r.Share)) })
	runBinary(c.Ctx.Workers, &kernel.Mul, dt, x, c.In[0], tensor.Number(r.Decay))
	run3(c.Ctx.Workers, x, x, m, v, func(dst, x, m, v []T) { kernel.AdamTo(dst, x, m, v, T(r.Rate), T(r.Root), T(r.Eps)) })
	return m, v, x, nil
}

// runAdamInto computes in place if no two of the tensors share storage.
func runAdamInto(c *Call) error {
	if adamDirect[float32](c) || adamDirect[float64](c) {
		return nil
	}
	m, v, x, err := c.adamValues()
	if err != nil {
		return err
	}
	copyInto(c.In[1], m)
	copyInto(c.In[2], v)
	copyInto(c.In[0], x)
	return nil
}

// adamDirect runs the kernel on the storage of the tensors. It reports false,
// and does nothing, if that is not possible.
func adamDirect[T dtype.Float](c *Call) bool {
	var data [4][]T
	for i, x := range c.In {
		d, ok := direct[T](x)
		if !ok {
			return false
		}
		for _, y := range c.In[:i] {
			if x.Buffer() == y.Buffer() {
				return false
			}
		}
		data[i] = d
	}
	kernel.AdamStepTo(data[0], data[1], data[2], data[3], c.adamRule())
	return true
}
