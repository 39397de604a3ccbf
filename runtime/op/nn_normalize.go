package op

import (
	"fmt"
	goruntime "runtime"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	x := Param{Name: "x", Kind: Tensor, Doc: "a float tensor"}
	normalized := Param{Name: "normalized_shape", Kind: IntOrSeq, Doc: "the sizes of the last dims, which are normalised together"}
	weight := Param{Name: "weight", Kind: OptTensor, Doc: "a float tensor of that shape, or None", Default: Default(None)}
	register(&Def{
		Name:    "layer_norm",
		Surface: Namespace,
		Doc: "layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5) returns x with mean 0 and variance 1 over its last dims, times weight plus bias.\n" +
			"The variance is the mean of the squares, to which eps is added.\n" +
			">>> F.layer_norm(tensor([1.0, 3.0]), [2], eps=0.0)\n" +
			"[-1.  1.]",
		Params: []Param{x, normalized, weight,
			{Name: "bias", Kind: OptTensor, Doc: "a float tensor of that shape, or None", Default: Default(None)},
			{Name: "eps", Kind: Float, Doc: "a small number", Default: Default(Float1(1e-5))}},
		Infer:   inferNormalize,
		InParts: true,
		Run:     runNormalize,
		Reads:   ReadsInputs,
		Grad:    normalizeGrad,
		Shard:   normalizeRule,
		Compose: composeNormalize,
		Cost:    normalizeCost,
	})
	register(&Def{
		Name:    "rms_norm",
		Surface: Namespace,
		Doc: "rms_norm(x, normalized_shape, weight=None, eps=None) returns x divided by its root mean square over its last dims, times weight.\n" +
			"eps is added to the mean square; None is the dtype's distance from 1 to the next\n" +
			"number.\n" +
			">>> F.rms_norm(tensor([1.0, -1.0]), [2], eps=0.0)\n" +
			"[ 1. -1.]",
		Params: []Param{x, normalized, weight,
			{Name: "eps", Kind: OptFloat, Doc: "a small number, or None", Default: Default(None)}},
		Infer:   inferNormalize,
		InParts: true,
		Run:     runNormalize,
		Reads:   ReadsInputs,
		Grad:    normalizeGrad,
		Shard:   normalizeRule,
		Compose: composeNormalize,
		Cost:    normalizeCost,
	})
	register(&Def{
		Name:    "normalize_grad",
		Surface: Internal,
		Doc:     "normalize_grad(g, x, n, center, eps) returns the gradient of x in its normalised rows of n elements, given theirs.",
		Params: []Param{{Name: "g", Kind: Tensor, Doc: "a gradient"}, {Name: "x", Kind: Tensor, Doc: "what was normalised"},
			{Name: "n", Kind: Int, Doc: "the elements of a row"}, {Name: "center", Kind: Bool, Doc: "whether the mean was subtracted"},
			{Name: "eps", Kind: Float, Doc: "what was added to the variance"}},
		Infer:   inferNormalizeGrad,
		InParts: true,
		Run:     runNormalizeGrad,
		Grad:    normalizeGradGrad,
		Shard:   normalizeGradRule,
		Compose: composeNormalizeGrad,
		Cost:    normalizeGradCost,
	})
}

// machineEps returns the distance from 1 to the next number of dt.
func machineEps(dt dtype.DType) float64 {
	switch dt {
	case dtype.Float64:
		return 0x1p-52
	case dtype.Float16:
		return 0x1p-10
	case dtype.BFloat16:
		return 0x1p-7
	}
	return 0x1p-23
}

// normal returns how c normalises rows, and how many elements they have.
func (c *Call) normal() (kernel.Normal, int) {
	center, eps := c.Def.Name == "layer_norm", c.Args[1].Float
	if !center && !c.Args[1].Set {
		eps = machineEps(c.In[0].DType())
	}
	return kernel.Normal{Center: center, Eps: eps}, shape.Shape(c.rowShape()).Numel()
}

// rowShape returns the shape that Args[0] gives as an int or as a list.
func (c *Call) rowShape() shape.Shape {
	if c.Args[0].Ints == nil {
		return shape.Shape{c.Args[0].Int}
	}
	return c.Args[0].Ints
}

func inferNormalize(c *Call) error {
	x, row := c.In[0], c.rowShape()
	if err := c.checkFloat("x", x); err != nil {
		return err
	}
	s := x.Shape()
	if len(row) == 0 || len(row) > len(s) || !s[len(s)-len(row):].Equal(row) {
		return c.Bad("normalized_shape", row.String(), "the last sizes of x", "x is "+Describe(x))
	}
	for i, w := range c.In[1:] {
		if w != nil && (!w.DType().IsFloat() || !w.Shape().Equal(row)) {
			return c.Bad(c.InName(i+1), Describe(w), "a float tensor of shape "+row.String(), "normalized_shape")
		}
	}
	return c.Result(promote(c.Ctx, c.In...), s)
}

func runNormalize(c *Call) error {
	if c.Out[0].DType() == dtype.Float64 {
		return normalizeRows[float64](c)
	}
	return normalizeRows[float32](c)
}

func normalizeRows[T dtype.Float](c *Call) error {
	dt := c.Out[0].DType().Compute()
	x, err := c.inRows(c.In[0], dt)
	if err != nil {
		return err
	}
	var by [2]*tensor.Tensor // weight and bias
	var data [2][]T
	for i, w := range c.In[1:] {
		if w != nil {
			y, err := c.inOrder(w, dt)
			if err != nil {
				return err
			}
			by[i], data[i] = y, tensor.Data[T](y)
		}
	}
	how, n := c.normal()
	eachRow(c.Ctx.Workers, c.Out[0], x, n, true, func(dst, x []T) { kernel.NormalizeTo(dst, x, data[0], data[1], how) })
	goruntime.KeepAlive(by)
	return nil
}

