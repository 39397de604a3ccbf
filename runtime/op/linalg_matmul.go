package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "matmul",
		Surface: Method | Function,
		Doc: "matmul(x, other) returns the matrix product of x and other.\n" +
			"[m, k] by [k, n] gives [m, n]; dims in front are batches and broadcast. A tensor\n" +
			"of one dim is a row on the left and a column on the right, and its dim of size 1\n" +
			"does not appear in the result: [k] by [k] gives a tensor of shape (). Dtypes are\n" +
			"promoted. Floats are multiplied and added with one rounding, in ascending order of\n" +
			"k; the sums of every 256 products are added up in order.\n" +
			">>> matmul(tensor([[1, 2], [3, 4]]), tensor([1, 10])).tolist()\n" +
			"[21, 43]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor [..., m, k] or [k], not of bools"},
			{Name: "other", Kind: Tensor, Doc: "a tensor [..., k, n] or [k], not of bools"},
		},
		Infer:  inferMatmul,
		Run:    runMatmul,
		Reads:  ReadsFactors,
		Grad:   matmulGrad,
		Apart:  true,
		Shard:  matmulRows,
		Spoils: spoilsProduct,
		Cost:   matmulCost,
	})
	register(&Def{
		Name:    "dot",
		Surface: Method | Function,
		Doc: "dot(x, other) returns the sum of the products of the elements of two tensors of one dim.\n" +
			">>> dot(tensor([1, 2, 3]), tensor([4, 5, 6])).item()\n" +
			"32",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor [n], not of bools"},
			{Name: "other", Also: []string{"tensor"}, Kind: Tensor, Doc: "a tensor [n], not of bools"},
		},
		Infer:  inferDot,
		Run:    runMatmul,
		Reads:  ReadsFactors,
		Grad:   matmulGrad,
		Apart:  true,
		Shard:  Einsum("k,k->"),
		Spoils: spoilsProduct,
		Cost:   matmulCost,
	})
	register(&Def{
		Name:    "outer",
		Surface: Method | Function,
		Doc: "outer(x, other) returns the products of each element of x with each of other.\n" +
			">>> outer(tensor([1, 2]), tensor([3, 4, 5])).tolist()\n" +
			"[[3, 4, 5], [6, 8, 10]]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor [n], not of bools"},
			{Name: "other", Also: []string{"vec2"}, Kind: Tensor, Doc: "a tensor [m], not of bools"},
		},
		Infer: inferOuter,
		Run:   runOuter,
		Reads: ReadsFactors,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{t.MatMul(dy[0], c.In[1]), t.MatMul(t.unary("T", dy[0]), c.In[0])}
		},
		Shard:  Einsum("m,n->mn"),
		Spoils: spoilsProduct,
	})
	register(&Def{
		Name:    "addmm",
		Surface: Method | Function,
		Doc: "addmm(c, a, b, beta=1, alpha=1) returns beta c + alpha a b, where a b is the matrix product.\n" +
			"c is broadcast to the shape of the product. With beta 0, c is not read. For ints,\n" +
			"beta and alpha are ints.\n" +
			">>> addmm(tensor([1, 1]), tensor([[1, 2]]), tensor([[3, 4], [5, 6]])).tolist()\n" +
			"[[14, 17]]",
		Params: []Param{
			{Name: "c", Also: []string{"input"}, Kind: Tensor, Doc: "a tensor that broadcasts to [m, n]"},
			{Name: "a", Also: []string{"mat1"}, Kind: Tensor, Doc: "a tensor [m, k], not of bools"},
			{Name: "b", Also: []string{"mat2"}, Kind: Tensor, Doc: "a tensor [k, n], not of bools"},
			{Name: "beta", Kind: Float, Doc: "the factor of c", Default: Default(Float1(1))},
			{Name: "alpha", Kind: Float, Doc: "the factor of the product", Default: Default(Float1(1))},
		},
		Infer:  inferAddmm,
		Run:    runAddmm,
		Grad:   addmmGrad,
		Apart:  true,
		Shard:  addmmRows,
		Spoils: spoilsProduct,
		Cost:   addmmCost,
	})
}

