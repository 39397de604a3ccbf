package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "transpose",
		Surface: Method,
		Doc: "transpose(x, dim0, dim1) returns x with two dims exchanged, sharing the storage of x.\n" +
			">>> tensor([[1, 2], [3, 4]]).transpose(0, 1).tolist()\n" +
			"[[1, 3], [2, 4]]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "dim0", Also: []string{"d0"}, Kind: Dim, Doc: "a dim"},
			{Name: "dim1", Also: []string{"d1"}, Kind: Dim, Doc: "the dim to exchange it with"},
		},
		Infer: inferPermuted(transposed),
		Run:   runPermuted(transposed),
		Reads: ReadsShapes,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.Transpose(dy[0], c.Args[0].Int, c.Args[1].Int))
		},
		View:  true,
		Shard: permutedRows(transposed),
	})
	register(&Def{
		Name:    "permute",
		Surface: Method,
		Doc: "permute(x, *dims) returns x with its dims in another order, sharing the storage of x.\n" +
			"Dim i of the result is dim dims[i] of x; each dim is named once.\n" +
			">>> zeros(2, 3, 4).permute(2, 0, 1).shape\n" +
			"(4, 2, 3)",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "dims", Kind: Ints, Doc: "the dims of x in their new order"},
		},
		Infer: inferPermuted(permuted),
		Run:   runPermuted(permuted),
		Reads: ReadsShapes,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			order, _ := permuted(c)
			return one(t.Permute(dy[0], inverse(order)))
		},
		View:  true,
		Shard: permutedRows(permuted),
	})
	register(&Def{
		Name:    "T",
		Surface: Internal,
		Doc: "T(x) returns x with its dims in reverse order, sharing the storage of x.\n" +
			"Scripts write x.T.\n" +
			">>> tensor([[1, 2], [3, 4]]).T.tolist()\n" +
			"[[1, 3], [2, 4]]",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}},
		Infer:  inferPermuted(reversed),
		Run:    runPermuted(reversed),
		Reads:  ReadsShapes,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.unary("T", dy[0]))
		},
		View:  true,
		Shard: permutedRows(reversed),
	})
	register(&Def{
		Name:    "expand",
		Surface: Method,
		Doc: "expand(x, *shape) returns x with dims of size 1 repeated to larger sizes, sharing the storage of x.\n" +
			"The shape is separate ints or one list, and may have more dims than x, in front;\n" +
			"-1 keeps the size of a dim. Nothing is copied, so several elements of the result\n" +
			"are one, and an in-place change of it is an error.\n" +
			">>> tensor([[1], [2]]).expand(2, 3).tolist()\n" +
			"[[1, 1, 1], [2, 2, 2]]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "shape", Kind: Sizes, Doc: "the sizes; -1 keeps that of x"},
		},
		Infer: inferExpand,
		Run:   runExpand,
		Reads: ReadsShapes,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.SumTo(dy[0], c.In[0].Shape()))
		},
		View:  true,
		Shard: expandRows,
		Local: func(b *Blocks) ([]*tensor.Tensor, error) { return one(b.T.Expand(b.X[0], b.OutShape(0))), nil },
	})
}

// one returns x as the gradients of an operator with one input.
func one(x *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{x} }

// Permute returns x with dim order[i] as its dim i.
func (t *Tape) Permute(x *tensor.Tensor, order []int) *tensor.Tensor {
	return t.Do("permute", []*tensor.Tensor{x}, IntsN(order...))
}

// inferPermuted returns the shape rule of an operator that puts the dims of
// its input in the order that order gives.
func inferPermuted(order func(c *Call) ([]int, error)) func(c *Call) error {
	return func(c *Call) error {
		dims, err := order(c)
		if err != nil {
			return err
		}
		return c.Result(c.In[0].DType(), pick(c.In[0].Shape(), dims))
	}
}

// runPermuted is the Run that goes with inferPermuted.
func runPermuted(order func(c *Call) ([]int, error)) func(c *Call) error {
	return func(c *Call) error {
		x := c.In[0]
		dims, err := order(c)
		if err != nil {
			return err
		}
		c.Out[0] = x.View(c.Spec[0].Shape, pick(x.Strides(), dims), x.Offset())
		return nil
	}
}

