package op

import (
	goruntime "runtime"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// What cross_entropy reads of scores whose classes are cut, in one pass, and the
// gradient of it in one more: between them nothing is kept but the scores.

func init() {
	x := Param{Name: "x", Kind: Tensor, Doc: "a float tensor [c], [n, c] or [n, c, d1, ...] of c classes"}
	most := Param{Name: "most", Kind: Tensor, Doc: "the greatest of x along its dim of classes, which has size 1"}
	target := Param{Name: "target", Kind: Tensor, Doc: "an integer tensor of the shape of most"}
	first := Param{Name: "first", Kind: Int, Doc: "the index of the first class of x"}
	register(&Def{
		Name:    "class_sums",
		Surface: Internal,
		Doc: "class_sums(x, most, target, first) returns the sums over the classes of exp(x - most), and what x - most is at target, or 0 where x has no such class.\n" +
			"most takes no part in differentiation.",
		Params: []Param{x, most, target, first},
		Infer: func(c *Call) error {
			if err := c.checkClassSums(); err != nil {
				return err
			}
			return c.Results(Spec{c.In[0].DType(), c.In[1].Shape()}, Spec{c.In[0].DType(), c.In[1].Shape()})
		},
		Run:   byFloat(classSums[float32], classSums[float64]),
		Reads: ReadsInputs,
		Grad:  classSumsGrad,
		Shard: classSumsRule,
		Local: localClassSums,
		Cost:  classSumsCost,
	})
	register(&Def{
		Name:    "class_sums_grad",
		Surface: Internal,
		Doc:     "class_sums_grad(x, most, target, g, h, first) returns the gradient of x in class_sums, given those of its two results.",
		Params: []Param{x, most, target, {Name: "g", Kind: Tensor, Doc: "a float tensor of the shape of most"},
			{Name: "h", Kind: Tensor, Doc: "likewise"}, first},
		Infer: func(c *Call) error {
			if err := c.checkClassSums(); err != nil {
				return err
			}
			for i, name := range []string{"g", "h"} {
				if g := c.In[3+i]; !g.DType().IsFloat() || !g.Shape().Equal(c.In[1].Shape()) {
					return c.Bad(name, Describe(g), "a float tensor of shape "+c.In[1].Shape().String(), "that of most")
				}
			}
			return c.Result(c.In[0].DType(), c.In[0].Shape())
		},
		Run:   byFloat(runClassSumsGrad[float32], runClassSumsGrad[float64]),
		Shard: classSumsRule,
		Local: localClassSums,
		Cost:  classSumsCost,
	})
}

// byFloat returns a Run that computes in the dtype that the first input is computed in.
func byFloat(f32, f64 func(c *Call) error) func(c *Call) error {
	return func(c *Call) error {
		if c.In[0].DType() == dtype.Float64 {
			return f64(c)
		}
		return f32(c)
	}
}

// checkClassSums returns an error unless the inputs of c are scores by class, their
// greatest, and the indices of classes.
func (c *Call) checkClassSums() error {
	x, most, target := c.In[0], c.In[1], c.In[2]
	if !x.DType().IsFloat() || x.Ndim() == 0 {
		return c.Bad("x", Describe(x), "a float tensor [c], [n, c] or [n, c, d1, ...]", "")
	}
	want := append(shape.Shape{}, x.Shape()...)
	want[classDim(want)] = 1
	if !most.DType().IsFloat() || !most.Shape().Equal(want) {
		return c.Bad("most", Describe(most), "a float tensor of shape "+want.String(), "that of x with one class")
	}
	if !target.DType().IsInt() || !target.Shape().Equal(want) {
		return c.Bad("target", Describe(target), "an integer tensor of shape "+want.String(), "that of x with one class")
	}
	return nil
}

// classSumsRule: every dim may be cut. Where classes are, the sums are those of parts,
// and each rank has the gradient of its own.
func classSumsRule(c *Call) []Row {
	var rows []Row
	for d := range c.In[0].Shape() {
		row, at := rowOf(c), mesh.Shard(d)
		row.In[0] = at
		switch {
		case d != classDim(c.In[0].Shape()):
			for i := range row.In {
				row.In[i] = at
			}
			for i := range row.Out {
				row.Out[i] = at
			}
		case len(row.Out) == 2:
			row.Out[0], row.Out[1] = summands, summands
		default:
			row.Out[0] = at
		}
		rows = append(rows, row)
	}
	return rows
}

// localClassSums is the operator on blocks, the first of whose classes is another.
func localClassSums(b *Blocks) ([]*tensor.Tensor, error) {
	lo, _ := b.Span(0, classDim(b.In[0].Shape()))
	return b.Apply(Int1(b.Args[0].Int + lo))
}

// classSumsInput returns the inputs of c as its kernels take them, classes last, and
// what they belong to.
func classSumsInput[T dtype.Float](c *Call) (s kernel.ClassSums[T], keep []*tensor.Tensor, err error) {
	d, dt := classDim(c.In[0].Shape()), dtype.Float32
	if c.In[0].DType() == dtype.Float64 {
		dt = dtype.Float64
	}
	for i, x := range c.In {
		to := dt
		if i == 2 {
			to = dtype.Int64
		}
		x, err := c.inOrder(lastDim(x, d), to)
		if err != nil {
			return s, nil, err
		}
		keep = append(keep, x)
	}
	s = kernel.ClassSums[T]{X: direct1[T](keep[0]), Most: direct1[T](keep[1]), Target: direct1[int64](keep[2]),
		Classes: c.In[0].Shape()[d], First: c.Args[0].Int}
	return s, keep, nil
}

func classSums[T dtype.Float](c *Call) error {
	s, keep, err := classSumsInput[T](c)
	if err != nil {
		return err
	}
	var out [2]output
	for i, to := range c.Out {
		if out[i], err = c.newOutput(lastDim(to, classDim(to.Shape())), to.DType().Compute()); err != nil {
			return err
		}
	}
	s.To(direct1[T](out[0].room), direct1[T](out[1].room))
	out[0].done()
	out[1].done()
	goruntime.KeepAlive(keep)
	return nil
}

func runClassSumsGrad[T dtype.Float](c *Call) error {
	s, keep, err := classSumsInput[T](c)
	if err != nil {
		return err
	}
	out, err := c.newOutput(lastDim(c.Out[0], classDim(c.Out[0].Shape())), c.Out[0].DType().Compute())
	if err != nil {
		return err
	}
	s.GradTo(direct1[T](out.room), direct1[T](keep[3]), direct1[T](keep[4]))
	out.done()
	goruntime.KeepAlive(keep)
	return nil
}

// classSumsGrad is dx = g exp(x - most), and h besides at target.
func classSumsGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	for i, g := range dy {
		if g == nil {
			dy[i] = t.Do("zeros_like", c.In[1:2], None)
		}
	}
	if !t.recording() {
		in := []*tensor.Tensor{c.In[0], c.In[1], c.In[2], dy[0], dy[1]}
		return []*tensor.Tensor{t.Do("class_sums_grad", in, c.Args...), nil, nil}
	}
	x, d := c.In[0], classDim(c.In[0].Shape())
	wide := make(shape.Shape, x.Ndim())
	for i := range wide {
		wide[i] = 1
	}
	wide[d] = x.Shape()[d]
	classes := t.Reshape(t.ints(c.Ctx, upTo(c.Args[0].Int, wide[d])), wide)
	own := t.Mul(dy[1], t.Cast(t.binary("eq", classes, c.In[2]), x.DType()))
	return []*tensor.Tensor{t.Add(t.Mul(dy[0], t.unary("exp", t.Sub(x, c.In[1].Detach()))), own), nil, nil}
}

// upTo returns the n ints from first on.
func upTo(first, n int) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(first + i)
	}
	return list
}

// classSumsCost: of each score the difference, its exponential, and a sum, or a product
// with g; of each target a difference, or a sum with h.
func classSumsCost(c *Call) Cost { return c.costs(3*c.In[0].Numel() + c.In[1].Numel()) }
