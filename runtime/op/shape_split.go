package op

import (
	"fmt"

	"tpsh/mesh"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "split",
		Surface: Method,
		Doc: "split(x, size_or_sizes, dim=0) returns a list of pieces of x along dim, sharing the storage of x.\n" +
			"An int is the size of each piece, the last being shorter if the dim does not\n" +
			"divide evenly; a list holds the sizes, which add up to that of the dim.\n" +
			">>> [p.tolist() for p in arange(5).split(2)]\n" +
			"[[0, 1], [2, 3], [4]]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "size_or_sizes", Also: []string{"split_size", "split_size_or_sections"}, Kind: IntOrSeq, Doc: "the size of the pieces, or a list of their sizes"},
			{Name: "dim", Kind: Dim, Doc: "the dim to cut", Default: Default(Int1(0))},
		},
		Infer: inferPieces(splitSizes),
		Run:   runPieces,
		Reads: ReadsShapes,
		Grad:  piecesGrad,
		View:  true,
		List:  true,

		Shard:   piecesRows,
		Compose: movedPieces,
	})
	register(&Def{
		Name:    "chunk",
		Surface: Method,
		Doc: "chunk(x, n, dim=0) returns a list of n pieces of x along dim, sharing the storage of x.\n" +
			"The pieces have ceil(size/n) indices each, the last ones fewer or none: there are\n" +
			"always n.\n" +
			">>> [p.tolist() for p in arange(5).chunk(4)]\n" +
			"[[0, 1], [2, 3], [4], []]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "n", Also: []string{"chunks"}, Kind: Int, Doc: "the number of pieces, at least 1"},
			{Name: "dim", Kind: Dim, Doc: "the dim to cut", Default: Default(Int1(0))},
		},
		Infer: inferPieces(chunkSizes),
		Run:   runPieces,
		Reads: ReadsShapes,
		Grad:  piecesGrad,
		View:  true,
		List:  true,

		Shard:   piecesRows,
		Compose: movedPieces,
	})
}

// maxPieces bounds how many pieces a tensor is cut into, so that a slip in an
// argument is an error before it fills the memory with empty pieces.
const maxPieces = 1 << 24

// inferPieces returns the shape rule of an operator that cuts In[0] along dim
// Args[1] into pieces of the sizes that sizes returns.
func inferPieces(sizes func(c *Call, n int, rule string) ([]int, error)) func(c *Call) error {
	return func(c *Call) error {
		s := c.In[0].Shape()
		d, err := c.Dim(1, s)
		if err != nil {
			return err
		}
		list, err := sizes(c, s[d], fmt.Sprintf("dim %d of shape %v", d, s))
		if err != nil {
			return err
		}
		specs := make([]Spec, len(list))
		for i, size := range list {
			piece := append(shape.Shape(nil), s...)
			piece[d] = size
			specs[i] = Spec{c.In[0].DType(), piece}
		}
		return c.Results(specs...)
	}
}

// splitSizes returns the sizes of the pieces of a dim of n that split makes.
func splitSizes(c *Call, n int, rule string) ([]int, error) {
	if c.Args[0].Ints != nil {
		sizes, sum := c.Args[0].Ints, 0
		for i, size := range sizes {
			if size < 0 || size > n-sum {
				return nil, c.Bad("size_or_sizes", fmt.Sprintf("%d at index %d", size, i), fmt.Sprintf("0..%d", n-sum), rule)
			}
			sum += size
		}
		if sum != n {
			return nil, c.Bad("size_or_sizes", listText(sizes), fmt.Sprintf("sizes that add up to %d", n), rule)
		}
		return sizes, nil
	}
	size := c.Args[0].Int
	if size < 0 || size == 0 && n > 0 {
		return nil, c.Bad("size_or_sizes", fmt.Sprint(size), "a positive int", rule)
	}
	if n == 0 {
		return []int{0}, nil
	}
	pieces := (n-1)/size + 1
	if pieces > maxPieces {
		return nil, c.Bad("size_or_sizes", fmt.Sprint(size), fmt.Sprintf("at most %d pieces", maxPieces), rule)
	}
	sizes := make([]int, pieces)
	for i := range sizes {
		sizes[i] = min(size, n-i*size)
	}
	return sizes, nil
}

// chunkSizes returns the sizes of the pieces of a dim of n that chunk makes.
func chunkSizes(c *Call, n int, rule string) ([]int, error) {
	parts := c.Args[0].Int
	if parts < 1 || parts > maxPieces {
		return nil, c.Bad("n", fmt.Sprint(parts), fmt.Sprintf("1..%d", maxPieces), "")
	}
	sizes := make([]int, parts)
	for i := range sizes {
		lo, hi := mesh.Block(n, parts, i)
		sizes[i] = hi - lo
	}
	return sizes, nil
}

// runPieces cuts In[0] into views of the inferred sizes along dim Args[1].
func runPieces(c *Call) error {
	x := c.In[0]
	d, err := c.Dim(1, x.Shape())
	if err != nil {
		return err
	}
	w := whole(x.Shape())
	for i, spec := range c.Spec {
		w.shape = spec.Shape
		c.Out[i] = w.view(x)
		w.starts[d] += spec.Shape[d]
	}
	return nil
}

// piecesGrad joins the gradients of the pieces, zeros for those without.
func piecesGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	d, err := c.Dim(1, c.In[0].Shape())
	if err != nil {
		panic(&TapeError{err})
	}
	parts := make([]*tensor.Tensor, len(dy))
	for i, g := range dy {
		if g == nil {
			g = t.Zeros(c.Spec[i].DType, c.Spec[i].Shape)
		}
		parts[i] = g
	}
	return one(t.Do("cat", parts, Int1(d)))
}