// normalizeGrad differentiates y = h weight + bias, where h is x normalised.
func normalizeGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	how, n := c.normal()
	x, g := t.wide(c.In[0]), t.wide(dy[0])
	dx := make([]*tensor.Tensor, len(c.In))
	if w := c.In[1]; w != nil && w.RequiresGrad() && !t.recording() {
		out, err := t.A.Apply(must("normalize_grads"), []*tensor.Tensor{g, x, t.wide(w)}, []Arg{Bool1(how.Center), Float1(how.Eps)})
		if err != nil {
			panic(&TapeError{err})
		}
		copy(dx, out) // rms_norm has no bias
		return dx
	}
	if len(dx) > 2 && c.In[2] != nil {
		dx[2] = t.SumTo(g, c.In[2].Shape())
	}
	if w := c.In[1]; w != nil {
		if w.RequiresGrad() {
			dx[1] = t.SumTo(t.Mul(g, t.normalized(x, c.rowShape(), how)), w.Shape())
		}
		g = t.Mul(g, t.wide(w))
	}
	if c.In[0].RequiresGrad() {
		dx[0] = t.normalizeGrad(g, x, n, how)
	}
	return dx
}

// normalized returns x with its last dims, of shape row, normalised.
func (t *Tape) normalized(x *tensor.Tensor, row shape.Shape, how kernel.Normal) *tensor.Tensor {
	if how.Center {
		return t.Do("layer_norm", []*tensor.Tensor{x, nil, nil}, IntsN(row...), Float1(how.Eps))
	}
	return t.Do("rms_norm", []*tensor.Tensor{x, nil}, IntsN(row...), Float1(how.Eps))
}

func (t *Tape) normalizeGrad(g, x *tensor.Tensor, n int, how kernel.Normal) *tensor.Tensor {
	return t.Do("normalize_grad", []*tensor.Tensor{g, x}, Int1(n), Bool1(how.Center), Float1(how.Eps))
}

func inferNormalizeGrad(c *Call) error {
	if n, size := c.Args[0].Int, c.In[1].Numel(); n < 0 || n == 0 && size > 0 || n > 0 && size%n != 0 {
		return c.Bad("n", fmt.Sprint(n), "the elements of a row", "x is "+Describe(c.In[1]))
	}
	return inferActivationGrad(c)
}

func runNormalizeGrad(c *Call) error {
	if c.Out[0].DType() == dtype.Float64 {
		return normalizeGradRows[float64](c)
	}
	return normalizeGradRows[float32](c)
}

func normalizeGradRows[T dtype.Float](c *Call) error {
	dt := c.Out[0].DType().Compute()
	g, err := c.inOrder(c.In[0], dt)
	if err != nil {
		return err
	}
	x, err := c.inOrder(c.In[1], dt)
	if err != nil {
		return err
	}
	out, err := c.newOutput(c.Out[0], dt)
	if err != nil {
		return err
	}
	n, how := c.Args[0].Int, kernel.Normal{Center: c.Args[1].Int != 0, Eps: c.Args[2].Float}
	dst, gs, xs := tensor.Data[T](out.room), tensor.Data[T](g), tensor.Data[T](x)
	eachRow2(c.Ctx.Workers, dst, gs, xs, n, func(dst, g, x []T) { kernel.NormalizeGradTo(dst, g, x, how) })
	out.done()
	goruntime.KeepAlive(g)
	goruntime.KeepAlive(x)
	return nil
}

// normalizeGradGrad differentiates F(g, x) = s (g - mean g - h mean(g h)),
// where h is x normalised, s its scale and all means are over rows. F is linear
// in g and its own adjoint. In x it depends on h, whose gradient is
//
//	q = -s (u mean(g h) + g mean(u h))
//
// for the gradient u of F and goes on through F, and on s, which brings
// -s h mean(u F).
func normalizeGradGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	n, how := c.Args[0].Int, kernel.Normal{Center: c.Args[1].Int != 0, Eps: c.Args[2].Float}
	s := c.In[1].Shape()
	rows := func(x *tensor.Tensor) *tensor.Tensor {
		return t.Reshape(t.wide(x), shape.Shape{s.Numel() / max(n, 1), n})
	}
	mean := func(x *tensor.Tensor) *tensor.Tensor { return t.Scale(t.Sum(x, []int{1}, true), 1/float64(n)) }
	u, g, x := rows(dy[0]), rows(c.In[0]), rows(c.In[1])
	h := t.normalized(x, shape.Shape{n}, how)
	center := x
	if how.Center {
		center = t.Sub(x, mean(x))
	}
	scale := t.unary("rsqrt", t.AddNumber(mean(t.Mul(center, center)), how.Eps))
	q := t.Neg(t.Mul(scale, t.Add(t.Mul(u, mean(t.Mul(g, h))), t.Mul(g, mean(t.Mul(u, h))))))
	f := t.normalizeGrad(g, x, n, how)
	dx := t.Sub(t.normalizeGrad(q, x, n, how), t.Mul(scale, t.Mul(h, mean(t.Mul(u, f)))))
	return []*tensor.Tensor{t.Reshape(t.normalizeGrad(u, x, n, how), s), t.Reshape(dx, s)}
}
