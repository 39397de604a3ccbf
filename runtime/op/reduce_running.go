package op

import (
	goruntime "runtime"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

// What is made, along a dim, of each element and of all before it.

func init() {
	params := []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}, {Name: "dim", Kind: Dim, Doc: "the dim along which to go"}}
	register(&Def{
		Name:    "running_product",
		Surface: Internal,
		Doc: "running_product(x, dim) returns the products of x along dim up to and with each element.\n" +
			"The elements are multiplied one after the other. Integers and bools are multiplied in int64.",
		Params: params,
		Infer:  inferCumSum,
		Run:    func(c *Call) error { return runScan(c, &kernel.CumProd, false) },
		Grad:   runningProductGrad,
		Shard:  besides(onAxis(0)),
	})
	register(&Def{
		Name:    "running_extreme",
		Surface: Internal,
		Doc: "running_extreme(x, dim, least) returns (values, indices): the greatest element of x along dim up to and with each, or the least, and where the last such is.\n" +
			"NaN counts as greater than all else, and as less.",
		Params: append(params[:2:2], Param{Name: "least", Kind: Bool, Doc: "whether the least are wanted"}),
		Infer: func(c *Call) error {
			x := c.In[0]
			if _, err := c.axis(0, x.Shape()); err != nil {
				return err
			}
			return c.Results(Spec{x.DType(), x.Shape()}, Spec{dtype.Int64, x.Shape()})
		},
		Run:   runRunningExtreme,
		Grad:  sortGrad,
		Shard: besides(onAxis(0)),
	})
	register(&Def{
		Name:    "recurrence",
		Surface: Internal,
		Doc:     "recurrence(x, a, dim, reverse) returns, along dim, y[i] = x[i] + a[i] * y[i-1], or with reverse x[i] + a[i] * y[i+1]; what comes before the first is 0.",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a float tensor"}, {Name: "a", Kind: Tensor, Doc: "a tensor like x"}, {Name: "dim", Kind: Dim, Doc: "the dim along which to go"},
			{Name: "reverse", Kind: Bool, Doc: "from the last element to the first"}},
		Infer: func(c *Call) error {
			x, a := c.In[0], c.In[1]
			if err := c.checkFloat("x", x); err != nil {
				return err
			}
			if a.DType() != x.DType() || !a.Shape().Equal(x.Shape()) {
				return c.Bad("a", Describe(a), "a tensor like x", "x is "+Describe(x))
			}
			return inferCumSum(c)
		},
		Run: runRecurrence,
		// The gradient of y[i] comes by y[i] itself and by y[i+1], a[i+1] times.
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			d, _ := c.axis(0, c.In[0].Shape())
			by := 1
			if c.Args[1].Int != 0 {
				by = -1
			}
			dx := t.Do("recurrence", []*tensor.Tensor{dy[0], t.displaced(c.In[1], d, -by, 0)}, c.Args[0], Bool1(by > 0))
			return []*tensor.Tensor{dx, t.Mul(dx, t.displaced(c.Out[0], d, by, 0))}
		},
		Shard: besides(onAxis(0)),
		Cost:  each(2),
	})
}

// runningProductGrad: with e[i] the product of what is before x[i], that of x[i] is e[i] s[i] for
// s[i] = dy[i] + x[i+1] s[i+1]. It divides by nothing, and so is right where x is 0.
func runningProductGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x, y := c.In[0], c.Out[0]
	d, _ := c.axis(0, x.Shape())
	s := t.Do("recurrence", []*tensor.Tensor{t.Cast(dy[0], x.DType()), t.displaced(x, d, -1, 0)}, c.Args[0], Bool1(true))
	return one(t.Mul(t.displaced(y, d, 1, 1), s))
}

// displaced returns x moved by 1 along d, or by -1, with v in the place that is free.
func (t *Tape) displaced(x *tensor.Tensor, d, by int, v float64) *tensor.Tensor {
	alike := func(x *tensor.Tensor) *tensor.Tensor {
		return t.Do("full_like", []*tensor.Tensor{x, tensor.Number(v)}, None)
	}
	n := sizeAt(x, d)
	if len(x.Shape()) == 0 || n < 2 {
		return alike(x)
	}
	list := []*tensor.Tensor{t.Narrow(x, d, 1, n-1), alike(t.Narrow(x, d, 0, 1))}
	if by > 0 {
		list[1], list[0] = t.Narrow(x, d, 0, n-1), list[1]
	}
	return t.Do("cat", list, Int1(d))
}

// runRunningExtreme stores the extremes of x up to each element, and their indices, in c.Out.
func runRunningExtreme(c *Call) error {
	d, err := c.axis(0, c.In[0].Shape())
	if err != nil {
		return err
	}
	onOrdered(c.In[0].DType(), func() { extremesAlong[float32](c, d) }, func() { extremesAlong[float64](c, d) },
		func() { extremesAlong[int32](c, d) }, func() { extremesAlong[int64](c, d) }, func() { extremesAlong[uint8](c, d) })
	return nil
}

func extremesAlong[T dtype.Number](c *Call, d int) {
	x, values, indices, least := c.In[0], c.Out[0], c.Out[1], c.Args[1].Int != 0
	n, inner := tablesAlong(x.Shape(), d)
	from, ok := direct[T](x)
	to, okTo := direct[T](values)
	if ok && okTo {
		kernel.CumExtremeTo(to, tensor.Data[int64](indices), from, n, inner, least)
		goruntime.KeepAlive(c)
		return
	}
	x, values, indices = lastDim(x, d), lastDim(values, d), lastDim(indices, d)
	src, vs, at := newSource[T](x, x.Shape()), newSink[T](values), newSink[int64](indices)
	for lo, hi := range wholeRows(x) {
		kernel.CumExtremeTo(vs.block(lo, hi), at.block(lo, hi), src.block(lo, hi), n, 1, least)
		vs.store(lo, hi)
		at.store(lo, hi)
	}
	goruntime.KeepAlive(c)
}

// runRecurrence stores y[i] = x[i] + a[i] y[i-1] in c.Out.
func runRecurrence(c *Call) error {
	d, err := c.axis(0, c.In[0].Shape())
	if err != nil {
		return err
	}
	if c.Out[0].DType().Compute() == dtype.Float64 {
		recurAlong[float64](c, d)
	} else {
		recurAlong[float32](c, d)
	}
	return nil
}

func recurAlong[T dtype.Float](c *Call, d int) {
	x, a, y, reverse := c.In[0], c.In[1], c.Out[0], c.Args[1].Int != 0
	n, inner := tablesAlong(x.Shape(), d)
	xs, ok := direct[T](x)
	as, okA := direct[T](a)
	ys, okY := direct[T](y)
	if ok && okA && okY {
		kernel.RecurTo(ys, xs, as, n, inner, reverse)
		goruntime.KeepAlive(c)
		return
	}
	x, a, y = lastDim(x, d), lastDim(a, d), lastDim(y, d)
	src, factors, out := newSource[T](x, x.Shape()), newSource[T](a, a.Shape()), newSink[T](y)
	for lo, hi := range wholeRows(x) {
		kernel.RecurTo(out.block(lo, hi), src.block(lo, hi), factors.block(lo, hi), n, 1, reverse)
		out.store(lo, hi)
	}
	goruntime.KeepAlive(c)
}
