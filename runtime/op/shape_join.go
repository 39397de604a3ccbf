package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "cat",
		Surface: Function,
		Doc: "cat(tensors, dim=0) returns the tensors joined along dim.\n" +
			"Their other sizes are equal; dtypes are promoted. A vector without elements may stand\n" +
			"beside tensors of other dims.\n" +
			">>> cat([tensor([1, 2]), tensor([3])]).tolist()\n" +
			"[1, 2, 3]",
		Params: []Param{
			{Name: "tensors", Also: []string{"list"}, Kind: Tensors, Doc: "a list of tensors, at least one"},
			{Name: "dim", Kind: Dim, Doc: "the dim to join along", Default: Default(Int1(0))},
		},
		Infer: inferCat,
		Run:   runCat,
		Reads: ReadsShapes,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			first := joinedFirst(c)
			d, _ := c.Dim(0, first.Shape())
			grads, start := make([]*tensor.Tensor, len(c.In)), 0
			for i, x := range c.In {
				switch left := x.Ndim() != first.Ndim(); {
				case x.RequiresGrad() && left:
					grads[i] = t.Reshape(t.Narrow(dy[0], d, 0, 0), x.Shape())
				case x.RequiresGrad():
					grads[i] = t.Narrow(dy[0], d, start, x.Shape()[d])
				}
				if x.Ndim() == first.Ndim() {
					start += x.Shape()[d]
				}
			}
			return grads
		},
		Shard:   catRows,
		Compose: movedCat,
		Cost:    moves,
	})
	register(&Def{
		Name:    "stack",
		Surface: Function,
		Doc: "stack(tensors, dim=0) returns the tensors, of one shape, joined along a new dim.\n" +
			"A negative dim counts from the end of the result; dtypes are promoted.\n" +
			">>> stack([tensor([1, 2]), tensor([3, 4])], 1).tolist()\n" +
			"[[1, 3], [2, 4]]",
		Params: []Param{
			{Name: "tensors", Also: []string{"list"}, Kind: Tensors, Doc: "a list of tensors, at least one"},
			{Name: "dim", Kind: Dim, Doc: "where the new dim goes", Default: Default(Int1(0))},
		},
		Infer: inferStack,
		Run:   runStack,
		Reads: ReadsShapes,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			d, _ := newDim(c, 0, c.In[0].Ndim()+1)
			grads := make([]*tensor.Tensor, len(c.In))
			for i, x := range c.In {
				if x.RequiresGrad() {
					grads[i] = t.Select(dy[0], d, i)
				}
			}
			return grads
		},
		Shard: stackRows,
		Cost:  moves,
	})
}

// A tensor joined with itself.
func init() {
	register(&Def{
		Name:    "repeat",
		Surface: Method,
		Doc: "repeat(x, *repeats) returns a copy of x repeated along its dims.\n" +
			"repeats are separate ints or one list, one for each dim of the result; it may have\n" +
			"more dims than x, in front.\n" +
			">>> tensor([1, 2]).repeat(2, 2).tolist()\n" +
			"[[1, 2, 1, 2], [1, 2, 1, 2]]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "repeats", Kind: Ints, Doc: "how often each dim is repeated"},
		},
		Infer: inferRepeat,
		Run:   runRepeat,
		Reads: ReadsShapes,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			s, repeats := c.In[0].Shape(), c.Args[0].Ints
			split, dims := make(shape.Shape, 0, 2*len(repeats)), make([]int, len(repeats))
			lead := len(repeats) - len(s)
			for d, n := range repeats {
				dims[d] = 2 * d
				split = append(split, n, 1)
				if d >= lead {
					split[2*d+1] = s[d-lead]
				}
			}
			if len(dims) == 0 {
				return dy
			}
			return one(t.Reshape(t.Sum(t.Reshape(dy[0], split), dims, false), s))
		},
		Shard:   repeatRows,
		Compose: movedRepeat,
		Cost:    moves,
	})
}

func inferCat(c *Call) error {
	if len(c.In) == 0 {
		return c.Bad("tensors", "[]", "at least one tensor", "")
	}
	first := joinedFirst(c).Shape()
	d, err := c.Dim(0, first)
	if err != nil {
		return err
	}
	dt, out := c.In[0].DType(), slices.Clone(first)
	out[d] = 0
	for i, x := range c.In {
		s := x.Shape()
		dt = dtype.Promote(dt, x.DType())
		if isBareVector(x) && len(first) != 1 {
			continue
		}
		if len(s) != len(first) || !s[:d].Equal(first[:d]) || !s[d+1:].Equal(first[d+1:]) {
			return c.Bad("tensors", fmt.Sprintf("%s at index %d", Describe(x), i), fmt.Sprintf("the sizes of %s but along dim %d", Describe(joinedFirst(c)), d), "")
		}
		out[d] += s[d]
	}
	return c.Result(dt, out)
}

