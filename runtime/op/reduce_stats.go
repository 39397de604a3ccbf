package op

import (
	"math"
	goruntime "runtime"
	"slices"

	"tpsh/internal/libm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

// The reductions of this file are computed in float64 and rounded once.

func init() {
	statsParams := append(dimsParams[:len(dimsParams):len(dimsParams)], inCorrection)
	register(&Def{
		Name:    "var",
		Surface: Method,
		Doc: "var(x, dim=None, keepdim=False, correction=1) returns the variance of x, of floats, over dim.\n" + dimsDoc +
			"The sum of squared\ndistances from the mean is divided by the number of elements less correction, or by\n0 if that is negative. unbiased=True, or True in the place of dim, is correction=1, and\nFalse 0. Computed in float64.\n" +
			">>> tensor([1.0, 2.0, 3.0, 4.0]).var(correction=0).item()\n" +
			"1.25",
		Params: statsParams,
		Infer:  inferFloatReduced,
		Run:    func(c *Call) error { return runVar(c, false) },
		Reads:  ReadsInputs,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.varGrad(c, t.wide(dy[0])))
		},
		Shard:   kept,
		Compose: func(t *Tape, c *Call) []*tensor.Tensor { return t.composeVar(c, false) },
		Cost:    reducedCost(4, 2),
	})
	register(&Def{
		Name:    "std",
		Surface: Method,
		Doc: "std(x, dim=None, keepdim=False, correction=1) returns the standard deviation of x, of floats, over dim: the square root of var.\n" +
			"The gradient where it is 0 is 0.\n" +
			">>> tensor([1.0, 3.0]).std(correction=0).item()\n" +
			"1.0",
		Params: statsParams,
		Infer:  inferFloatReduced,
		Run:    func(c *Call) error { return runVar(c, true) },
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			y := t.wide(c.Out[0])
			slope := t.Where(t.isZero(y), tensor.Number(0.0), t.Div(t.wide(dy[0]), t.Scale(y, 2)))
			return one(t.varGrad(c, slope))
		},
		Shard:   kept,
		Compose: func(t *Tape, c *Call) []*tensor.Tensor { return t.composeVar(c, true) },
		Cost:    reducedCost(4, 3),
	})
	register(&Def{
		Name:    "norm",
		Surface: Method,
		Instead: "norm_named",
		Doc: "norm(x, p=2, dim=None, keepdim=False) returns the p-norm of x, of floats, over dim.\n" + dimsDoc +
			"It is\n(Σ |x|^p)^(1/p); for p inf and -inf the greatest and least |x|; for p 0 the number of\nelements other than 0. Computed in float64. p may be \"fro\" for 2, or \"nuc\" for the sum\nof the singular values of matrices along two dims.\n" +
			">>> tensor([3.0, 4.0]).norm().item()\n" +
			"5.0",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a float tensor"},
			{Name: "p", Kind: Float, Doc: "the order of the norm", Default: Default(Float1(2))},
			dimsParams[1],
			keepdimParam,
		},
		Infer:   inferNorm,
		Run:     runNorm,
		Grad:    normGrad,
		Shard:   normRule,
		Local:   localNorm,
		Compose: composeNorm,
		Cost:    normCost,
	})
	register(&Def{
		Name:    "logsumexp",
		Surface: Method,
		Doc: "logsumexp(x, dim=None, keepdim=False) returns the logarithm of the sum of exp(x) over dim, without overflow. Of integers and bools it is a float.\n" + dimsDoc +
			"Of nothing it is -inf. The exponentials of float64 are of float64, others of float32; all sums are of float64.\n" +
			">>> tensor([1000.0, 1000.0]).logsumexp(dim=0).item()\n" +
			"1000.6931762695312",
		Params: dimsParams,
		Infer: func(c *Call) error {
			if dt := c.In[0].DType(); dt.IsFloat() {
				return c.inferReduced(dt)
			}
			return c.inferReduced(c.Ctx.Float)
		},
		Run: runLogSumExp,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			share := t.unary("exp", t.Sub(t.wide(c.In[0]), t.wide(t.kept(c, c.Out[0]))))
			return one(t.Mul(t.spread(c, dy[0]), share))
		},
		Shard:   kept,
		Compose: composeLogSumExp,
		Cost:    reducedCost(4, 2),
	})
}

