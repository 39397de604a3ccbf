package op

import (
	"math"

	"tpsh/internal/libm"
	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// What the reductions of reduce_stats.go are composed of where a reduced dim is cut:
// sums in float64 of what each rank holds.

// statsInput returns the first input of c in float64 and the dims that c
// reduces; nil if none of them is cut.
func (t *Tape) statsInput(c *Call) (x *tensor.Tensor, dims []int) {
	in, _ := c.reduced()
	if !cutIn(c.In[0], in) {
		return nil, nil
	}
	return t.Cast(t.settled(c.In[0]), dtype.Float64), listed(in)
}

// keepdim reports whether c keeps the dims that it reduces.
func (c *Call) keepdim() bool { return c.Args[c.dimArg()+1].Int != 0 }

func (t *Tape) composeVar(c *Call, root bool) []*tensor.Tensor {
	x, dims := t.statsInput(c)
	if x == nil {
		return nil
	}
	n := float64(c.reducedSize())
	left := tensor.Number(max(n-correctionOf(c), 0))
	mean, square := t.wholeMoments(x, dims)
	var y *tensor.Tensor
	if mean != nil {
		x = t.Sub(x, mean)
		square = t.Do("known_mean", []*tensor.Tensor{t.Mul(x, x), square}, IntsN(dims...))
		y = t.Reshape(t.Div(t.Scale(square, n), left), c.reducedTo())
	} else {
		x = t.Sub(x, t.Div(t.Sum(x, dims, true), tensor.Number(n)))
		y = t.Div(t.Sum(t.Mul(x, x), dims, c.keepdim()), left)
	}
	if root {
		y = t.root(y, 2)
	}
	return one(t.Cast(y, c.In[0].DType()))
}

// root returns the p-th root of y, which is not negative. Its gradient where y
// is 0 is 0.
func (t *Tape) root(y *tensor.Tensor, p float64) *tensor.Tensor {
	y = t.shared(y)
	zero := t.isZero(y)
	y = t.Where(zero, tensor.Number(1.0), y)
	if p == 2 {
		y = t.unary("sqrt", y)
	} else {
		y = t.binary("pow", y, tensor.Number(1/p))
	}
	return t.Where(zero, tensor.Number(libm.Pow(0, 1/p)), y)
}

// normRule: where the p-th power is no more than |x|, norms of blocks make the
// norm.
func normRule(c *Call) []Row {
	rows := keptRows(c)
	switch p := c.Args[0].Float; {
	case p == 0 || p == 1:
		return append(reducedRows(c, mesh.Sum), rows...)
	case math.IsInf(p, 1):
		return append(reducedRows(c, mesh.Max), rows...)
	case math.IsInf(p, -1):
		return append(reducedRows(c, mesh.Min), rows...)
	}
	return rows
}

// localNorm gives the norm of a block, which may be empty where the whole is
// not.
func localNorm(b *Blocks) ([]*tensor.Tensor, error) {
	dims, _ := b.reduced()
	if p := b.Args[0].Float; math.IsInf(p, 0) && sizeOf(b.X[0].Shape(), dims) == 0 {
		return one(b.full(b.Spec[0].DType, b.OutShape(0), max(-p, 0))), nil
	}
	return b.Apply(b.Args...)
}

func composeNorm(t *Tape, c *Call) []*tensor.Tensor {
	p := c.Args[0].Float
	x, dims := t.statsInput(c)
	if x == nil || p == 0 || p == 1 || math.IsInf(p, 0) {
		return nil
	}
	power := t.Mul(x, x)
	if p != 2 {
		zero := t.isZero(x)
		power = t.binary("pow", t.Where(zero, tensor.Number(1.0), t.unary("abs", x)), tensor.Number(p))
		power = t.Where(zero, tensor.Number(libm.Pow(0, p)), power)
	}
	return one(t.Cast(t.root(t.Sum(power, dims, c.keepdim()), p), c.In[0].DType()))
}

func composeLogSumExp(t *Tape, c *Call) []*tensor.Tensor {
	x, dims := t.statsInput(c)
	if x == nil {
		return nil
	}
	y := t.logSumExp(x, dims)
	return one(t.Cast(t.Reshape(y, c.reducedTo()), c.Spec[0].DType))
}

// logSumExp returns the logarithm of the sum of exp(x) over dims, which stay
// with size 1. It takes the greatest out of the sum.
func (t *Tape) logSumExp(x *tensor.Tensor, dims []int) *tensor.Tensor {
	most := t.shared(t.Do("amax", one(x.Detach()), IntsN(dims...), Bool1(true)))
	most = t.Where(t.unary("isfinite", most), most, tensor.Number(0.0))
	return t.Add(t.unary("log", t.Sum(t.unary("exp", t.Sub(x, most)), dims, true)), most)
}

// reducedTo returns the shape of the result of c, a reduction.
func (c *Call) reducedTo() shape.Shape {
	dims, _ := c.reduced()
	return reducedShape(c.In[0].Shape(), dims, c.keepdim())
}
