package op

import (
	"fmt"
	goruntime "runtime"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/rng"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "multinomial",
		Surface: Function,
		Doc: "multinomial(probs, n, replacement=False) returns n indices drawn from each row of probs, in proportion to its numbers.\n" +
			"A row need not sum to 1. Without replacement the indices of a row differ, and at\n" +
			"least n of its numbers must be positive. Rows of shape [c] give indices of shape\n" +
			"[n], [m, c] gives [m, n].\n" +
			">>> multinomial(tensor([0.0, 1.0, 0.0]), 2, replacement=True)\n" +
			"[1 1]",
		Params: []Param{
			{Name: "probs", Also: []string{"input"}, Kind: Tensor, Doc: "a float tensor [c] or [m, c], not negative"},
			{Name: "n", Also: []string{"num_samples"}, Kind: Int, Doc: "how many from each row"},
			{Name: "replacement", Kind: Bool, Doc: "whether an index may come again", Default: Default(Bool1(false))},
		},
		Infer:  inferMultinomial,
		Run:    func(c *Call) error { return c.multinomial(c.Out[0], c.In[0], 0) },
		Hollow: hollowDraw,
		Shard:  multinomialRule,
		Sited:  anywhere,
		Local: func(b *Blocks) ([]*tensor.Tensor, error) {
			first, _ := b.Span(0, 0)
			y := b.empty(0)
			return one(y), b.multinomial(y, b.X[0], first)
		},
		Cost: multinomialCost,
	})
}

func inferMultinomial(c *Call) error {
	x, n := c.In[0], c.Args[0].Int
	s := x.Shape()
	if !x.DType().IsFloat() || len(s) != 1 && len(s) != 2 {
		return c.Bad("probs", Describe(x), "a float tensor [c] or [m, c]", "")
	}
	if n < 0 {
		return c.Bad("n", fmt.Sprint(n), "a non-negative int", "")
	}
	if cats := s[len(s)-1]; c.Args[1].Int == 0 && n > cats {
		return c.Bad("n", fmt.Sprint(n), fmt.Sprintf("at most %d", cats), "without replacement no index comes twice")
	}
	out := append(shape.Shape(nil), s...)
	out[len(s)-1] = n
	return c.Result(dtype.Int64, out)
}

// multinomialRule: the rows of probs may be cut.
func multinomialRule(c *Call) []Row {
	if c.In[0].Ndim() < 2 {
		return nil
	}
	row := rowOf(c)
	row.In[0], row.Out[0] = mesh.Shard(0), mesh.Shard(0)
	return []Row{row}
}

// multinomial stores in y what is drawn from the rows of x, which are those of
// probs from row first on.
func (c *Call) multinomial(y, x *tensor.Tensor, first int) error {
	if y.Hollow() {
		return hollowDraw(c)
	}
	x, err := c.inOrder(x, dtype.Float64)
	if err != nil {
		return err
	}
	s, n := x.Shape(), c.Args[0].Int
	cats, probs, out := s[len(s)-1], tensor.Data[float64](x), tensor.Data[int64](y)
	rows := shape.Shape(s[:len(s)-1]).Numel()
	for r := range rows {
		if err := c.checkWeights(first+r, probs[r*cats:(r+1)*cats]); err != nil {
			return err
		}
	}
	seed, draw := c.Ctx.Draw()
	for r := range rows {
		row, dst := probs[r*cats:(r+1)*cats], out[r*n:(r+1)*n]
		if c.Args[1].Int != 0 {
			rng.Categories(dst, row, seed, draw, uint64((first+r)*n))
		} else {
			rng.Distinct(dst, row, seed, draw, uint64((first+r)*cats))
		}
	}
	goruntime.KeepAlive(x)
	return nil
}

// checkWeights returns an error if what the call asks for cannot be drawn from
// row r, which holds w.
func (c *Call) checkWeights(r int, w []float64) error {
	positive, sum := 0, 0.0
	for i, v := range w {
		if !(v >= 0) {
			return c.Bad("probs", fmt.Sprintf("%v at index %d of row %d", v, i, r), "no negative number", "")
		}
		if v > 0 {
			positive++
		}
		sum += v
	}
	if sum-sum != 0 {
		return c.Bad("probs", fmt.Sprintf("a sum of %v in row %d", sum, r), "a finite sum", "")
	}
	n := c.Args[0].Int
	need := min(n, 1)
	if c.Args[1].Int == 0 {
		need = n
	}
	if positive < need {
		return c.Bad("probs", fmt.Sprintf("%d positive numbers in row %d", positive, r), fmt.Sprintf("at least %d", need), "an index of probability 0 is never drawn")
	}
	return nil
}
