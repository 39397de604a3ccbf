package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "reshape",
		Surface: Method,
		Aliases: []string{"view"},
		Doc: "reshape(x, *shape) returns the elements of x, in row-major order, in another shape.\n" +
			"The shape is separate ints or one list; a size of -1 stands for the rest. The\n" +
			"result shares the storage of x where its strides allow, as those of a contiguous\n" +
			"tensor do, and is a copy otherwise.\n" +
			">>> arange(6).reshape(2, -1).tolist()\n" +
			"[[0, 1, 2], [3, 4, 5]]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "shape", Kind: Sizes, Doc: "the sizes, one of which may be -1"},
		},
		Infer: inferReshape,
		Run:   runReshape,
		Reads: ReadsShapes,
		Grad:  reshapeGrad,
		View:  true,

		Shard:    reshapeRows,
		Aligned:  reshapeAligned,
		Local:    reshaped,
		Cost:     reshapeCost,
		Exchange: reflow,
	})
	register(&Def{
		Name:    "flatten",
		Surface: Method,
		Doc: "flatten(x, start_dim=0, end_dim=-1) returns x with the dims from start_dim to end_dim made one.\n" +
			"It shares the storage of x where reshape does. A tensor of shape () gives one of\n" +
			"shape (1,).\n" +
			">>> zeros(2, 3, 4).flatten(1).shape\n" +
			"(2, 12)",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "start_dim", Kind: Dim, Doc: "the first dim to merge", Default: Default(Int1(0))},
			{Name: "end_dim", Kind: Dim, Doc: "the last dim to merge", Default: Default(Int1(-1))},
		},
		Infer: inferFlatten,
		Run:   runReshape,
		Reads: ReadsShapes,
		Grad:  reshapeGrad,
		View:  true,

		Shard:    reshapeRows,
		Aligned:  reshapeAligned,
		Local:    reshaped,
		Cost:     reshapeCost,
		Exchange: reflow,
	})
}

// Dims of size 1.
func init() {
	register(&Def{
		Name:    "squeeze",
		Surface: Method,
		Doc: "squeeze(x, dim=None) returns x without its dims of size 1, sharing the storage of x.\n" +
			"With dim, an int or a list, it drops only these, and only if their size is 1.\n" +
			">>> zeros(1, 3, 1).squeeze().shape\n" +
			"(3,)",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "dim", Kind: Dims, Doc: "the dims to drop; None for all", Default: Default(None)},
		},
		Infer: inferSqueeze,
		Run:   runSqueeze,
		Reads: ReadsShapes,
		Grad:  reshapeGrad,
		View:  true,

		Shard:   reshapeRows,
		Aligned: reshapeAligned,
		Local:   reshaped,
	})
	register(&Def{
		Name:    "unsqueeze",
		Surface: Method,
		Doc: "unsqueeze(x, dim) returns x with a dim of size 1 put in at dim, sharing the storage of x.\n" +
			"A negative dim counts from the end of the result.\n" +
			">>> zeros(3).unsqueeze(-1).shape\n" +
			"(3, 1)",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "dim", Kind: Dim, Doc: "where the dim goes, -ndim-1..ndim"},
		},
		Infer: inferUnsqueeze,
		Run:   runUnsqueeze,
		Reads: ReadsShapes,
		Grad:  reshapeGrad,
		View:  true,

		Shard:   reshapeRows,
		Aligned: reshapeAligned,
		Local:   reshaped,
	})
}

func inferReshape(c *Call) error {
	s, err := fillSize(c, "shape", c.Args[0].Ints, c.In[0].Shape())
	if err != nil {
		return err
	}
	return c.Result(c.In[0].DType(), s)
}

// fillSize returns sizes, the argument called param, in which one -1 stands for
// what is left of the elements of shape s.
func fillSize(c *Call, param string, sizes []int, s shape.Shape) (shape.Shape, error) {
	out := shape.Shape(slices.Clone(sizes))
	rest := -1
	for i, size := range sizes {
		switch {
		case size < -1:
			return nil, c.Bad(param, fmt.Sprintf("%d at index %d", size, i), "sizes, or -1 once", "")
		case size == -1 && rest >= 0:
			return nil, c.Bad(param, out.String(), "-1 at most once", "")
		case size == -1:
			rest = i
		}
	}
	if rest >= 0 {
		out[rest] = 1
		known := out.Numel()
		if known == 0 || s.Numel()%known != 0 {
			hint := partHint(out, s)
			out[rest] = -1
			return nil, c.Bad(param, out.String(), fmt.Sprintf("sizes that divide %d elements", s.Numel()), fmt.Sprintf("shape %v", s)+hint)
		}
		out[rest] = s.Numel() / known
	}
	if out.Check(1) != nil || out.Numel() != s.Numel() {
		return nil, c.Bad(param, out.String(), fmt.Sprintf("a shape of %d elements", s.Numel()), fmt.Sprintf("shape %v", s)+partHint(out, s))
	}
	return out, nil
}

