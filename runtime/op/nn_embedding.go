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
	ids := Param{Name: "x", Kind: Tensor, Doc: "an integer tensor of row numbers"}
	register(&Def{
		Name:    "embedding",
		Surface: Namespace,
		Doc: "embedding(x, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False) returns the rows of weight that x names.\n" +
			"weight [n, d] and x of any shape give that shape with d at the end. The row\n" +
			"padding_idx gets no gradient; scale_grad_by_freq divides that of a row by how often\n" +
			"x names it. With max_norm, rows that x names and whose norm of order norm_type is\n" +
			"greater are first scaled to it, in weight itself, which is not recorded. Gradients\n" +
			"are dense, whatever sparse says.\n" +
			">>> F.embedding(tensor([1, 0]), tensor([[1.0, 2.0], [3.0, 4.0]]))\n" +
			"[[3. 4.]\n" +
			" [1. 2.]]",
		Params: []Param{ids,
			{Name: "weight", Kind: Tensor, Doc: "a tensor [n, d]"},
			{Name: "padding_idx", Kind: OptInt, Doc: "a row without gradient, counted from the end if negative, or None", Default: Default(None)},
			{Name: "max_norm", Kind: OptFloat, Doc: "the greatest norm of a row that x names, or None", Default: Default(None)},
			{Name: "norm_type", Kind: Float, Doc: "the order of that norm", Default: Default(Float1(2))},
			{Name: "scale_grad_by_freq", Kind: Bool, Doc: "whether to divide gradients by frequency", Default: Default(Bool1(false))},
			{Name: "sparse", Kind: Bool, Doc: "accepted for programs written for PyTorch; it changes nothing", Default: Default(Bool1(false))},
		},
		Infer:  inferEmbedding,
		Before: func(t *Tape, c *Call) { limitRows(t, c.In[0], c.In[1], c.Args[1], c.Args[2]) },
		Run:    runEmbedding,
		Reads:  ReadsInputs,
		Grad:   embeddingGrad,
		Shard:  embeddingRows,
		Local:  embeddingLocal,
		Cost:   embeddingCost,
	})
	register(&Def{
		Name:    "embedding_grad",
		Surface: Internal,
		Doc: "embedding_grad(g, x, n, like=None) returns n rows: the sums of the rows of g by the numbers in x.\n" +
			"like, of the shape of the result, says how ranks that hold it together are to hold\n" +
			"the result.",
		Params: []Param{{Name: "g", Kind: Tensor, Doc: "a float tensor of the shape of x with d at the end"}, ids, {Name: "n", Kind: Int, Doc: "how many rows"},
			{Name: "like", Kind: OptTensor, Doc: "a tensor [n, d] whose elements do not count, or None", Default: Default(None)}},
		Infer: inferEmbeddingGrad,
		Run:   runEmbeddingGrad,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{t.takeRows(c.In[1], dy[0]), nil, nil}
		},
		Shard: embeddingGradRows,
		Local: embeddingGradLocal,
		Cost:  embeddingGradCost,
	})
	register(&Def{
		Name:    "embedding_scale",
		Surface: Internal,
		Doc:     "embedding_scale(x, n, padding, by_freq) returns 0 where x is padding, and elsewhere 1, or with by_freq one over how often the number occurs.",
		Params: []Param{ids, {Name: "n", Kind: Int, Doc: "one more than the largest number"}, {Name: "padding", Kind: OptInt, Doc: "a number, or None"},
			{Name: "by_freq", Kind: Bool, Doc: "whether to count"}},
		Infer: func(c *Call) error { return c.Result(dtype.Float64, c.In[0].Shape()) },
		Run:   runEmbeddingScale,

		Shard:   embeddingScaleRows,
		Compose: countedScale,
		Cost:    embeddingScaleCost,
	})
	register(&Def{
		Name:    "one_hot",
		Surface: Namespace,
		Doc: "one_hot(x, num_classes=-1) returns int64 vectors that are 1 at the index that x names and 0 elsewhere.\n" +
			"They lie along a new last dim. With -1 there are as many classes as the largest\n" +
			"index needs.\n" +
			">>> F.one_hot(tensor([2, 0]))\n" +
			"[[0 0 1]\n" +
			" [1 0 0]]",
		Params: []Param{ids, {Name: "num_classes", Kind: Int, Doc: "how many classes, or -1", Default: Default(Int1(-1))}},
		Infer:  inferOneHot,
		Run:    runOneHot,
		Shard:  besides(func(c *Call) []bool { return make([]bool, c.In[0].Ndim()) }),
		Local: func(b *Blocks) ([]*tensor.Tensor, error) {
			return b.Apply(Int1(b.Spec[0].Shape[b.In[0].Ndim()]))
		},
		ByValue: func(c *Call) bool { return c.Args[0].Int == -1 },
		Cost:    moves,
	})
}