// permutedRows returns the rule that goes with inferPermuted.
func permutedRows(order func(c *Call) ([]int, error)) Rule {
	return func(c *Call) []Row {
		dims, _ := order(c)
		var rows []Row
		for o, d := range dims {
			rows = append(rows, cutting(c, d, o))
		}
		return append(rows, carried(c, 0)...)
	}
}

// firstInts returns 0 to n - 1.
func firstInts(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// make1s returns n sizes of 1.
func make1s(n int) []int { return slices.Repeat([]int{1}, n) }

// replaced returns s with n as the size of dim d.
func replaced(s []int, d, n int) []int {
	s = slices.Clone(s)
	s[d] = n
	return s
}

// pick returns the elements of s at the indices at.
func pick[S ~[]int](s S, at []int) S {
	out := make(S, len(at))
	for i, j := range at {
		out[i] = s[j]
	}
	return out
}

// transposed returns the order of dims that transpose asks for.
func transposed(c *Call) ([]int, error) {
	s := c.In[0].Shape()
	d0, err := c.Dim(0, s)
	if err != nil {
		return nil, err
	}
	d1, err := c.Dim(1, s)
	if err != nil {
		return nil, err
	}
	order := iota0(len(s))
	order[d0], order[d1] = d1, d0
	return order, nil
}

// permuted returns the order of dims that permute asks for.
func permuted(c *Call) ([]int, error) {
	s := c.In[0].Shape()
	if len(c.Args[0].Ints) != len(s) {
		return nil, c.Bad("dims", shape.Shape(c.Args[0].Ints).String(), fmt.Sprintf("%d dims", len(s)), fmt.Sprintf("shape %v", s))
	}
	if _, err := c.Dims(0, s); err != nil {
		return nil, err
	}
	order := slices.Clone(c.Args[0].Ints)
	for i := range order {
		order[i], _ = shape.Dim(order[i], len(s))
	}
	return order, nil
}

// reversed returns the dims of In[0] from the last to the first.
func reversed(c *Call) ([]int, error) {
	order := iota0(c.In[0].Ndim())
	slices.Reverse(order)
	return order, nil
}

// iota0 returns 0, 1, ..., n-1.
func iota0(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// inverse returns the permutation that undoes order.
func inverse(order []int) []int {
	inv := make([]int, len(order))
	for i, d := range order {
		inv[d] = i
	}
	return inv
}

func inferExpand(c *Call) error {
	sizes, s := c.Args[0].Ints, c.In[0].Shape()
	lead := len(sizes) - len(s)
	if lead < 0 {
		return c.Bad("shape", shape.Shape(sizes).String(), fmt.Sprintf("at least %d sizes", len(s)), fmt.Sprintf("shape %v", s))
	}
	out := shape.Shape(slices.Clone(sizes))
	for i, size := range sizes {
		switch {
		case size == -1 && i >= lead:
			out[i] = s[i-lead]
		case size < 0:
			return c.Bad("shape", fmt.Sprintf("%d at index %d", size, i), "a non-negative int, or -1 for a dim of x", fmt.Sprintf("shape %v", s))
		case i >= lead && size != s[i-lead] && s[i-lead] != 1:
			return c.Bad("shape", shape.Shape(sizes).String(), fmt.Sprintf("%d at index %d", s[i-lead], i), fmt.Sprintf("only dims of size 1 expand; shape %v", s))
		}
	}
	if err := out.Check(c.In[0].DType().Size()); err != nil {
		return c.Bad("shape", out.String(), "fewer than 2**63 bytes", "")
	}
	return c.Result(c.In[0].DType(), out)
}

// expandRows is the rule of expand: the dims that keep their sizes may be cut.
func expandRows(c *Call) []Row {
	s, out := c.In[0].Shape(), c.Spec[0].Shape
	lead := len(out) - len(s)
	var rows []Row
	for d, n := range s {
		if n == out[lead+d] {
			rows = append(rows, cutting(c, d, lead+d))
		}
	}
	return append(rows, carried(c, 0)...)
}

func runExpand(c *Call) error {
	x, s := c.In[0], c.Spec[0].Shape
	at := stridedOf(x).broadcast(x.Shape(), s)
	c.Out[0] = x.View(s, at.strides, at.offset)
	return nil
}
