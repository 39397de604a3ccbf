package op

import (
	goruntime "runtime"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The operators of this file are gradients in one pass over memory. They have
// no gradient themselves: where differentiation is recorded, gradients are
// composed of other operators, to the same formulas.

// A slopeOp is the gradient of an elementwise function, given its result y.
type slopeOp struct {
	name string
	of   string
	row  kernel.Binary
	cost int // operations an element
}

func init() {
	for _, s := range []*slopeOp{
		{"tanh_grad", "tanh", kernel.TanhGrad, 3},
		{"sigmoid_grad", "sigmoid", kernel.SigmoidGrad, 3},
		{"relu_grad", "relu", kernel.ReluGrad, 1},
	} {
		register(&Def{
			Name:      s.name,
			Surface:   Internal,
			Doc:       s.name + "(g, y) returns g times the derivative of " + s.of + " where its result is y.",
			Params:    []Param{{Name: "g", Kind: Tensor, Doc: "a gradient"}, {Name: "y", Kind: Tensor, Doc: "what " + s.of + " returned"}},
			Infer:     inferActivationGrad,
			Run:       func(c *Call) error { float2(c.Ctx.Workers, c.Out[0], c.In[0], c.In[1], &s.row); return nil },
			Shard:     LinearIn(0),
			Cost:      each(s.cost),
			Pointwise: true,
		})
	}
	registerRowGrad("softmax", kernel.SoftmaxGradTo[float32], kernel.SoftmaxGradTo[float64], (*Tape).softmaxGrad)
	registerRowGrad("log_softmax", kernel.LogSoftmaxGradTo[float32], kernel.LogSoftmaxGradTo[float64], (*Tape).logSoftmaxGrad)
	register(&Def{
		Name:    "normalize_grads",
		Surface: Internal,
		Doc: "normalize_grads(g, x, weight, center, eps) returns the gradients of x, weight and bias, given that of layer_norm or rms_norm.\n" +
			"Rows have the shape of weight.",
		Params: []Param{{Name: "g", Kind: Tensor, Doc: "a gradient"}, {Name: "x", Kind: Tensor, Doc: "what was normalised"},
			{Name: "weight", Kind: Tensor, Doc: "what the normalised rows were multiplied by"},
			{Name: "center", Kind: Bool, Doc: "whether the mean was subtracted"},
			{Name: "eps", Kind: Float, Doc: "what was added to the variance"}},
		Infer: inferNormalizeGrads,
		Run:   runNormalizeGrads,
		Shard: normalizeGradsRule,
		Compose: func(t *Tape, c *Call) []*tensor.Tensor {
			return t.normalizeGrads(t.settled(c.In[0]), t.settled(c.In[1]), t.settled(c.In[2]),
				kernel.Normal{Center: c.Args[0].Int != 0, Eps: c.Args[1].Float}, promote(c.Ctx, c.In...))
		},
		Cost: normalizeGradsCost,
	})
}

func init() {
	register(&Def{
		Name:    "cross_entropy_grad",
		Surface: Internal,
		Doc:     "cross_entropy_grad(x, target, weight, g, ignore_index, reduction, label_smoothing) returns the gradient of x in cross_entropy, given that of the loss.",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a float tensor [c], [n, c] or [n, c, d1, ...] of c classes"},
			{Name: "target", Kind: Tensor, Doc: "an integer tensor"},
			{Name: "weight", Kind: OptTensor, Doc: "a float tensor [c], or None"},
			{Name: "g", Kind: Tensor, Doc: "a float tensor of the shape of the loss"},
			{Name: "ignore_index", Kind: Int, Doc: "a target that does not count"}, reductionParam,
			{Name: "label_smoothing", Kind: Float, Doc: "how much of each target is spread over all classes"}},
		Infer: func(c *Call) error {
			if err := c.checkClasses(); err != nil {
				return err
			}
			if want := reduced(c.Args[1].Str, c.In[1].Shape()); !c.In[3].DType().IsFloat() || !c.In[3].Shape().Equal(want) {
				return c.Bad("g", Describe(c.In[3]), "a float tensor of shape "+want.String(), "that of the loss")
			}
			return c.Result(c.In[0].DType(), c.In[0].Shape())
		},
		Run: func(c *Call) error {
			if c.Out[0].DType() == dtype.Float64 {
				return runClassGrad[float64](c)
			}
			return runClassGrad[float32](c)
		},
		Shard: classGradRule,
		Cost:  classGradCost,
	})
}

// classGradRule: targets may be cut from each other, but if they share a mean.
func classGradRule(c *Call) []Row {
	s := c.In[0].Shape()
	if c.Args[1].Str == "mean" {
		return nil
	}
	var rows []Row
	for d := range s {
		if d == classDim(s) {
			continue
		}
		at := mesh.Shard(d)
		if d > classDim(s) {
			at = mesh.Shard(d - 1)
		}
		row := rowOf(c)
		row.In[0], row.In[1], row.Out[0] = mesh.Shard(d), at, mesh.Shard(d)
		if c.Args[1].Str == "none" {
			row.In[3] = at
		}
		rows = append(rows, row)
	}
	return rows
}