// inCorrection is the third argument of the variance.
var inCorrection = Param{Name: "correction", Kind: OptFloat, Doc: "what is taken off the number of elements; None for 1", Default: Default(Float1(1))}

// correctionOf returns what a variance takes off the number of elements.
func correctionOf(c *Call) float64 {
	if a := c.Args[2]; a.Set {
		return a.Float
	}
	return 1
}

// isZero returns where x is 0.
func (t *Tape) isZero(x *tensor.Tensor) *tensor.Tensor {
	return t.binary("eq", x, tensor.Number(int64(0)))
}

// reduceMapped stores in dst the elements f(x, y), reduced by r over the dims
// that are true in reduced. y is broadcast to x.
func reduceMapped(dst, x, y *tensor.Tensor, reduced []bool, r *kernel.Reduction[float64], f func(dst, x, y []float64), finish func(lo int, d []float64)) {
	fold := foldOf(x, reduced)
	xv, yv := fold.view(x), fold.view(expanded(y, x.Shape()))
	xs, ys := newSource[float64](xv, xv.Shape()), newSource[float64](yv, yv.Shape())
	var buf []float64
	load := func(lo, hi int) []float64 {
		if len(buf) < hi-lo {
			buf = make([]float64, hi-lo)
		}
		f(buf[:hi-lo], xs.block(lo, hi), ys.block(lo, hi))
		return buf[:hi-lo]
	}
	reduceBlocks(dst, &fold, r, load, finish)
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(y)
}

// A rowSums makes a sum in float64 of at most a block of a row's elements.
type rowSums struct {
	f32 func(row int, x []float32) float64
	f64 func(row int, x []float64) float64
}

// sumInRows stores in dst the sums that sums makes of x over the dims that are true in reduced, if they
// are reduced in rows; else it reports false.
func sumInRows(dst, x *tensor.Tensor, reduced []bool, sums rowSums, finish func(lo int, d []float64)) bool {
	fold := foldOf(x, reduced)
	if fold.inner > 0 || !x.DType().IsFloat() {
		return false
	}
	v := fold.view(x)
	if x.DType().Compute() == dtype.Float32 {
		xs := newSource[float32](v, v.Shape())
		reduceInRows(dst, &fold, &kernel.Sum.F64, xs.block, sums.f32, finish)
	} else {
		xs := newSource[float64](v, v.Shape())
		reduceInRows(dst, &fold, &kernel.Sum.F64, xs.block, sums.f64, finish)
	}
	goruntime.KeepAlive(x)
	return true
}

// meanTo stores in dst, of float64, the mean of x over the dims that are true in reduced, n elements.
func meanTo(dst, x *tensor.Tensor, reduced []bool, n float64) {
	sums := rowSums{func(_ int, x []float32) float64 { return kernel.WideSum(x) }, func(_ int, x []float64) float64 { return kernel.WideSum(x) }}
	if !sumInRows(dst, x, reduced, sums, divideBy[float64](n)) {
		reduceTo(dst, x, reduced, &kernel.Sum.F64, divideBy[float64](n))
	}
}

// spreadTo stores in dst the sums of the squared distances of x from mean, of float64, over the dims
// that are true in reduced.
func spreadTo(dst, x, mean *tensor.Tensor, reduced []bool, finish func(lo int, d []float64)) {
	m := tensor.Data[float64](mean)
	sums := rowSums{
		func(row int, x []float32) float64 { return kernel.SquaredDiffSum(x, m[row]) },
		func(row int, x []float64) float64 { return kernel.SquaredDiffSum(x, m[row]) },
	}
	if !sumInRows(dst, x, reduced, sums, finish) {
		reduceMapped(dst, x, mean, reduced, &kernel.Sum.F64, kernel.SquaredDiffTo[float64], finish)
	}
	goruntime.KeepAlive(mean)
}

