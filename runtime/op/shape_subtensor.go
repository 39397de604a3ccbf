package op

import (
	"fmt"
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The operators of this file speak of a box of a tensor: a range of each dim.
// They are the gradients of each other. Operators that cut or join tensors
// along a dim that ranks hold in blocks are composed of them: the ranks send
// each other only what they lack.

func init() {
	register(&Def{
		Name:    "window_get",
		Surface: Internal,
		Doc:     "window_get(x, lo, size) returns a copy of the box of x that begins at lo and has the given sizes.",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "lo", Kind: Ints, Doc: "the first index of each dim"},
			{Name: "size", Kind: Ints, Doc: "how many indices of each dim"},
		},
		Infer: func(c *Call) error {
			size := shape.Shape(c.Args[1].Ints)
			if err := c.checkBox("lo", c.Args[0].Ints, size, c.In[0].Shape()); err != nil {
				return err
			}
			return c.Result(c.In[0].DType(), size)
		},
		Run: func(c *Call) error {
			x, y := c.In[0], c.Out[0]
			moveElements(y, stridedOf(y), x, stridedOf(x).from(c.Args[0].Ints), y.Shape())
			return nil
		},
		Reads: ReadsShapes,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.subtensorPut(dy[0], c.In[0].Shape(), c.Args[0].Ints))
		},
		Shard: wholeDims,
		Local: func(b *Blocks) ([]*tensor.Tensor, error) {
			return one(b.T.subtensorGet(b.X[0], b.inBlock(b.Args[0].Ints), b.OutShape(0))), nil
		},
		Cost: takes,
		Exchange: &Exchange{To: sameAs, Parts: func(c *Call, from, to *mesh.Placed, _ []int) (src, dst mesh.Layout, err error) {
			return mesh.NewWindow(from, boxAt(c.Args[0].Ints, c.Args[1].Ints)), to, nil
		}},
	})
	register(&Def{
		Name:    "window_put",
		Surface: Internal,
		Doc:     "window_put(x, shape, at) returns zeros of a shape with x in the box that begins at at.",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "shape", Kind: Ints, Doc: "the shape of the result"},
			{Name: "at", Kind: Ints, Doc: "where in it x begins"},
		},
		Infer: func(c *Call) error {
			s := shape.Shape(c.Args[0].Ints)
			if err := s.Check(c.In[0].DType().Size()); err != nil {
				return c.Bad("shape", s.String(), "the shape of a tensor", "")
			}
			if err := c.checkBox("at", c.Args[1].Ints, c.In[0].Shape(), s); err != nil {
				return err
			}
			return c.Result(c.In[0].DType(), s)
		},
		Run: func(c *Call) error {
			x, y := c.In[0], c.Out[0]
			clear(y.Bytes())
			moveElements(y, stridedOf(y).from(c.Args[1].Ints), x, stridedOf(x), x.Shape())
			return nil
		},
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.subtensorGet(dy[0], c.Args[1].Ints, c.In[0].Shape()))
		},
		Shard: wholeDims,
		Local: func(b *Blocks) ([]*tensor.Tensor, error) {
			return one(b.T.subtensorPut(b.X[0], b.OutShape(0), b.inBlock(b.Args[1].Ints))), nil
		},
		Cost: moves,
		Exchange: &Exchange{To: sameAs, Parts: func(c *Call, from, to *mesh.Placed, _ []int) (src, dst mesh.Layout, err error) {
			return from, mesh.NewWindow(to, boxAt(c.Args[1].Ints, from.Shape())), nil
		}},
	})
}

// subtensorGet returns the box of x that begins at lo and has shape size.
func (t *Tape) subtensorGet(x *tensor.Tensor, lo []int, size shape.Shape) *tensor.Tensor {
	if size.Equal(x.Shape()) {
		return x
	}
	return t.Do("window_get", []*tensor.Tensor{x}, IntsN(lo...), IntsN(size...))
}

// subtensorPut returns zeros of shape s with x in the box that begins at at.
func (t *Tape) subtensorPut(x *tensor.Tensor, s shape.Shape, at []int) *tensor.Tensor {
	if s.Equal(x.Shape()) {
		return x
	}
	return t.Do("window_put", []*tensor.Tensor{x}, IntsN(s...), IntsN(at...))
}

// checkBox returns an error unless the box that begins at lo and has shape
// size lies in a tensor of shape s. param is the name of lo.
func (c *Call) checkBox(param string, lo []int, size, s shape.Shape) error {
	if len(lo) != len(s) || len(size) != len(s) {
		return c.Bad(param, listText(lo), fmt.Sprintf("%d ints, and as many sizes", len(s)), fmt.Sprintf("shape %v", s))
	}
	for d := range lo {
		if lo[d] < 0 || size[d] < 0 || lo[d] > s[d]-size[d] {
			return c.Bad(param, listText(lo), fmt.Sprintf("a box of shape %v inside shape %v", size, s), fmt.Sprintf("dim %d", d))
		}
	}
	return nil
}

// from returns the place from index lo[d] on in each dim d.
func (p strided) from(lo []int) strided {
	for d, i := range lo {
		p.offset += i * p.strides[d]
	}
	return p
}

// inBlock returns lo, the first index of a box, in the rank's block: a dim that
// is cut is the box's whole dim.
func (b *Blocks) inBlock(lo []int) []int {
	at := slices.Clone(lo)
	for d := range at {
		if b.Cut(0, d) {
			at[d] = 0
		}
	}
	return at
}
