package op

import (
	goruntime "runtime"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "distances",
		Surface: Internal,
		Doc: "distances(x, y, abs) returns [.., m, n] of the roots of the sums of squares of the differences of rows of x [.., m, k] and of y [.., n, k], or with abs the sums of their absolute values.\n" +
			"Terms of a tensor that is calculated in float32 are added in float32 by blocks, and these in float64.",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a float tensor [.., m, k]"}, {Name: "y", Kind: Tensor, Doc: "a float tensor [.., n, k]"},
			{Name: "abs", Kind: Bool, Doc: "whether absolute values are added"}},
		Infer: inferDistances,
		Run: func(c *Call) error {
			if c.Out[0].DType().Compute() == dtype.Float64 {
				return runDistances[float64](c)
			}
			return runDistances[float32](c)
		},
		Grad: distancesGrad,
		// Batches may be cut, the rows of x, or those of y.
		Shard: func(c *Call) []Row {
			var rows []Row
			s := c.Spec[0].Shape
			n := len(s)
			for d := range n {
				row := rowOf(c)
				row.In[0], row.In[1], row.Out[0] = mesh.Shard(d), mesh.Shard(d), mesh.Shard(d)
				switch d {
				case n - 2:
					row.In[1] = replicate
				case n - 1:
					row.In[0], row.In[1] = replicate, mesh.Shard(d-1)
				}
				rows = append(rows, row)
			}
			return rows
		},
		// -, * or abs, +; and a root of each sum.
		Cost: func(c *Call) Cost {
			s := c.In[0].Shape()
			n := 3 * s[len(s)-1]
			if c.Args[0].Int == 0 {
				n++
			}
			return c.costs(n * c.Spec[0].Shape.Numel())
		},
	})
}

func inferDistances(c *Call) error {
	x, y := c.In[0], c.In[1]
	for i, t := range c.In {
		if err := c.checkFloat(c.InName(i), t); err != nil {
			return err
		}
	}
	xs, ys := x.Shape(), y.Shape()
	n := len(xs) - 1
	if n < 1 || len(ys) != n+1 || y.DType() != x.DType() || !ys[:n-1].Equal(xs[:n-1]) || ys[n] != xs[n] {
		return c.Bad("y", Describe(y), "a tensor like x, but for the number of rows", "x is "+Describe(x))
	}
	return c.Result(x.DType(), append(xs[:n:n], ys[n-1]))
}

// runDistances makes the distances of each pair of matrices.
func runDistances[T interface {
	dtype.Float
	tensor.Element
}](c *Call) error {
	dt := c.Out[0].DType().Compute()
	x, err := c.inOrder(c.In[0], dt)
	if err != nil {
		return err
	}
	y, err := c.inOrder(c.In[1], dt)
	if err != nil {
		return err
	}
	out, err := c.newOutput(c.Out[0], dt)
	if err != nil {
		return err
	}
	s, d := x.Shape(), x.Ndim()
	m, n, k := s[d-2], y.Shape()[d-2], s[d-1]
	xs, ys, to := tensor.Data[T](x), tensor.Data[T](y), tensor.Data[T](out.room)
	for i := range s[:d-2].Numel() {
		kernel.DistancesTo(to[i*m*n:][:m*n], xs[i*m*k:][:m*k], ys[i*n*k:][:n*k], m, n, k, c.Args[0].Int != 0)
	}
	out.done()
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(y)
	return nil
}

// distancesGrad gives each difference its share: over the distance, or its sign. Where a distance
// is 0 it has none.
func distancesGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x, y, g, dist := t.wide(c.In[0]), t.wide(c.In[1]), t.wide(dy[0]), t.wide(c.Out[0])
	n := x.Ndim()
	by := t.Sub(t.column(x, n-1), t.column(y, n-2))
	if c.Args[0].Int != 0 {
		by = t.unary("sign", by)
	} else {
		g = t.Where(t.isZero(dist), tensor.Number(0.0), t.Div(g, dist))
	}
	each := t.Mul(by, t.column(g, n))
	return []*tensor.Tensor{t.Sum(each, []int{n - 1}, false), t.Neg(t.Sum(each, []int{n - 2}, false))}
}
