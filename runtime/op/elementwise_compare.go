package op

import (
	"fmt"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	registerComparison("eq", "==", "equal", ">>> tensor([1, 2]).eq(tensor([1, 3])).tolist()\n[True, False]", &kernel.Eq)
	registerComparison("ne", "!=", "not equal", ">>> tensor([1, 2]).ne(1).tolist()\n[False, True]", &kernel.Ne)
	registerComparison("lt", "<", "less", ">>> tensor([1, 2]).lt(2).tolist()\n[True, False]", &kernel.Lt)
	registerComparison("le", "<=", "less or equal", ">>> tensor([1, 2, 3]).le(2).tolist()\n[True, True, False]", &kernel.Le)
	registerComparison("gt", ">", "greater", ">>> tensor([1, 2]).gt(1).tolist()\n[False, True]", &kernel.Gt)
	registerComparison("ge", ">=", "greater or equal", ">>> tensor([1, 2, 3]).ge(2).tolist()\n[False, True, True]", &kernel.Ge)
	registerPredicate("isnan", "where x is not a number", ">>> (tensor([0.0]) / 0).isnan().tolist()\n[True]", kernel.IsNaN, false)
	registerPredicate("isfinite", "where x is neither infinite nor NaN", ">>> (tensor([0.0, 1.0]) / 0).isfinite().tolist()\n[False, False]", kernel.IsFinite, true)
	register(&Def{
		Name:    "equal",
		Surface: Method,
		Truth:   true,
		Doc: "equal(x, other) returns whether x and other have the same shape and equal elements.\n" +
			"The dtypes may differ. NaN equals nothing.\n" +
			">>> tensor([1, 2]).equal(tensor([1, 2]))\n" +
			"True",
		Params: called(twoTensors, "other", "y"),
		Infer: func(c *Call) error {
			return c.Result(dtype.Bool, shape.Shape{})
		},
		Run:     runEqual,
		Shard:   equalRule,
		Compose: composeEqual,
		Cost:    equalCost,
	})
	register(&Def{
		Name:    "allclose",
		Surface: Method,
		Truth:   true,
		Doc: "allclose(x, other, rtol=1e-05, atol=1e-08, equal_nan=False) returns whether all elements of x and other are close.\n" +
			"x and other are broadcast. Elements are close if |x - other| is at most\n" +
			"atol + rtol*|other|, computed in float64; infinities only to themselves.\n" +
			">>> tensor([1.0, 2.0]).allclose(tensor([1.0, 2.1]), rtol=0.1)\n" +
			"True",
		Params: append(called(twoTensors, "other", "y"),
			Param{Name: "rtol", Kind: Float, Doc: "the tolerance relative to other", Default: Default(Float1(1e-5))},
			Param{Name: "atol", Kind: Float, Doc: "the absolute tolerance", Default: Default(Float1(1e-8))},
			Param{Name: "equal_nan", Kind: Bool, Doc: "whether NaN is close to NaN", Default: Default(Bool1(false))}),
		Infer: func(c *Call) error {
			if _, err := c.broadcast2(c.In[0], c.In[1], "other"); err != nil {
				return err
			}
			return c.Result(dtype.Bool, shape.Shape{})
		},
		Run:   runAllClose,
		Shard: closeRule,
		Cost:  pairCost(7),
	})
}

// twoTensors are the parameters of an operator of a tensor and an operand.
var twoTensors = []Param{
	{Name: "x", Kind: Tensor, Doc: "a tensor"},
	{Name: "other", Kind: Operand, Doc: "a tensor or a number"},
}

// registerComparison registers the elementwise comparison called name.
func registerComparison(name, symbol, holds, example string, row *kernel.Comparison) {
	register(&Def{
		Name:    name,
		Surface: Method,
		Symbol:  symbol,
		MakeDoc: func() string {
			return fmt.Sprintf("%s(x, other) returns a bool tensor, true where x is %s: x %s other, elementwise.\n"+
				"x and other are broadcast, and compared in the dtype they promote to. Comparisons\n"+
				"with NaN are false, but for ne.\n%s", name, holds, symbol, example)
		},
		Params: twoTensors,
		Infer: func(c *Call) error {
			s, err := c.broadcast2(c.In[0], c.In[1], "other")
			if err != nil {
				return err
			}
			return c.Result(dtype.Bool, s)
		},
		Run: func(c *Call) error {
			dt := comparedAs(c)
			x, err := c.storedAs(c.In[0], dt)
			if err != nil {
				return err
			}
			y, err := c.storedAs(c.In[1], dt)
			if err != nil {
				return err
			}
			runComparison(c.Ctx.Workers, row, dt, c.Out[0], x, y)
			return nil
		},
		Shard:     Elementwise,
		Pointwise: true,
	})
}

// comparedAs returns the dtype in which the first two inputs of c are
// compared: that of their promotion, but where an integer meets a number,
// int64, so that no number is out of range.
func comparedAs(c *Call) dtype.DType {
	x, y := c.In[0], c.In[1]
	dt := promote2(c.Ctx, x, y)
	if dt.IsInt() && x.Weak() != y.Weak() {
		return dtype.Int64
	}
	return dt
}

