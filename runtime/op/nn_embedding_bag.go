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
	register(&Def{
		Name:    "embedding_bag",
		Surface: Namespace,
		Doc: "embedding_bag(x, weight, offsets=None, mode=\"mean\", per_sample_weights=None, include_last_offset=False, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False) returns for each bag of row numbers the mean, sum or maximum of those rows of weight.\n" +
			"Each row of x [b, n] is a bag; or x [n] is cut into bags that begin at offsets [b].\n" +
			"weight [m, d] gives [b, d]. An empty bag gives zeros, and padding_idx counts as not\n" +
			"there. per_sample_weights, of the shape of x, multiply the rows of a sum. With max_norm\n" +
			"rows that x names and whose norm of order norm_type is greater are first scaled to it,\n" +
			"in weight itself, which is not recorded. scale_grad_by_freq divides the gradient of a row\n" +
			"by how often x names it, not with mode \"max\". Gradients are dense, whatever sparse says.\n" +
			">>> F.embedding_bag(tensor([0, 2, 1]), tensor([[1.0], [2.0], [3.0]]), tensor([0, 2]))\n" +
			"[[2.]\n" +
			" [2.]]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "an integer tensor of row numbers, [n] or [b, n]"},
			{Name: "weight", Kind: Tensor, Doc: "a float tensor [m, d]"},
			{Name: "offsets", Kind: OptTensor, Doc: "an integer tensor [b], ascending from 0, or None", Default: Default(None)},
			{Name: "mode", Kind: Choice, Doc: `"mean", "sum" or "max"`, Default: Default(Str1("mean")), Choices: []string{"mean", "sum", "max"}},
			{Name: "per_sample_weights", Kind: OptTensor, Doc: "a float tensor of the shape of x, or None", Default: Default(None)},
			{Name: "include_last_offset", Kind: Bool, Doc: "whether offsets ends with the length of x", Default: Default(Bool1(false))},
			{Name: "padding_idx", Kind: OptInt, Doc: "a row that does not count, from the end if negative, or None", Default: Default(None)},
			{Name: "max_norm", Kind: OptFloat, Doc: "the greatest norm of a row that x names, or None", Default: Default(None)},
			{Name: "norm_type", Kind: Float, Doc: "the order of that norm", Default: Default(Float1(2))},
			{Name: "scale_grad_by_freq", Kind: Bool, Doc: "whether to divide gradients by frequency", Default: Default(Bool1(false))},
			{Name: "sparse", Kind: Bool, Doc: "accepted for programs written for PyTorch; it changes nothing", Default: Default(Bool1(false))},
		},
		Infer:  inferEmbeddingBag,
		Before: func(t *Tape, c *Call) { limitRows(t, c.In[0], c.In[1], c.Args[3], c.Args[4]) },
		Run:    runEmbeddingBag,
		Grad:   embeddingBagGrad,
		Shard:  embeddingBagRows,
		Local:  embeddingBagLocal,
		Cost:   embeddingBagCost,
	})
}

func inferEmbeddingBag(c *Call) error {
	x, w, offsets, samples := c.In[0], c.In[1], c.In[2], c.In[3]
	if err := c.checkInts("x", x); err != nil {
		return err
	}
	if !w.DType().IsFloat() || w.Ndim() != 2 {
		return c.Bad("weight", Describe(w), "a float tensor [m, d]", "")
	}
	if _, err := c.padding(c.Args[2], w.Shape()[0]); err != nil {
		return err
	}
	if samples != nil {
		if c.Args[0].Str != "sum" {
			return c.Bad("per_sample_weights", Describe(samples), "None", fmt.Sprintf("they are for mode \"sum\", not %q", c.Args[0].Str))
		}
		if !samples.DType().IsFloat() || !samples.Shape().Equal(x.Shape()) {
			return c.Bad("per_sample_weights", Describe(samples), "a float tensor of shape "+x.Shape().String(), "that of x")
		}
	}
	if c.Args[0].Str == "max" && c.Args[5].Int != 0 {
		return c.Bad("scale_grad_by_freq", "True", "False", "mode \"max\"")
	}
	bags, err := c.bagCount(x, offsets, c.Args[1].Int != 0)
	if err != nil {
		return err
	}
	return c.Result(promote(c.Ctx, w, samples), shape.Shape{bags, w.Shape()[1]})
}