// inferFactors returns the dtype of the product of In[i] and In[i+1].
func inferFactors(c *Call, i int) (dtype.DType, error) {
	for j := i; j < i+2; j++ {
		if c.In[j].DType() == dtype.Bool {
			return 0, c.Bad(c.InName(j), Describe(c.In[j]), "a tensor of numbers", "no arithmetic on bools")
		}
	}
	return dtype.Promote(c.In[i].DType(), c.In[i+1].DType()), nil
}

func inferMatmul(c *Call) error {
	dt, err := inferFactors(c, 0)
	if err != nil {
		return err
	}
	a, b := c.In[0], c.In[1]
	for i, x := range c.In {
		if x.Ndim() == 0 {
			return c.Bad(c.InName(i), Describe(x), "at least one dim", "mul multiplies by a number")
		}
	}
	as, bs := a.Shape(), b.Shape()
	k, inner := as[len(as)-1], max(len(bs)-2, 0)
	if bs[inner] != k {
		want := append(shape.Shape(nil), bs...)
		want[inner] = k
		return c.Bad(c.InName(1), Describe(b), fmt.Sprintf("%v[%s]", b.DType(), want.Join()), "inner sizes differ: x is "+Describe(a))
	}
	out, ok := shape.Broadcast(as[:max(len(as)-2, 0)], bs[:inner])
	if !ok {
		return c.Bad(c.InName(1), Describe(b), fmt.Sprintf("batch dims that broadcast with %v", as[:len(as)-2]), c.InName(0)+" is "+Describe(a))
	}
	out = append(make(shape.Shape, 0, len(out)+2), out...)
	if len(as) > 1 {
		out = append(out, as[len(as)-2])
	}
	if len(bs) > 1 {
		out = append(out, bs[len(bs)-1])
	}
	return c.Result(dt, out)
}

// runMatmul stores the product of In[0] and In[1].
func runMatmul(c *Call) error { return productOf(c.In[0], c.In[1]).into(c, c.Out[0]) }

// For y = a b, da = dy bᵀ and db = aᵀ dy, summed over the batches that a or b
// was repeated for.
func matmulGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	a, b := c.In[0], c.In[1]
	as, bs := a.Shape(), b.Shape()
	if len(as) == 1 {
		a = t.Reshape(a, shape.Shape{1, as[0]})
	}
	if len(bs) == 1 {
		b = t.Reshape(b, shape.Shape{bs[0], 1})
	}
	m, n := a.Shape()[a.Ndim()-2], b.Shape()[b.Ndim()-1]
	batch := c.Spec[0].Shape[:max(a.Ndim(), b.Ndim())-2]
	g := t.Reshape(dy[0], append(slices.Clone(batch), m, n))
	grads := make([]*tensor.Tensor, 2)
	if c.In[0].RequiresGrad() {
		grads[0] = t.Reshape(t.SumTo(t.MatMul(g, t.Transpose(b, -2, -1)), a.Shape()), as)
	}
	if c.In[1].RequiresGrad() {
		grads[1] = t.Reshape(t.factorGrad(a, b, g), bs)
	}
	return grads
}

// factorGrad returns aᵀ g, of the shape of b, for the gradient g of the product
// of a and b. Batches of a by one matrix b are rows of one matrix.
func (t *Tape) factorGrad(a, b, g *tensor.Tensor) *tensor.Tensor {
	if b.Ndim() == 2 && g.Ndim() > 2 {
		return t.rowsProduct(a, g)
	}
	return t.SumTo(t.MatMul(t.Transpose(a, -2, -1), g), b.Shape())
}

func inferDot(c *Call) error {
	if err := vectors(c); err != nil {
		return err
	}
	if n, m := c.In[0].Numel(), c.In[1].Numel(); n != m {
		return c.Bad("other", Describe(c.In[1]), fmt.Sprintf("%d elements", n), "as many as x")
	}
	dt, err := inferFactors(c, 0)
	if err != nil {
		return err
	}
	return c.Result(dt, shape.Shape{})
}

// vectors returns an error unless the inputs have one dim each.
func vectors(c *Call) error {
	for i, x := range c.In {
		if x.Ndim() != 1 {
			return c.Bad(c.InName(i), Describe(x), "a tensor of one dim", "")
		}
	}
	return nil
}