// storedAs returns x, rounded to dt if that is a storage type and x has another
// one: 0.1 equals a float16 that was made of 0.1.
func (c *Call) storedAs(x *tensor.Tensor, dt dtype.DType) (*tensor.Tensor, error) {
	if !dt.IsHalf() || x.DType() == dt {
		return x, nil
	}
	y, err := tensor.New(c.Ctx.Alloc, dt, x.Shape())
	if err != nil {
		return nil, c.memory(err)
	}
	copyInto(y, x)
	return y, nil
}

func runComparison(w *crew.Workers, row *kernel.Comparison, dt dtype.DType, dst, x, y *tensor.Tensor) {
	switch dt.Compute() {
	case dtype.Float32:
		run2(w, dst, x, y, row.F32)
	case dtype.Float64:
		run2(w, dst, x, y, row.F64)
	case dtype.Int64:
		run2(w, dst, x, y, row.I64)
	case dtype.Int32:
		run2(w, dst, x, y, row.I32)
	case dtype.Uint8:
		run2(w, dst, x, y, row.U8)
	default:
		run2(w, dst, x, y, row.Bool)
	}
}

// registerPredicate registers the elementwise predicate called name, which is
// exact of integers and bools.
func registerPredicate(name, holds, example string, row kernel.Predicate, exact bool) {
	register(&Def{
		Name:    name,
		Surface: Method,
		MakeDoc: func() string {
			return fmt.Sprintf("%s(x) returns a bool tensor, true %s, elementwise.\n%s", name, holds, example)
		},
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}},
		Infer:  func(c *Call) error { return c.Result(dtype.Bool, c.In[0].Shape()) },
		Run: func(c *Call) error {
			switch x := c.In[0]; x.DType().Compute() {
			case dtype.Float32:
				run1(c.Ctx.Workers, c.Out[0], x, row.F32)
			case dtype.Float64:
				run1(c.Ctx.Workers, c.Out[0], x, row.F64)
			default:
				copyInto(c.Out[0], tensor.Number(exact))
			}
			return nil
		},
		Shard:     Elementwise,
		Pointwise: true,
	})
}

func runEqual(c *Call) error {
	x, y := c.In[0], c.In[1]
	same := x.Shape().Equal(y.Shape())
	if same {
		switch promote2(c.Ctx, x, y).Compute() {
		case dtype.Float32:
			same = allPairs(x, y, equalBlocks[float32])
		case dtype.Float64:
			same = allPairs(x, y, equalBlocks[float64])
		default:
			same = allPairs(x, y, equalBlocks[int64])
		}
	}
	tensor.Data[bool](c.Out[0])[0] = same
	return nil
}

// equalRule: all is equal if all blocks are.
func equalRule(c *Call) []Row {
	if !c.In[0].Shape().Equal(c.In[1].Shape()) {
		return nil
	}
	return closeRule(c)
}

// composeEqual answers where the shapes differ, without a look at elements.
func composeEqual(t *Tape, c *Call) []*tensor.Tensor {
	x := c.In[0]
	if x.Shape().Equal(c.In[1].Shape()) {
		return nil
	}
	none := t.Do("zeros_like", one(x.Detach()), Int1(int(dtype.Bool)))
	return one(t.Do("any", one(none), None, Bool1(false)))
}

// closeRule: all is close if all blocks are.
func closeRule(c *Call) []Row {
	s, _ := shape.Broadcast(c.In[0].Shape(), c.In[1].Shape())
	return spreadRows(c, s, func(int) mesh.Placement { return mesh.Partial(mesh.Min) })
}

func equalBlocks[T dtype.Number](x, y []T) bool {
	y = y[:len(x)]
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return true
}

func runAllClose(c *Call) error {
	x, y := c.In[0], c.In[1]
	rtol, atol, nan := c.Args[0].Float, c.Args[1].Float, c.Args[2].Int != 0
	var all bool
	if promote2(c.Ctx, x, y).IsFloat() {
		all = allPairs(x, y, func(x, y []float64) bool { return kernel.Close(x, y, rtol, atol, nan) })
	} else {
		all = allPairs(x, y, func(x, y []int64) bool { return kernel.Close(x, y, rtol, atol, nan) })
	}
	tensor.Data[bool](c.Out[0])[0] = all
	return nil
}

// allPairs reports whether f is true of all blocks of x and y, which are
// broadcast.
func allPairs[T dtype.Number](x, y *tensor.Tensor, f func(x, y []T) bool) bool {
	s, _ := shape.Broadcast(x.Shape(), y.Shape())
	xs, ys, n := newSource[T](x, s), newSource[T](y, s), s.Numel()
	for lo := 0; lo < n; lo += blockSize {
		hi := min(lo+blockSize, n)
		if !f(xs.block(lo, hi), ys.block(lo, hi)) {
			return false
		}
	}
	return true
}
