package op

import (
	"fmt"
	goruntime "runtime"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// What the gradient of embedding_bag is made of.

func init() {
	last := Param{Name: "include_last_offset", Kind: Bool, Doc: "whether offsets ends with the length of x"}
	register(&Def{
		Name:    "bag_of",
		Surface: Internal,
		Doc:     "bag_of(offsets, n, include_last_offset) returns the bag of each of n elements, in bags that begin at offsets.",
		Params: []Param{
			{Name: "offsets", Kind: Tensor, Doc: "an integer tensor [b], ascending from 0"},
			{Name: "n", Kind: Int, Doc: "how many elements"},
			last,
		},
		Infer: func(c *Call) error {
			if err := c.checkInts("offsets", c.In[0]); err != nil {
				return err
			}
			if n := c.Args[0].Int; n < 0 {
				return c.Bad("n", fmt.Sprint(n), "a non-negative int", "")
			}
			return c.Result(dtype.Int64, shape.Shape{c.Args[0].Int})
		},
		Run: func(c *Call) error {
			bags, last := c.In[0].Numel(), c.Args[1].Int != 0
			if last {
				bags--
			}
			bag, err := c.bagsAt(c.In[0], last, c.Args[0].Int, bags)
			copy(tensor.Data[int64](c.Out[0]), bag)
			return err
		},
		Cost: moves,
	})
	register(&Def{
		Name:    "bag_first",
		Surface: Internal,
		Doc: "bag_first(x, weight, offsets, y, include_last_offset, padding_idx) returns which element of x is the first of each bag whose row of weight has what y has for the bag.\n" +
			"It counts the elements of x in row-major order, and returns their number where\n" +
			"there is none. NaN is NaN.",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "an integer tensor of row numbers, [n] or [b, n]"},
			{Name: "weight", Kind: Tensor, Doc: "a float tensor [m, d]"},
			{Name: "offsets", Kind: OptTensor, Doc: "an integer tensor [b], or None"},
			{Name: "y", Kind: Tensor, Doc: "a tensor [b, d] of weight's dtype"},
			last,
			{Name: "padding_idx", Kind: OptInt, Doc: "a row that does not count, or None"},
		},
		Infer: inferBagFirst,
		Run: func(c *Call) error {
			if c.In[1].DType().Compute() == dtype.Float64 {
				return bagFirst[float64](c)
			}
			return bagFirst[float32](c)
		},
		Shard: bagFirstRows,
		Local: bagFirstLocal,
		Sited: anywhere,
		Cost:  bagFirstCost,
	})
}

func inferBagFirst(c *Call) error {
	x, w, y := c.In[0], c.In[1], c.In[3]
	if err := c.checkInts("x", x); err != nil {
		return err
	}
	if !w.DType().IsFloat() || w.Ndim() != 2 {
		return c.Bad("weight", Describe(w), "a float tensor [m, d]", "")
	}
	if _, err := c.padding(c.Args[1], w.Shape()[0]); err != nil {
		return err
	}
	bags, err := c.bagCount(x, c.In[2], c.Args[0].Int != 0)
	if err != nil {
		return err
	}
	if s := (shape.Shape{bags, w.Shape()[1]}); y.DType() != w.DType() || !y.Shape().Equal(s) {
		return c.Bad("y", Describe(y), fmt.Sprintf("%v[%s]", w.DType(), s.Join()), "what the bags give")
	}
	return c.Result(dtype.Int64, y.Shape())
}

