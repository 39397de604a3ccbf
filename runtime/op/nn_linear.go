package op

import (
	"fmt"
	goruntime "runtime"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "linear",
		Surface: Namespace,
		Doc: "linear(x, weight, bias=None) returns the matrix product of x and the transposed weight, plus bias.\n" +
			"[..., k] by [n, k] gives [..., n], and by [k] gives [...].\n" +
			">>> F.linear(tensor([[1.0, 2.0]]), tensor([[3.0, 4.0]]), tensor([0.5]))\n" +
			"[[11.5]]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor [..., k], not of bools"},
			{Name: "weight", Kind: Tensor, Doc: "a tensor [n, k] or [k], not of bools"},
			{Name: "bias", Kind: OptTensor, Doc: "a tensor [n], with a weight [k] one of shape (), or None", Default: Default(None)},
		},
		Infer:  inferLinear,
		Run:    runLinear,
		Reads:  ReadsFactors,
		Grad:   linearGrad,
		Apart:  true,
		Shard:  linearRows,
		Spoils: spoilsProduct,
		Cost:   linearCost,
	})
}

func inferLinear(c *Call) error {
	x, w, b := c.In[0], c.In[1], c.In[2]
	for i, y := range c.In {
		if y != nil && y.DType() == dtype.Bool {
			return c.Bad(c.InName(i), Describe(y), "a tensor of numbers", "no arithmetic on bools")
		}
	}
	s, ws := x.Shape(), w.Shape()
	if len(s) == 0 {
		return c.Bad("x", Describe(x), "a tensor [..., k]", "")
	}
	if k := s[len(s)-1]; len(ws) < 1 || len(ws) > 2 || ws[len(ws)-1] != k {
		return c.Bad("weight", Describe(w), fmt.Sprintf("%v[n, %d]", w.DType(), k), "x is "+Describe(x))
	}
	if own := ws[:len(ws)-1]; b != nil && !b.Shape().Equal(own) {
		return c.Bad("bias", Describe(b), fmt.Sprintf("%v[%s]", b.DType(), own.Join()), "weight is "+Describe(w))
	}
	return c.Result(promote(c.Ctx, c.In...), slices.Concat(s[:len(s)-1], ws[:len(ws)-1]))
}

func runLinear(c *Call) error {
	y, w, b := c.Out[0], c.In[1], c.In[2]
	out, err := c.newOutput(y, y.DType().Compute())
	if err != nil {
		return err
	}
	p := product{}
	if w.Ndim() == 2 {
		p = turnedProduct(c.In[0], w)
	} else {
		p = productOf(c.In[0], w)
	}
	if err := p.into(c, out.room); err != nil {
		return err
	}
	if b != nil {
		addRow(c.Ctx.Workers, out.room, b)
	}
	out.done()
	return nil
}

// addRow adds the vector b, or the number, to every row of the contiguous y, a tensor of a dtype
// that is computed in.
func addRow(w *crew.Workers, y, b *tensor.Tensor) {
	switch {
	case b.Ndim() == 0:
		addTo(w, y, y, b)
	case y.DType() == dtype.Float32 && b.DType() == dtype.Float32 && b.Contiguous():
		addRows(w, y, b, kernel.Add.F32)
	case y.DType() == dtype.Float64 && b.DType() == dtype.Float64 && b.Contiguous():
		addRows(w, y, b, kernel.Add.F64)
	default:
		addTo(w, y, y, b)
	}
}

// addRows is addRow where the elements of both lie in order.
func addRows[T dtype.Float](w *crew.Workers, y, b *tensor.Tensor, add func(dst, x, y []T)) {
	row := tensor.Data[T](b)
	eachRow(w, y, y, len(row), true, func(dst, x []T) { add(dst, x, row) })
	goruntime.KeepAlive(b)
}

// addTo stores x + y in dst, a tensor of a dtype that is computed in.
func addTo(w *crew.Workers, dst, x, y *tensor.Tensor) {
	switch dst.DType() {
	case dtype.Float32:
		run2(w, dst, x, y, kernel.Add.F32)
	case dtype.Float64:
		run2(w, dst, x, y, kernel.Add.F64)
	case dtype.Int64:
		run2(w, dst, x, y, kernel.Add.I64)
	case dtype.Int32:
		run2(w, dst, x, y, kernel.Add.I32)
	default:
		run2(w, dst, x, y, kernel.Add.U8)
	}
}

// linearGrad is dx = dy weight, dweight = dyᵀ x and dbias = Σ dy, the dims in
// front of the last taken as one. A vector of weights is a matrix of one row.
func linearGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x, w, b, g := c.In[0], c.In[1], c.In[2], dy[0]
	dx := make([]*tensor.Tensor, 3)
	if w.Ndim() == 1 {
		g = t.column(g, g.Ndim())
	}
	if x.RequiresGrad() {
		rows := w
		if w.Ndim() == 1 {
			rows = t.column(w, 0)
		}
		dx[0] = t.MatMul(g, rows)
	}
	if w.RequiresGrad() {
		dx[1] = t.Reshape(t.rowsProduct(g, x), w.Shape())
	}
	if b != nil && b.RequiresGrad() {
		dx[2] = t.SumTo(dy[0], b.Shape())
	}
	return dx
}
