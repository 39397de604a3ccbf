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
		Doc: "embedding_bag(x, weight, offsets=None, mode=\"mean\", per_sample_weights=None, include_last_offset=False, padding_idx=None) returns for each bag of row numbers the mean, sum or maximum of those rows of weight.\n" +
			"Each row of x [b, n] is a bag; or x [n] is cut into bags that begin at offsets [b].\n" +
			"weight [m, d] gives [b, d]. An empty bag gives zeros, and padding_idx counts as not\n" +
			"there. per_sample_weights, of the shape of x, multiply the rows of a sum.\n" +
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
		},
		Infer: inferEmbeddingBag,
		Run:   runEmbeddingBag,
		Grad:  embeddingBagGrad,
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
	bags, err := c.bagCount(x, offsets)
	if err != nil {
		return err
	}
	return c.Result(promote(c.Ctx, w, samples), shape.Shape{bags, w.Shape()[1]})
}

// bagCount returns how many bags x and offsets make.
func (c *Call) bagCount(x, offsets *tensor.Tensor) (int, error) {
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
	if c.Args[1].Int != 0 {
		if bags--; bags < 0 {
			return 0, c.Bad("offsets", Describe(offsets), "at least one element", "include_last_offset")
		}
	}
	return bags, nil
}

// bagOf returns the bag of each of the n elements of x.
func (c *Call) bagOf(n, bags int) ([]int64, error) {
	bag := make([]int64, n)
	if c.In[2] == nil {
		for i := range bag {
			bag[i] = int64(i / (n / bags))
		}
		return bag, nil
	}
	starts := Int64s(c.In[2])
	if c.Args[1].Int == 0 {
		if bags == 0 && n > 0 {
			return nil, c.Bad("offsets", "no bag", fmt.Sprintf("bags for %d elements", n), "x is "+Describe(c.In[0]))
		}
		starts = append(starts, int64(n))
	}
	from := int64(0)
	for b, lo := range starts {
		switch end := int64(n); {
		case b == 0 && lo != 0:
			return nil, c.Bad("offsets", fmt.Sprintf("%d at index 0", lo), "0", "the first bag begins where x does")
		case lo < from || lo > end:
			return nil, c.Bad("offsets", fmt.Sprintf("%d at index %d", lo, b), fmt.Sprintf("%d..%d", from, end), "offsets ascend and lie in x")
		case b == bags && lo != end:
			return nil, c.Bad("offsets", fmt.Sprintf("%d at index %d", lo, b), fmt.Sprint(end), "the last is the length of x")
		}
		from = lo
	}
	for b := range bags {
		for i := starts[b]; i < starts[b+1]; i++ {
			bag[i] = int64(b)
		}
	}
	return bag, nil
}

// runEmbeddingBag leaves in c.Saved the bag of each element of x and what its
// row is multiplied by, without per_sample_weights; or for the maximum the
// rows that won, and 1 where there was one.
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
	bag, err := c.bagOf(len(ids), bags)
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
		err = b.max()
	} else {
		err = b.sum()
	}
	out.done()
	goruntime.KeepAlive(table)
	return err
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
func (b *bagging[T]) sum() error {
	mean, n := b.c.Args[0].Str == "mean", b.c.Out[0].Shape()[1]
	scale, factor := make([]T, len(b.ids)), make([]T, len(b.ids))
	for i, v := range b.counted {
		scale[i], factor[i] = T(v), T(v)
		if mean && v != 0 {
			factor[i] = T(v / b.counts[b.bag[i]])
		}
	}
	if samples := b.c.In[3]; samples != nil {
		for i, v := range Float64s(samples) {
			scale[i] *= T(v)
		}
	}
	kernel.SumBags(b.dst, b.table, scale, b.ids, b.bag, n)
	if mean {
		for i := range b.dst {
			b.dst[i] /= T(max(b.counts[i/n], 1))
		}
	}
	return saveBags(b.c, b.c.In[0].Shape(), b.bag, factor)
}

// max computes maxima.
func (b *bagging[T]) max() error {
	winner, won, scale := make([]int64, len(b.dst)), make([]T, len(b.dst)), make([]T, len(b.ids))
	for i, v := range b.counted {
		scale[i] = T(v)
	}
	for i := range winner {
		winner[i] = -1
	}
	kernel.MaxBags(b.dst, winner, b.table, scale, b.ids, b.bag, b.c.Out[0].Shape()[1])
	for i, id := range winner {
		if id >= 0 {
			won[i] = 1
		}
		winner[i] = max(id, 0)
	}
	return saveBags(b.c, b.c.Out[0].Shape(), winner, won)
}

// saveBags leaves the two slices in c.Saved as tensors of shape s.
func saveBags[T dtype.Float](c *Call, s shape.Shape, numbers []int64, factors []T) error {
	x, err := c.room(dtype.Int64, s)
	if err != nil {
		return err
	}
	y, err := c.room(c.Out[0].DType().Compute(), s)
	if err != nil {
		return err
	}
	copy(tensor.Data[int64](x), numbers)
	copy(tensor.Data[T](y), factors)
	c.Saved = []*tensor.Tensor{x, y}
	return nil
}

func embeddingBagGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x, w, samples := c.In[0], c.In[1], c.In[3]
	dx := make([]*tensor.Tensor, 4)
	if len(c.Saved) == 0 { // shapes only
		dx[1] = w
		return dx
	}
	g, n := t.wide(dy[0]), w.Shape()[0]
	if c.Args[0].Str == "max" {
		zeros := t.Zeros(g.DType(), w.Shape())
		dx[1] = t.Do("scatter_add", []*tensor.Tensor{zeros, c.Saved[0], t.Mul(g, c.Saved[1])}, Int1(0))
		return dx
	}
	rows := t.takeRows(c.Saved[0], g) // what reaches the row of each element of x
	rows = t.Mul(rows, t.column(c.Saved[1], x.Ndim()))
	if samples != nil {
		if samples.RequiresGrad() {
			dx[3] = t.Sum(t.Mul(rows, t.takeRows(x, t.wide(w))), []int{x.Ndim()}, false)
		}
		rows = t.Mul(rows, t.column(t.wide(samples), x.Ndim()))
	}
	dx[1] = t.addRows(rows, x, n)
	return dx
}