// bagsAt returns the bag of each of n elements, in so many bags that begin at
// offsets. last says that these end with n.
func (c *Call) bagsAt(offsets *tensor.Tensor, last bool, n, bags int) ([]int64, error) {
	bag, starts := make([]int64, n), Int64s(offsets)
	if !last {
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

func bagFirst[T dtype.Float](c *Call) error {
	x, w, dt := c.In[0], c.In[1], c.In[1].DType().Compute()
	ids, err := c.rowNumbers(x, w.Shape()[0], "rows of weight "+Describe(w))
	if err != nil {
		return err
	}
	bag, err := c.bagOf(len(ids), c.In[3].Shape()[0], c.Args[0].Int != 0)
	if err != nil {
		return err
	}
	table, err := c.inOrder(w, dt)
	if err != nil {
		return err
	}
	best, err := c.inOrder(c.In[3], dt)
	if err != nil {
		return err
	}
	padding, _ := c.padding(c.Args[1], w.Shape()[0])
	rows, y, first, d := tensor.Data[T](table), tensor.Data[T](best), tensor.Data[int64](c.Out[0]), w.Shape()[1]
	for i := range first {
		first[i] = int64(len(ids))
	}
	for i := len(ids) - 1; i >= 0; i-- {
		if padding.Set && int(ids[i]) == padding.Int {
			continue
		}
		for j, v := range rows[int(ids[i])*d:][:d] {
			if at := int(bag[i])*d + j; v == y[at] || v != v && y[at] != y[at] {
				first[at] = int64(i)
			}
		}
	}
	goruntime.KeepAlive(table)
	goruntime.KeepAlive(best)
	return nil
}

func embeddingBagGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x, w, samples := c.In[0], c.In[1], c.In[3]
	dx, g := make([]*tensor.Tensor, 4), t.wide(dy[0])
	if c.Args[0].Str == "max" {
		dx[1] = t.bagMaxGrad(c, g)
		return dx
	}
	var counted *tensor.Tensor // 0 where x is padding, elsewhere 1
	if padding, _ := c.padding(c.Args[2], w.Shape()[0]); padding.Set {
		counted = t.Cast(t.binary("ne", t.Cast(x, dtype.Int64), tensor.Number(int64(padding.Int))), g.DType())
	}
	if c.Args[0].Str == "mean" {
		g = t.Div(g, t.bagCounts(c, counted, g.DType()))
	}
	rows := t.fromBags(c, g) // what reaches the row of each element of x
	if counted != nil {
		rows = t.Mul(rows, t.column(counted, x.Ndim()))
	}
	if samples != nil {
		if samples.RequiresGrad() {
			dx[3] = t.Sum(t.Mul(rows, t.takeRows(x, t.wide(w))), []int{x.Ndim()}, false)
		}
		rows = t.Mul(rows, t.column(t.wide(samples), x.Ndim()))
	}
	if byFreq := c.Args[5]; byFreq.Int != 0 {
		scale := t.Do("embedding_scale", one(x), Int1(w.Shape()[0]), None, byFreq)
		rows = t.Mul(rows, t.column(t.Cast(scale, g.DType()), x.Ndim()))
	}
	dx[1] = t.addRows(rows, x, w.Shape()[0], t.like(w))
	return dx
}

// bags returns the bag of each element of x, which has one dim.
func (t *Tape) bags(c *Call) *tensor.Tensor {
	return t.Do("bag_of", []*tensor.Tensor{c.In[2]}, Int1(c.In[0].Numel()), c.Args[1])
}

// fromBags returns g [b, d] for each element of x: what its bag has.
func (t *Tape) fromBags(c *Call, g *tensor.Tensor) *tensor.Tensor {
	if s := c.In[0].Shape(); len(s) == 2 {
		return t.Expand(t.column(g, 1), shape.Shape{s[0], s[1], g.Shape()[1]})
	}
	return t.takeRows(t.bags(c), g)
}

// bagCounts returns the sizes of the bags, at least 1, in dtype dt: a tensor
// [b, 1]. counted says which elements of x count, nil for all.
func (t *Tape) bagCounts(c *Call, counted *tensor.Tensor, dt dtype.DType) *tensor.Tensor {
	x, bags := c.In[0], c.Spec[0].Shape[0]
	if counted == nil {
		counted = t.Do("ones_like", []*tensor.Tensor{x}, Int1(int(dt)))
	}
	var n *tensor.Tensor
	if x.Ndim() == 2 {
		n = t.Sum(counted, []int{1}, true)
	} else {
		n = t.addRows(t.column(counted, 1), t.bags(c), bags, nil)
	}
	return t.binary("maximum", n, tensor.Number(1.0))
}

// bagMaxGrad gives g to the rows that won.
func (t *Tape) bagMaxGrad(c *Call, g *tensor.Tensor) *tensor.Tensor {
	x, w := c.In[0], c.In[1]
	zeros := t.Do("zeros_like", []*tensor.Tensor{w}, Int1(int(g.DType())))
	n := int64(x.Numel())
	if n == 0 {
		return zeros
	}
	first := t.Do("bag_first", []*tensor.Tensor{x, w, c.In[2], c.Out[0]}, c.Args[1], c.Args[2])
	won := t.binary("lt", first, tensor.Number(n))
	first = t.binary("minimum", first, tensor.Number(n-1))
	ids := t.takeRows(first, t.Reshape(t.Cast(x, dtype.Int64), shape.Shape{int(n), 1}))
	ids = t.Reshape(ids, first.Shape())
	g = t.Where(won, g, tensor.Number(0.0))
	return t.Do("scatter_add", []*tensor.Tensor{zeros, ids, g}, Int1(0))
}