func inferOuter(c *Call) error {
	if err := vectors(c); err != nil {
		return err
	}
	dt, err := inferFactors(c, 0)
	if err != nil {
		return err
	}
	return c.Result(dt, shape.Shape{c.In[0].Numel(), c.In[1].Numel()})
}

func runOuter(c *Call) error {
	a, b := c.In[0], c.In[1]
	column := a.View(shape.Shape{a.Numel(), 1}, []int{a.Strides()[0], 1}, a.Offset())
	row := b.View(shape.Shape{1, b.Numel()}, []int{0, b.Strides()[0]}, b.Offset())
	runBinary(c.Ctx.Workers, &kernel.Mul, c.Out[0].DType(), c.Out[0], column, row)
	return nil
}

func inferAddmm(c *Call) error {
	dt, err := inferFactors(c, 1)
	if err != nil {
		return err
	}
	a, b := c.In[1], c.In[2]
	if a.Ndim() != 2 {
		return c.Bad("a", Describe(a), "a tensor [m, k]", "")
	}
	if k := a.Shape()[1]; b.Ndim() != 2 || b.Shape()[0] != k {
		return c.Bad("b", Describe(b), fmt.Sprintf("%v[%d, n]", b.DType(), k), "a is "+Describe(a))
	}
	s := shape.Shape{a.Shape()[0], b.Shape()[1]}
	if err := fits(c, "c", c.In[0], s); err != nil {
		return err
	}
	dt = dtype.Promote(c.In[0].DType(), dt)
	for i, name := range []string{"beta", "alpha"} {
		if v := c.Args[i].Float; !dt.IsFloat() && v != float64(int(v)) {
			return c.Bad(name, fmt.Sprint(v), "an int", "the tensors are of "+dt.String())
		}
	}
	return c.Result(dt, s)
}

func runAddmm(c *Call) error {
	y := c.Out[0]
	prod := y
	if dt := y.DType(); dt.IsHalf() {
		var err error
		if prod, err = tensor.New(c.Ctx.Alloc, dtype.Float32, y.Shape()); err != nil {
			return c.memory(err)
		}
	}
	if err := productOf(c.In[1], c.In[2]).into(c, prod); err != nil {
		return err
	}
	beta, alpha := c.Args[0].Float, c.Args[1].Float
	switch y.DType().Compute() {
	case dtype.Float32:
		run2(c.Ctx.Workers, y, c.In[0], prod, weigh[float32](beta, alpha))
	case dtype.Float64:
		run2(c.Ctx.Workers, y, c.In[0], prod, weigh[float64](beta, alpha))
	case dtype.Int64:
		run2(c.Ctx.Workers, y, c.In[0], prod, weigh[int64](beta, alpha))
	case dtype.Int32:
		run2(c.Ctx.Workers, y, c.In[0], prod, weigh[int32](beta, alpha))
	default:
		run2(c.Ctx.Workers, y, c.In[0], prod, weigh[uint8](beta, alpha))
	}
	return nil
}

// weigh returns the kernel of beta x + alpha y.
func weigh[T dtype.Number](beta, alpha float64) func(dst, x, y []T) {
	b, a := factor[T](beta), factor[T](alpha)
	return func(dst, x, y []T) { kernel.Weigh(dst, b, x, a, y) }
}

// factor returns v as a T. Of an integer it keeps the low bits, as the sums
// that it scales do.
func factor[T dtype.Number](v float64) T {
	if T(1)/T(2) != 0 {
		return T(v)
	}
	return T(int64(v))
}

func addmmGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	beta, alpha := c.Args[0].Float, c.Args[1].Float
	grads := make([]*tensor.Tensor, 3)
	if x := c.In[0]; x.RequiresGrad() {
		grads[0] = t.SumTo(t.Scale(dy[0], beta), x.Shape())
	}
	if a := c.In[1]; a.RequiresGrad() {
		grads[1] = t.Scale(t.MatMul(dy[0], t.unary("T", c.In[2])), alpha)
	}
	if b := c.In[2]; b.RequiresGrad() {
		grads[2] = t.Scale(t.MatMul(t.unary("T", c.In[1]), dy[0]), alpha)
	}
	return grads
}
