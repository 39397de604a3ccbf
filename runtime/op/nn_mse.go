package op

import (
	goruntime "runtime"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "mse_loss",
		Surface: Namespace,
		Doc: "mse_loss(x, target, reduction=\"mean\") returns the squared differences of x and target, averaged.\n" +
			"Their shapes are broadcast.\n" +
			">>> F.mse_loss(tensor([1.0, 2.0]), tensor([1.0, 4.0]))\n" +
			"2.0",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a float tensor"},
			{Name: "target", Kind: Tensor, Doc: "a float tensor"},
			reductionParam,
		},
		Infer: inferMSE,
		Run:   runMSE,
		Reads: ReadsInputs,
		Grad:  mseGrad,
		Shard: func(c *Call) []Row {
			s, _ := shape.Broadcast(c.In[0].Shape(), c.In[1].Shape())
			return c.lossRows(s)
		},
		Local: localLoss,
		Cost:  mseCost,
	})
	register(&Def{
		Name:    "mse_grad",
		Surface: Internal,
		Doc: "mse_grad(x, target, dy, share) returns 2 (x - target) dy share, elementwise: the gradient of a mean squared error.\n" +
			"x and target are broadcast.",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a float tensor"},
			{Name: "target", Kind: Tensor, Doc: "a float tensor"},
			{Name: "dy", Kind: Tensor, Doc: "a float tensor of shape ()"},
			{Name: "share", Kind: Float, Doc: "1 for a sum, 1 / n for a mean of n elements"},
		},
		Infer: inferMSEGrad,
		Run:   runMSEGrad,
		Grad:  mseGradGrad,
		Shard: func(c *Call) []Row {
			s, _ := shape.Broadcast(c.In[0].Shape(), c.In[1].Shape())
			return spreadRows(c, s, mesh.Shard)
		},
		Cost: mseGradCost,
	})
}

func inferMSE(c *Call) error {
	x, target := c.In[0], c.In[1]
	if err := c.checkFloat("x", x); err != nil {
		return err
	}
	if err := c.checkFloat("target", target); err != nil {
		return err
	}
	s, ok := shape.Broadcast(x.Shape(), target.Shape())
	if !ok {
		return c.Bad("target", Describe(target), "shape "+x.Shape().String(), "the shapes do not broadcast")
	}
	return c.Result(promote(c.Ctx, x, target), reduced(c.Args[0].Str, s))
}

func runMSE(c *Call) error {
	if c.Out[0].DType().Compute() == dtype.Float64 {
		mseTo(c, kernel.SquaredDifference.F64, &kernel.Sum.F64)
	} else {
		mseTo(c, kernel.SquaredDifference.F32, &kernel.Sum.F32)
	}
	return nil
}

// mseTo stores the losses in c.Out[0], or their sum or mean, in which case they
// are made block by block as they are added.
func mseTo[T dtype.Float](c *Call, loss func(dst, x, y []T), sum *kernel.Reduction[T]) {
	x, target, y := c.In[0], c.In[1], c.Out[0]
	if c.Args[0].Str == "none" {
		run2(c.Ctx.Workers, y, x, target, loss)
		return
	}
	s, _ := shape.Broadcast(x.Shape(), target.Shape())
	f := fold{outer: 1, k: s.Numel()}
	xs, ts := newSource[T](x, s), newSource[T](target, s)
	losses, b := scratch[T](y, min(f.k, kernel.Block))
	defer b.Discard()
	load := func(lo, hi int) []T {
		loss(losses[:hi-lo], xs.block(lo, hi), ts.block(lo, hi))
		return losses[:hi-lo]
	}
	var finish func(lo int, d []T)
	if c.Args[0].Str == "mean" {
		finish = divideBy[T](float64(f.k))
	}
	reduceBlocks(y, &f, sum, load, finish)
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(target)
}

// mseGrad is dx = 2 (x - target) dy / n, and its opposite for the target.
func mseGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x, target := c.In[0], c.In[1]
	g := t.mseSlope(c, t.wide(x), t.wide(target), t.wide(dy[0]))
	dx := []*tensor.Tensor{t.SumTo(g, x.Shape()), nil}
	if target.RequiresGrad() {
		dx[1] = t.Neg(t.SumTo(g, target.Shape()))
	}
	return dx
}

// mseSlope returns the gradient of every difference of x and target.
func (t *Tape) mseSlope(c *Call, x, target, dy *tensor.Tensor) *tensor.Tensor {
	share := 1.0
	switch c.Args[0].Str {
	case "none":
		return t.Mul(t.Scale(t.Sub(x, target), 2), dy)
	case "mean":
		s, _ := shape.Broadcast(x.Shape(), target.Shape())
		share /= float64(s.Numel())
	}
	return t.Do("mse_grad", []*tensor.Tensor{x, target, dy}, Float1(share))
}

func inferMSEGrad(c *Call) error {
	s, err := c.broadcast2(c.In[0], c.In[1], "target")
	if err != nil {
		return err
	}
	for i, x := range c.In {
		if err := c.checkFloat(c.InName(i), x); err != nil {
			return err
		}
	}
	if dy := c.In[2]; dy.Ndim() != 0 {
		return c.Bad("dy", Describe(dy), "shape ()", "")
	}
	return c.Result(promote(c.Ctx, c.In...), s)
}

func runMSEGrad(c *Call) error {
	if computeOf(c.In...) == dtype.Float64 {
		mseGradTo(c, kernel.Sub.F64, kernel.Mul.F64)
	} else {
		mseGradTo(c, kernel.Sub.F32, kernel.Mul.F32)
	}
	return nil
}

// mseGradTo stores the gradient in c.Out[0]. A difference is multiplied by one
// factor, whose 2 changes no rounding, while it is in the cache.
func mseGradTo[T dtype.Float](c *Call, sub, mul func(dst, x, y []T)) {
	dys := newSource[T](c.In[2], shape.Shape{})
	factors, b := scratch[T](c.Out[0], 256)
	defer b.Discard()
	kernel.Fill(factors, 2*T(dys.block(0, 1)[0]*T(c.Args[0].Float)))
	run2(c.Ctx.Workers, c.Out[0], c.In[0], c.In[1], func(dst, x, y []T) {
		for len(dst) > 0 {
			n := min(len(dst), len(factors))
			sub(dst[:n], x[:n], y[:n])
			mul(dst[:n], dst[:n], factors[:n])
			dst, x, y = dst[n:], x[n:], y[n:]
		}
	})
	goruntime.KeepAlive(c.In[2])
}

// mseGradGrad is, for g = 2 (x - target) dy share, dx = 2 dy share dg, its
// opposite for the target, and for dy the sum of 2 (x - target) share dg.
func mseGradGrad(t *Tape, c *Call, dg []*tensor.Tensor) []*tensor.Tensor {
	x, target, dy := c.In[0], c.In[1], c.In[2]
	twice := 2 * c.Args[0].Float
	dx := make([]*tensor.Tensor, 3)
	if x.RequiresGrad() || target.RequiresGrad() {
		h := t.Mul(dg[0], t.Scale(dy, twice))
		dx[0] = t.SumTo(h, x.Shape())
		dx[1] = t.Neg(t.SumTo(h, target.Shape()))
	}
	if dy.RequiresGrad() {
		h := t.Mul(dg[0], t.Scale(t.Sub(x, target), twice))
		dx[2] = t.SumTo(h, dy.Shape())
	}
	return dx
}