func runClassGrad[T dtype.Float](c *Call) error {
	dt, ignore := c.Out[0].DType().Compute(), int64(c.Args[0].Int)
	k, err := newClassCase[T](c, dt, ignore)
	if err != nil {
		return err
	}
	g, err := c.inOrder(c.In[3], dt)
	if err != nil {
		return err
	}
	out, err := c.newOutput(lastDim(c.Out[0], classDim(c.Out[0].Shape())), dt)
	if err != nil {
		return err
	}
	scale := 1.0
	if c.Args[1].Str == "mean" {
		scale /= kernel.ClassTotal(k.weight, k.target, ignore)
	}
	l := kernel.ClassLoss{Logits: true, Ignore: ignore, Smoothing: c.Args[2].Float}
	kernel.ClassGradTo(direct1[T](out.room), k.x, k.weight, k.target, k.classes, l, direct1[T](g), scale)
	out.done()
	goruntime.KeepAlive(k.keep)
	goruntime.KeepAlive(g)
	return nil
}

// registerRowGrad registers the gradient of the operator called of, which works
// along a dim, given its result.
func registerRowGrad(of string, f32 func(dst, g, y []float32), f64 func(dst, g, y []float64), formula func(t *Tape, g, y *tensor.Tensor, dim int) *tensor.Tensor) {
	register(&Def{
		Name:    of + "_grad",
		Surface: Internal,
		Doc:     of + "_grad(g, y, dim) returns the gradient of x, given that of y = " + of + "(x, dim).",
		Params: []Param{{Name: "g", Kind: Tensor, Doc: "a gradient"}, {Name: "y", Kind: Tensor, Doc: "what " + of + " returned"},
			{Name: "dim", Kind: Dim, Doc: "the dim that " + of + " was taken along"}},
		Infer: func(c *Call) error {
			if _, err := c.axis(0, c.In[1].Shape()); err != nil {
				return err
			}
			return inferActivationGrad(c)
		},
		InParts: true,
		Run: func(c *Call) error {
			d, err := c.axis(0, c.In[1].Shape())
			if err != nil {
				return err
			}
			return c.alongDim2(c.In[0], c.In[1], d, f32, f64)
		},
		Shard: besides(onAxis(0)),
		Cost:  each(4),
		Compose: func(t *Tape, c *Call) []*tensor.Tensor {
			d, _ := c.axis(0, c.In[1].Shape())
			if c.In[1].Ndim() == 0 || !cutIn(c.In[0], onAxis(0)(c)) && !cutIn(c.In[1], onAxis(0)(c)) {
				return nil
			}
			dx := formula(t, t.wide(t.settled(c.In[0])), t.wide(t.settled(c.In[1])), d)
			return one(t.Cast(dx, promote(c.Ctx, c.In...)))
		},
	})
}

// softmaxGrad is dx = y (g - Σ g y).
func (t *Tape) softmaxGrad(g, y *tensor.Tensor, dim int) *tensor.Tensor {
	return t.Mul(y, t.Sub(g, t.Sum(t.Mul(g, y), []int{dim}, true)))
}

// logSoftmaxGrad is dx = g - exp(y) Σ g.
func (t *Tape) logSoftmaxGrad(g, y *tensor.Tensor, dim int) *tensor.Tensor {
	return t.Sub(g, t.Mul(t.unary("exp", y), t.Sum(g, []int{dim}, true)))
}

// rowGrad returns the gradient of c, an operator along the dim that its first
// argument names: by the operator called name, or by formula if it is recorded.
func (t *Tape) rowGrad(c *Call, dy *tensor.Tensor, name string, formula func(t *Tape, g, y *tensor.Tensor, dim int) *tensor.Tensor) []*tensor.Tensor {
	g, y := t.wide(dy), t.wide(c.Out[0])
	if t.recording() {
		return one(formula(t, g, y, c.Args[0].Int))
	}
	return one(t.Do(name, []*tensor.Tensor{g, y}, Int1(c.Args[0].Int)))
}

// alongDim2 is alongDim of two inputs of one shape.
func (c *Call) alongDim2(x, y *tensor.Tensor, d int, f32 func(dst, x, y []float32), f64 func(dst, x, y []float64)) error {
	dt := c.Out[0].DType().Compute()
	x, err := c.inOrder(lastDim(x, d), dt)
	if err != nil {
		return err
	}
	if y, err = c.inOrder(lastDim(y, d), dt); err != nil {
		return err
	}
	out, err := c.newOutput(lastDim(c.Out[0], d), dt)
	if err != nil {
		return err
	}
	n := y.Shape()[y.Ndim()-1]
	if dt == dtype.Float64 {
		eachRow2(c.Ctx.Workers, tensor.Data[float64](out.room), tensor.Data[float64](x), tensor.Data[float64](y), n, f64)
	} else {
		eachRow2(c.Ctx.Workers, tensor.Data[float32](out.room), tensor.Data[float32](x), tensor.Data[float32](y), n, f32)
	}
	out.done()
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(y)
	return nil
}