// isBareVector reports whether x is a vector without elements, which PyTorch leaves out where
// tensors of other dims are joined.
func isBareVector(x *tensor.Tensor) bool { return x.Ndim() == 1 && x.Numel() == 0 }

// joinedFirst returns the first of the tensors of a cat that says what dims all have.
func joinedFirst(c *Call) *tensor.Tensor {
	for _, x := range c.In {
		if !isBareVector(x) {
			return x
		}
	}
	return c.In[0]
}

func runCat(c *Call) error {
	d, err := c.Dim(0, c.Out[0].Shape())
	if err != nil {
		return err
	}
	w := whole(c.Out[0].Shape())
	for _, x := range c.In {
		if x.Ndim() != c.Out[0].Ndim() {
			continue
		}
		w.shape = x.Shape()
		copyInto(w.view(c.Out[0]), x)
		w.starts[d] += w.shape[d]
	}
	return nil
}

func inferStack(c *Call) error {
	if len(c.In) == 0 {
		return c.Bad("tensors", "[]", "at least one tensor", "")
	}
	first := c.In[0].Shape()
	d, err := newDim(c, 0, len(first)+1)
	if err != nil {
		return err
	}
	dt := c.In[0].DType()
	for i, x := range c.In[1:] {
		if !x.Shape().Equal(first) {
			return c.Bad("tensors", fmt.Sprintf("%s at index %d", Describe(x), i+1), fmt.Sprintf("the shape of %s", Describe(c.In[0])), "")
		}
		dt = dtype.Promote(dt, x.DType())
	}
	return c.Result(dt, slices.Insert(slices.Clone(first), d, len(c.In)))
}

func runStack(c *Call) error {
	d, err := newDim(c, 0, c.In[0].Ndim()+1)
	if err != nil {
		return err
	}
	for i, x := range c.In {
		w := whole(c.Out[0].Shape())
		w.starts[d] = i
		w.drop(d)
		copyInto(w.view(c.Out[0]), x)
	}
	return nil
}

func inferRepeat(c *Call) error {
	s, repeats := c.In[0].Shape(), c.Args[0].Ints
	lead := len(repeats) - len(s)
	if lead < 0 {
		return c.Bad("repeats", shape.Shape(repeats).String(), fmt.Sprintf("at least %d ints", len(s)), fmt.Sprintf("shape %v", s))
	}
	for i, n := range repeats {
		if n < 0 {
			return c.Bad("repeats", fmt.Sprintf("%d at index %d", n, i), "a non-negative int", "")
		}
	}
	// The sizes and the repetitions are the sizes of a tensor that has as many
	// elements as the result.
	if slices.Concat(s, repeats).Check(c.In[0].DType().Size()) != nil {
		return c.Bad("repeats", shape.Shape(repeats).String(), "fewer than 2**63 bytes", fmt.Sprintf("shape %v", s))
	}
	out := shape.Shape(slices.Clone(repeats))
	for d, size := range s {
		out[lead+d] *= size
	}
	return c.Result(c.In[0].DType(), out)
}

// runRepeat copies x into a result in which each dim is two: the repetitions,
// along which x does not move, and the dim of x.
func runRepeat(c *Call) error {
	x, y := c.In[0], c.Out[0]
	n := len(c.Args[0].Ints)
	sizes := make(shape.Shape, 2*n)
	from, to := strided{x.Offset(), make([]int, 2*n)}, strided{y.Offset(), make([]int, 2*n)}
	lead := n - x.Ndim()
	for d, repeats := range c.Args[0].Ints {
		size, stride := 1, 0
		if d >= lead {
			size, stride = x.Shape()[d-lead], x.Strides()[d-lead]
		}
		sizes[2*d], sizes[2*d+1] = repeats, size
		from.strides[2*d+1] = stride
		to.strides[2*d], to.strides[2*d+1] = y.Strides()[d]*size, y.Strides()[d]
	}
	moveElements(y, to, x, from, sizes)
	return nil
}