// reducedRoom returns a float64 tensor of the shape of c's first input with
// size 1 in the reduced dims.
func (c *Call) reducedRoom(reduced []bool) (*tensor.Tensor, error) {
	return c.room(dtype.Float64, reducedShape(c.In[0].Shape(), reduced, true))
}

// runVar computes the variance, or its square root.
func runVar(c *Call, root bool) error {
	reduced, err := c.reduced()
	if err != nil {
		return err
	}
	mean, err := c.reducedRoom(reduced)
	if err != nil {
		return err
	}
	x, n := c.In[0], float64(c.reducedSize())
	meanTo(mean, x, reduced, n)
	spreadTo(c.Out[0], x, mean, reduced, func(_ int, d []float64) {
		for i := range d {
			d[i] /= max(n-correctionOf(c), 0)
			if root {
				d[i] = math.Sqrt(d[i])
			}
		}
	})
	return nil
}

// varGrad is dy times the derivative 2 (x - mean) / (n - correction).
func (t *Tape) varGrad(c *Call, dy *tensor.Tensor) *tensor.Tensor {
	x := t.wide(c.In[0])
	dims, _ := c.reduced()
	mean := t.Do("mean", one(x), IntsN(listed(dims)...), Bool1(true))
	n := max(float64(c.reducedSize())-correctionOf(c), 0)
	return t.Mul(t.spread(c, t.Scale(dy, 2/n)), t.Sub(x, mean))
}

func inferNorm(c *Call) error {
	p := c.Args[0].Float
	if p != p {
		return c.Bad("p", "nan", "a number", "")
	}
	if math.IsInf(p, 0) {
		if err := c.someElements(); err != nil {
			return err
		}
	}
	return inferFloatReduced(c)
}

func runNorm(c *Call) error {
	reduced, err := c.reduced()
	if err != nil {
		return err
	}
	p, r := c.Args[0].Float, &kernel.Sum.F64
	if sums, root := normSums(p); sums.f32 != nil && sumInRows(c.Out[0], c.In[0], reduced, sums, root) {
		return nil
	}
	f := func(dst, x, _ []float64) { kernel.AbsFloatTo(dst, x) }
	root := func(v float64) float64 { return v }
	switch {
	case math.IsInf(p, 1):
		r = &kernel.Max.F64
	case math.IsInf(p, -1):
		r = &kernel.Min.F64
	case p == 0:
		f = func(dst, x, y []float64) { kernel.CountTo(dst, x) }
	case p == 2:
		f, root = func(dst, x, _ []float64) { kernel.SquareTo(dst, x) }, math.Sqrt
	case p != 1:
		f = func(dst, x, y []float64) {
			kernel.AbsFloatTo(dst, x)
			kernel.PowFloatTo(dst, dst, y)
		}
		if p == 3 {
			f = func(dst, x, _ []float64) { kernel.AbsCubeTo(dst, x) }
		}
		root = func(v float64) float64 { return libm.Pow(v, 1/p) }
	}
	reduceMapped(c.Out[0], c.In[0], tensor.Number(p), reduced, r, f, func(_ int, d []float64) {
		for i, v := range d {
			d[i] = root(v)
		}
	})
	return nil
}

// normSums returns the sums of which the norm of order p is made, and what makes it of them; no sums
// if p is neither 1 nor 2.
func normSums(p float64) (sums rowSums, finish func(lo int, d []float64)) {
	switch p {
	case 1:
		sums = rowSums{func(_ int, x []float32) float64 { return kernel.AbsSum(x) }, func(_ int, x []float64) float64 { return kernel.AbsSum(x) }}
	case 2:
		sums = rowSums{func(_ int, x []float32) float64 { return kernel.SquareSum(x) }, func(_ int, x []float64) float64 { return kernel.SquareSum(x) }}
		finish = func(_ int, d []float64) {
			for i, v := range d {
				d[i] = math.Sqrt(v)
			}
		}
	}
	return sums, finish
}