// bagCount returns how many bags x and offsets make. last says that these end
// with the length of x.
func (c *Call) bagCount(x, offsets *tensor.Tensor, last bool) (int, error) {
	if x.Ndim() == 2 {
		if offsets != nil {
			return 0, c.Bad("offsets", Describe(offsets), "None", "the rows of x are the bags")
		}
		return x.Shape()[0], nil
	}
	if x.Ndim() != 1 {
		return 0, c.Bad("x", Describe(x), "an integer tensor [n] or [b, n]", "")
	}
	if offsets == nil {
		return 0, c.Bad("offsets", "None", "an integer tensor [b]", "x has one dim")
	}
	if !offsets.DType().IsInt() || offsets.Ndim() != 1 {
		return 0, c.Bad("offsets", Describe(offsets), "an integer tensor [b]", "")
	}
	bags := offsets.Numel()
	if last {
		if bags--; bags < 0 {
			return 0, c.Bad("offsets", Describe(offsets), "at least one element", "include_last_offset")
		}
	}
	return bags, nil
}

// bagOf returns the bag of each of the n elements of x, in so many bags. last
// says that the offsets In[2], if there are any, end with n.
func (c *Call) bagOf(n, bags int, last bool) ([]int64, error) {
	if c.In[2] != nil {
		if !last && bags == 0 && n > 0 {
			return nil, c.Bad("offsets", "no bag", fmt.Sprintf("bags for %d elements", n), "x is "+Describe(c.In[0]))
		}
		return c.bagsAt(c.In[2], last, n, bags)
	}
	bag := make([]int64, n)
	for i := range bag {
		bag[i] = int64(i / (n / bags))
	}
	return bag, nil
}

func runEmbeddingBag(c *Call) error {
	if c.Out[0].DType().Compute() == dtype.Float64 {
		return embeddingBag[float64](c)
	}
	return embeddingBag[float32](c)
}

func embeddingBag[T dtype.Float](c *Call) error {
	w, bags := c.In[1], c.Out[0].Shape()[0]
	ids, err := c.rowNumbers(c.In[0], w.Shape()[0], "rows of weight "+Describe(w))
	if err != nil {
		return err
	}
	bag, err := c.bagOf(len(ids), bags, c.Args[1].Int != 0)
	if err != nil {
		return err
	}
	dt := c.Out[0].DType().Compute()
	table, err := c.inOrder(w, dt)
	if err != nil {
		return err
	}
	out, err := c.newOutput(c.Out[0], dt)
	if err != nil {
		return err
	}
	counts, scale := c.bagSizes(ids, bag, bags)
	b := bagging[T]{c, ids, bag, counts, scale, tensor.Data[T](table), tensor.Data[T](out.room)}
	clear(b.dst)
	if c.Args[0].Str == "max" {
		b.max()
	} else {
		b.sum()
	}
	out.done()
	goruntime.KeepAlive(table)
	return nil
}

// bagSizes returns the size of each bag without padding and, for each of ids,
// 0 if it is padding and 1 if not.
func (c *Call) bagSizes(ids, bag []int64, bags int) (counts, counted []float64) {
	padding, _ := c.padding(c.Args[2], c.In[1].Shape()[0])
	counts, counted = make([]float64, bags), make([]float64, len(ids))
	for i, id := range ids {
		if !padding.Set || int(id) != padding.Int {
			counted[i] = 1
			counts[bag[i]]++
		}
	}
	return counts, counted
}

// A bagging is what there is to compute for an embedding_bag.
type bagging[T dtype.Float] struct {
	c               *Call
	ids, bag        []int64
	counts, counted []float64 // see bagSizes
	table, dst      []T
}

// sum computes sums or means.
func (b *bagging[T]) sum() {
	n := b.c.Out[0].Shape()[1]
	scale := b.scale()
	if samples := b.c.In[3]; samples != nil {
		for i, v := range Float64s(samples) {
			scale[i] *= T(v)
		}
	}
	kernel.SumBags(b.dst, b.table, scale, b.ids, b.bag, n)
	if b.c.Args[0].Str == "mean" {
		for i := range b.dst {
			b.dst[i] /= T(max(b.counts[i/n], 1))
		}
	}
}

// max computes maxima.
func (b *bagging[T]) max() {
	kernel.MaxBags(b.dst, make([]int64, len(b.dst)), b.table, b.scale(), b.ids, b.bag, b.c.Out[0].Shape()[1])
}

// scale returns what each row is multiplied by: 0 for padding.
func (b *bagging[T]) scale() []T {
	scale := make([]T, len(b.ids))
	for i, v := range b.counted {
		scale[i] = T(v)
	}
	return scale
}