// takeRows returns the rows of weight that x names.
func (t *Tape) takeRows(x, weight *tensor.Tensor) *tensor.Tensor {
	return t.Do("embedding", []*tensor.Tensor{x, weight}, None, None, Float1(2), Bool1(false), Bool1(false))
}

// limitRows scales the rows of w that x names and whose norm of an order is greater
// than limit, as PyTorch does: by limit / (norm + 1e-7).
func limitRows(t *Tape, x, w *tensor.Tensor, limit, order Arg) {
	if !limit.Set || w.Buffer() == nil {
		return
	}
	most := tensor.Number(limit.Float)
	each := t.column(t.Do("ones_like", []*tensor.Tensor{x}, Int1(int(dtype.Float64))), x.Ndim())
	named := t.binary("gt", t.addRows(each, x, w.Shape()[0], nil), tensor.Number(0.0))
	norm := t.Do("norm", []*tensor.Tensor{w}, order, IntsN(1), Bool1(true))
	over := t.binary("and", named, t.binary("gt", norm, most))
	factor := t.Where(over, t.Div(most, t.Add(norm, tensor.Number(1e-7))), tensor.Number(1.0))
	t.Do("mul_", []*tensor.Tensor{w, t.Cast(factor, w.DType())})
}

func inferEmbedding(c *Call) error {
	x, w := c.In[0], c.In[1]
	if err := c.checkInts("x", x); err != nil {
		return err
	}
	if w.Ndim() != 2 {
		return c.Bad("weight", Describe(w), "a tensor [n, d]", "")
	}
	if _, err := c.padding(c.Args[0], w.Shape()[0]); err != nil {
		return err
	}
	if c.Args[1].Set && !w.DType().IsFloat() {
		return c.Bad("weight", Describe(w), "a float tensor", "max_norm scales its rows")
	}
	return c.Result(w.DType(), append(append(shape.Shape{}, x.Shape()...), w.Shape()[1]))
}

// padding returns the number that arg, a padding_idx, names among n; None if
// it is None.
func (c *Call) padding(arg Arg, n int) (Arg, error) {
	if !arg.Set {
		return None, nil
	}
	i, ok := shape.Dim(arg.Int, n)
	if !ok {
		return None, c.Bad("padding_idx", fmt.Sprint(arg.Int), fmt.Sprintf("%d..%d", -n, n-1), "rows of weight")
	}
	return Int1(i), nil
}

// rowNumbers returns the elements of x in order, which are in [0, n).
func (c *Call) rowNumbers(x *tensor.Tensor, n int, rule string) ([]int64, error) {
	ids := Int64s(x)
	for i, id := range ids {
		if id < 0 || id >= int64(n) {
			return nil, c.badElement("x", x, i, id, fmt.Sprintf("0..%d", n-1), rule)
		}
	}
	return ids, nil
}

func runEmbedding(c *Call) error {
	w := c.In[1]
	ids, err := c.rowNumbers(c.In[0], w.Shape()[0], "rows of weight "+Describe(w))
	if err != nil {
		return err
	}
	table, err := c.inOrder(w, w.DType())
	if err != nil {
		return err
	}
	kernel.TakeRows(c.Out[0].Bytes(), table.Bytes(), ids, w.Shape()[1]*w.DType().Size())
	goruntime.KeepAlive(table)
	return nil
}

func embeddingGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x, w := c.In[0], c.In[1]
	g, n := t.wide(dy[0]), w.Shape()[0]
	if c.Args[0].Set || c.Args[3].Int != 0 {
		padding, _ := c.padding(c.Args[0], n)
		scale := t.Do("embedding_scale", []*tensor.Tensor{x}, Int1(n), padding, c.Args[3])
		g = t.Mul(g, t.column(t.Cast(scale, g.DType()), x.Ndim()))
	}
	return []*tensor.Tensor{nil, t.addRows(g, x, n, t.like(w))}
}

// addRows returns n rows: the sums of the rows of g by the numbers in x. The
// result is cut as like is, if that is not nil.
func (t *Tape) addRows(g, x *tensor.Tensor, n int, like *tensor.Tensor) *tensor.Tensor {
	return t.Do("embedding_grad", []*tensor.Tensor{g, x, like}, Int1(n))
}

func inferEmbeddingGrad(c *Call) error {
	g, x := c.In[0], c.In[1]
	if err := c.checkFloat("g", g); err != nil {
		return err
	}
	if err := c.checkInts("x", x); err != nil {
		return err
	}
	s := g.Shape()
	if len(s) == 0 || !s[:len(s)-1].Equal(x.Shape()) {
		return c.Bad("g", Describe(g), "the shape of x with one more dim", "x is "+Describe(x))
	}
	out := shape.Shape{c.Args[0].Int, s[len(s)-1]}
	if like := c.In[2]; like != nil && !like.Shape().Equal(out) {
		return c.Bad("like", Describe(like), "shape "+out.String(), "that of the result")
	}
	return c.Result(g.DType(), out)
}

func runEmbeddingGrad(c *Call) error {
	ids, err := c.rowNumbers(c.In[1], c.Args[0].Int, "rows")
	if err != nil {
		return err
	}
	dt := c.Out[0].DType().Compute()
	g, err := c.inOrder(c.In[0], dt)
	if err != nil {
		return err
	}
	out, err := c.newOutput(c.Out[0], dt)
	if err != nil {
		return err
	}
	d := c.Out[0].Shape()[1]
	if dt == dtype.Float64 {
		clear(tensor.Data[float64](out.room))
		kernel.AddRows(tensor.Data[float64](out.room), tensor.Data[float64](g), ids, d)
	} else {
		clear(tensor.Data[float32](out.room))
		kernel.AddRows(tensor.Data[float32](out.room), tensor.Data[float32](g), ids, d)
	}
	out.done()
	goruntime.KeepAlive(g)
	return nil
}

func runEmbeddingScale(c *Call) error {
	n, padding := c.Args[0].Int, c.Args[1]
	ids, err := c.rowNumbers(c.In[0], n, "rows")
	if err != nil {
		return err
	}
	count := make([]int, n)
	for _, id := range ids {
		count[id]++
	}
	dst := tensor.Data[float64](c.Out[0])
	for i, id := range ids {
		switch {
		case padding.Set && int(id) == padding.Int:
			dst[i] = 0
		case c.Args[2].Int != 0:
			dst[i] = 1 / float64(count[id])
		default:
			dst[i] = 1
		}
	}
	return nil
}

func inferOneHot(c *Call) error {
	x, n := c.In[0], c.Args[0].Int
	if err := c.checkInts("x", x); err != nil {
		return err
	}
	if n < -1 {
		return c.Bad("num_classes", fmt.Sprint(n), "a non-negative int or -1", "")
	}
	if n == -1 {
		c.sized("num_classes")
		if x.Buffer() == nil || x.Numel() == 0 {
			return c.Bad("num_classes", "-1", "a non-negative int", "there is no index to count from")
		}
		for i, id := range Int64s(x) {
			if id < 0 {
				return c.badElement("x", x, i, id, "a non-negative int", "an index of a class")
			}
			n = max(n, int(id)+1)
		}
	}
	return c.Result(dtype.Int64, append(append(shape.Shape{}, x.Shape()...), n))
}

func runOneHot(c *Call) error {
	n := c.Spec[0].Shape[c.In[0].Ndim()]
	ids, err := c.rowNumbers(c.In[0], n, "classes")
	if err != nil {
		return err
	}
	dst := tensor.Data[int64](c.Out[0])
	clear(dst)
	for i, id := range ids {
		dst[i*n+int(id)] = 1
	}
	return nil
}