// partHint says what it may mean that a shape of several dims, want, asks for a
// multiple of the elements of the shape have: the tensor is one rank's part of what
// the script cuts into heads, say.
func partHint(want, have shape.Shape) string {
	if len(want) < 3 || want.Check(1) != nil || have.Numel() == 0 {
		return ""
	}
	times := want.Numel() / have.Numel()
	if times < 2 || want.Numel()%have.Numel() != 0 {
		return ""
	}
	return fmt.Sprintf("; these are a part of 1 in %d: where ranks share a dim, -1 takes the size that is here, and each rank needs whole heads or groups", times)
}

// runReshape gives In[0] the inferred shape, as a view if its strides allow.
func runReshape(c *Call) error {
	x, s := c.In[0], c.Spec[0].Shape
	if strides, ok := viewStrides(x, s); ok {
		c.Out[0] = x.View(s, strides, x.Offset())
		return nil
	}
	y, err := copyOf(c.Ctx, x, x.DType())
	if err != nil {
		return c.memory(err)
	}
	c.Out[0] = y.View(s, s.Strides(), 0)
	return nil
}

// reshapeGrad gives dy the shape of the input.
func reshapeGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	return one(t.Reshape(dy[0], c.In[0].Shape()))
}

// viewStrides returns strides that give the elements of x, in row-major
// order, the shape s, which has as many; false if no strides do.
//
// It goes through both shapes from the last dim: each run of dims of x that
// lie in one another without gaps is cut into dims of s.
func viewStrides(x *tensor.Tensor, s shape.Shape) ([]int, bool) {
	if x.Contiguous() || s.Numel() == 0 {
		return s.Strides(), true
	}
	ones := make([]bool, x.Ndim())
	for d, size := range x.Shape() {
		ones[d] = size == 1
	}
	xs, xst := keep(x.Shape(), ones), keep(x.Strides(), ones)
	strides := make([]int, len(s))
	j := len(s) - 1
	for i := len(xs) - 1; i >= 0; {
		stride, n := xst[i], xs[i]
		for i--; i >= 0 && xst[i] == stride*n; i-- {
			n *= xs[i]
		}
		for ; n > 1; j-- {
			if n%s[j] != 0 {
				return nil, false
			}
			strides[j] = stride
			stride, n = stride*s[j], n/s[j]
		}
	}
	return strides, true
}

func inferFlatten(c *Call) error {
	s := c.In[0].Shape()
	if len(s) == 0 {
		s = shape.Shape{1}
	}
	lo, err := c.Dim(0, s)
	if err != nil {
		return err
	}
	hi, err := c.Dim(1, s)
	if err != nil {
		return err
	}
	if lo > hi {
		return c.Bad("end_dim", fmt.Sprint(c.Args[1].Int), fmt.Sprintf("start_dim (%d) or a later dim", c.Args[0].Int), fmt.Sprintf("shape %v", s))
	}
	out := slices.Concat(s[:lo], shape.Shape{s[lo : hi+1].Numel()}, s[hi+1:])
	return c.Result(c.In[0].DType(), out)
}

func inferSqueeze(c *Call) error {
	drop, err := squeezed(c)
	if err != nil {
		return err
	}
	return c.Result(c.In[0].DType(), keep(c.In[0].Shape(), drop))
}

func runSqueeze(c *Call) error {
	x := c.In[0]
	drop, err := squeezed(c)
	if err != nil {
		return err
	}
	c.Out[0] = x.View(c.Spec[0].Shape, keep(x.Strides(), drop), x.Offset())
	return nil
}

// squeezed returns which dims of In[0] squeeze drops.
func squeezed(c *Call) ([]bool, error) {
	s := c.In[0].Shape()
	drop, err := c.Dims(0, s)
	for d := range drop {
		drop[d] = drop[d] && s[d] == 1
	}
	return drop, err
}

// keep returns the elements of s that are not to be dropped.
func keep[S ~[]int](s S, drop []bool) S {
	out := make(S, 0, len(s))
	for i, v := range s {
		if !drop[i] {
			out = append(out, v)
		}
	}
	return out
}

func inferUnsqueeze(c *Call) error {
	s := c.In[0].Shape()
	d, err := newDim(c, 0, len(s)+1)
	if err != nil {
		return err
	}
	return c.Result(c.In[0].DType(), slices.Insert(slices.Clone(s), d, 1))
}

func runUnsqueeze(c *Call) error {
	x := c.In[0]
	d, err := newDim(c, 0, x.Ndim()+1)
	if err != nil {
		return err
	}
	c.Out[0] = x.View(c.Spec[0].Shape, slices.Insert(slices.Clone(x.Strides()), d, 1), x.Offset())
	return nil
}

// newDim returns the dim that Args[i] names in a result of ndim dims, which
// its input lacks.
func newDim(c *Call, i, ndim int) (int, error) {
	d, ok := shape.Dim(c.Args[i].Int, ndim)
	if !ok {
		return 0, c.Bad(c.argName(i), fmt.Sprint(c.Args[i].Int), fmt.Sprintf("%d..%d", -ndim, ndim-1), fmt.Sprintf("a result of %d dims", ndim))
	}
	return d, nil
}