// normGrad is dy times x |x|^(p-2) / y^(p-1), 0 where y is 0; for the greatest
// and least the sign of x, shared by all that are equal.
func normGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	p, x, g := c.Args[0].Float, t.wide(c.In[0]), t.wide(dy[0])
	if p == 0 {
		return one(t.Do("zeros_like", one(x), None))
	}
	size, sign := t.unary("abs", x), t.unary("sign", x)
	if math.IsInf(p, 0) {
		return one(t.Mul(sign, t.shareOut(c, size, t.wide(c.Out[0]), g)))
	}
	y := t.wide(c.Out[0])
	if p == 2 { // whose gradient has one of its own where x is 0
		slope := t.Where(t.isZero(y), tensor.Number(0.0), t.Div(g, y))
		return one(t.Mul(x, t.spread(c, slope)))
	}
	slope := t.Div(g, t.binary("pow", y, tensor.Number(p-1)))
	slope = t.spread(c, t.Where(t.isZero(y), tensor.Number(0.0), slope))
	power := t.Where(t.isZero(x), tensor.Number(0.0), t.binary("pow", size, tensor.Number(p-1)))
	return one(t.Mul(t.Mul(sign, power), slope))
}

// runLogSumExp takes the greatest element out of the sum.
func runLogSumExp(c *Call) error {
	reduced, err := c.reduced()
	if err != nil {
		return err
	}
	if dt := c.In[0].DType(); dt.IsFloat() && dt.Compute() == dtype.Float32 {
		return runLogSumExp32(c, reduced)
	}
	most, err := c.reducedRoom(reduced)
	if err != nil {
		return err
	}
	x := c.In[0]
	reduceTo(most, x, reduced, &kernel.Max.F64, func(_ int, d []float64) {
		for i, v := range d {
			if math.IsInf(v, 0) {
				d[i] = 0
			}
		}
	})
	m := tensor.Data[float64](most)
	reduceMapped(c.Out[0], x, most, reduced, &kernel.Sum.F64, kernel.ExpDiffTo[float64], func(lo int, d []float64) {
		for i, v := range d {
			d[i] = libm.Log(v) + m[lo+i]
		}
	})
	return nil
}

// runLogSumExp32 is runLogSumExp of what is computed in float32: the exponentials are, and their
// sums are in float64.
func runLogSumExp32(c *Call, reduced []bool) error {
	x := c.In[0]
	s := reducedShape(x.Shape(), reduced, true)
	most, err := c.room(dtype.Float32, s)
	if err != nil {
		return err
	}
	taken, err := c.room(dtype.Float32, s)
	if err != nil {
		return err
	}
	reduceTo(most, x, reduced, &kernel.Max.F32, nil)
	m, by := tensor.Data[float32](most), tensor.Data[float32](taken)
	for i, v := range m {
		if by[i] = v; math.IsInf(float64(v), 0) {
			by[i] = 0
		}
	}
	finish := func(lo int, d []float64) {
		for i, v := range d {
			if d[i] = libm.Log(v) + float64(by[lo+i]); math.IsInf(float64(m[lo+i]), 1) {
				d[i] = math.Inf(1) // exp is of no more than a float32 holds
			}
		}
	}
	fold := foldOf(x, reduced)
	xv := fold.view(x)
	xs := newSource[float32](xv, xv.Shape())
	if fold.inner == 0 {
		sum := func(row int, x []float32) float64 { return kernel.ExpDiffSum(x, by[row]) }
		reduceInRows(c.Out[0], &fold, &kernel.Sum.F64, xs.block, sum, finish)
	} else {
		mv := fold.view(expanded(taken, x.Shape()))
		ms := newSource[float32](mv, mv.Shape())
		var buf []float64
		load := func(lo, hi int) []float64 {
			buf = slices.Grow(buf[:0], hi-lo)[:hi-lo]
			kernel.ExpDiff32To(buf, xs.block(lo, hi), ms.block(lo, hi))
			return buf
		}
		reduceBlocks(c.Out[0], &fold, &kernel.Sum.F64, load, finish)
	}
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(most)
	goruntime.KeepAlive(taken)
	return nil
}