// eachRow2 is eachRow of x and y.
func eachRow2[T any](w *crew.Workers, dst, x, y []T, n int, f func(dst, x, y []T)) {
	if len(x) < 2*LeastPart {
		rows2(dst, x, y, n, f)
	} else {
		splitRows(w, len(x), n, func(lo, hi int) { rows2(dst[lo:hi], x[lo:hi], y[lo:hi], n, f) })
	}
}

// rows2 is rows of x and y.
func rows2[T any](dst, x, y []T, n int, f func(dst, x, y []T)) {
	for at := 0; at < len(x); at += n {
		f(dst[at:at+n], x[at:at+n], y[at:at+n])
	}
}

func inferNormalizeGrads(c *Call) error {
	x, row := c.In[1].Shape(), c.In[2].Shape()
	if !c.In[2].DType().IsFloat() || len(row) == 0 || len(row) > len(x) || !x[len(x)-len(row):].Equal(row) {
		return c.Bad("weight", Describe(c.In[2]), "a float tensor of the last sizes of x", "x is "+Describe(c.In[1]))
	}
	if err := inferActivationGrad(c); err != nil {
		return err
	}
	dt := promote(c.Ctx, c.In...)
	return c.Results(Spec{dt, x}, Spec{dt, row}, Spec{dt, row})
}

// normalizeGradsRule: rows may be cut from each other; the gradients of weight
// and bias are then summands.
func normalizeGradsRule(c *Call) []Row {
	var rows []Row
	for d := range c.In[1].Ndim() - c.In[2].Ndim() {
		row := rowOf(c)
		row.In[0], row.In[1] = mesh.Shard(d), mesh.Shard(d)
		row.Out[0], row.Out[1], row.Out[2] = mesh.Shard(d), summands, summands
		rows = append(rows, row)
	}
	return rows
}

func runNormalizeGrads(c *Call) error {
	if c.Out[0].DType() == dtype.Float64 {
		return normalizeGradsRows(c, &kernel.Sum.F64)
	}
	return normalizeGradsRows(c, &kernel.Sum.F32)
}

// normalizeGradsRows goes through the rows once. What it adds up for weight and
// bias has the order of the operator sum.
func normalizeGradsRows[T dtype.Float](c *Call, sum *kernel.Reduction[T]) error {
	dt := c.Out[0].DType().Compute()
	var in [3]*tensor.Tensor
	var out [3]output
	for i := range in {
		var err error
		if in[i], err = c.inOrder(c.In[i], dt); err != nil {
			return err
		}
		if out[i], err = c.newOutput(c.Out[i], dt); err != nil {
			return err
		}
	}
	g, x, weight := direct1[T](in[0]), direct1[T](in[1]), direct1[T](in[2])
	dx, n := direct1[T](out[0].room), max(len(weight), 1)
	how := kernel.Normal{Center: c.Args[0].Int != 0, Eps: c.Args[1].Float}
	weights, biases, gh := kernel.NewColumns(sum, n), kernel.NewColumns(sum, n), make([]T, n)
	weights.Start(n)
	biases.Start(n)
	for at := 0; at+n <= len(x); at += n {
		row := g[at : at+n]
		kernel.NormalizeGradsTo(dx[at:at+n], gh, row, x[at:at+n], weight, how)
		weights.Add(gh)
		biases.Add(row)
	}
	if len(weight) > 0 {
		weights.Result(direct1[T](out[1].room))
		biases.Result(direct1[T](out[2].room))
	}
	for i := range out {
		out[i].done()
	}
	goruntime.KeepAlive(in)
	return nil
}

// direct1 returns the elements of x, which lie in order.
func direct1[T dtype.Number](x *tensor.Tensor) []T {
	d, _ := direct[T](x)
	return d
}

// normalizeGrads returns the gradients of x, weight and bias in dtype dt,
// composed.
func (t *Tape) normalizeGrads(g, x, weight *tensor.Tensor, how kernel.Normal, dt dtype.DType) []*tensor.Tensor {
	row := weight.Shape()
	g, x = t.wide(g), t.wide(x)
	db := t.SumTo(g, row)
	dw := t.SumTo(t.Mul(g, t.normalized(x, row, how)), row)
	dx := t.normalizeGrad(t.Mul(g, t.wide(weight)), x, shape.Shape(row).Numel(), how)
	return []*tensor.Tensor{t.Cast(dx, dt), t.Cast(dw, dt), t.Cast(db, dt)}
}
