package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A lattice_view is what a tensor shows along steps of one's own, which may go along several
// dims at once, as those of a diagonal do, or be several of one, as those of windows are.
// It shares the storage however x lies there.

func init() {
	register(&Def{
		Name:    "lattice_view",
		Surface: Internal,
		Doc: "lattice_view(x, start, shape, steps) returns the elements of x at start + i steps for the indices i of shape, sharing its storage.\n" +
			"start is an index of x, and steps has a row for each of shape: how far a step goes\n" +
			"along each dim of x. No two elements of the result are one.",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}, {Name: "start", Kind: Ints, Doc: "the first element"},
			{Name: "shape", Kind: Ints, Doc: "the sizes"}, {Name: "steps", Kind: Ints, Doc: "the rows, one after another"}},
		View:  true,
		Infer: inferLattice,
		Run: func(c *Call) error {
			at := c.latticeAt(c.In[0].Strides())
			c.Out[0] = c.In[0].View(c.Spec[0].Shape, at.strides, c.In[0].Offset()+at.offset)
			return nil
		},
		Reads: ReadsShapes,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			s := c.In[0].Shape()
			at := c.latticeAt(s.Strides())
			return one(t.regionSpread(dy[0], s, at.strides, at.offset))
		},
	})
}

// latticeAt returns where the elements lie, given strides of x.
func (c *Call) latticeAt(strides []int) strided {
	n := len(strides)
	at := strided{0, make([]int, len(c.Args[1].Ints))}
	for d, i := range c.Args[0].Ints {
		at.offset += i * strides[d]
	}
	for i := range at.strides {
		for d, step := range c.Args[2].Ints[i*n : (i+1)*n] {
			at.strides[i] += step * strides[d]
		}
	}
	return at
}

func inferLattice(c *Call) error {
	x, start, s, steps := c.In[0].Shape(), c.Args[0].Ints, shape.Shape(c.Args[1].Ints), c.Args[2].Ints
	if len(start) != len(x) || len(steps) != len(x)*len(s) || slices.ContainsFunc(s, func(n int) bool { return n < 1 }) {
		return c.Bad("start", listText(start), fmt.Sprintf("an index of shape %v, sizes from 1 and a row of steps for each", x), "")
	}
	for d, n := range x {
		last := start[d]
		for i, size := range s {
			step := steps[i*len(x)+d]
			if step < 0 {
				return c.Bad("steps", listText(steps), "no negative step", "")
			}
			last += (size - 1) * step
		}
		if start[d] < 0 || last >= n {
			return c.Bad("shape", s.String(), fmt.Sprintf("elements of shape %v", x), fmt.Sprintf("the last is %d along dim %d", last, d))
		}
	}
	return c.Result(c.In[0].DType(), s)
}

// lattice returns a view of x, which is plain, with rows of steps.
func (m *maker) lattice(x *tensor.Tensor, start, size []int, steps ...[]int) *tensor.Tensor {
	return m.do("lattice_view", x, IntsN(start...), IntsN(size...), IntsN(slices.Concat(steps...)...))
}

// unit returns the step along dim d of n.
func unit(n, d, step int) []int {
	row := make([]int, n)
	row[d] = step
	return row
}

// lost says that y, which m has made, shows elements of x and is a copy: it and its views
// refuse what would be stored in them, which x would not see.
func (m *maker) lost(y *tensor.Tensor) *tensor.Tensor {
	y.Copied = true
	if y.Base != nil && y.Base.Buffer() != m.x(0).Buffer() {
		y.Base.Copied = true
	}
	return y
}
