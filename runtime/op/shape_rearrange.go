package op

import (
	"slices"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "flip",
		Surface: Method,
		Doc: "flip(x, *dims) returns a copy of x with the given dims in reverse order.\n" +
			">>> arange(3).flip(0).tolist()\n" +
			"[2, 1, 0]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "dims", Kind: Ints, Doc: "the dims to reverse"},
		},
		Infer: func(c *Call) error {
			if _, err := c.Dims(0, c.In[0].Shape()); err != nil {
				return err
			}
			return c.Result(c.In[0].DType(), c.In[0].Shape())
		},
		Run:   (*Call).runFlip,
		Reads: ReadsShapes,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.Do("flip", dy, c.Args...))
		},
		Shard:   flipRows,
		Compose: flipByBlock,
		Cost:    moves,
	})
	register(&Def{
		Name:    "roll",
		Surface: Method,
		Doc: "roll(x, shifts, dims=None) returns a copy of x with its elements moved along dims; those pushed out at the end come in at the front.\n" +
			"A negative shift moves towards the front. Without dims there is one shift, of the\n" +
			"elements in row-major order.\n" +
			">>> arange(4).roll(1).tolist()\n" +
			"[3, 0, 1, 2]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "shifts", Kind: Ints, Doc: "how far to move along each of dims", Free: true},
			{Name: "dims", Kind: Dims, Doc: "the dims; None for all as one", Default: Default(None)},
		},
		Infer: func(c *Call) error {
			if _, err := rollShifts(c); err != nil {
				return err
			}
			return c.Result(c.In[0].DType(), c.In[0].Shape())
		},
		Run:   runRoll,
		Reads: ReadsShapes,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			back := slices.Clone(c.Args[0].Ints)
			for i, n := range back {
				back[i] = -n
			}
			return one(t.Do("roll", dy, IntsN(back...), c.Args[1]))
		},
		Shard:   rollRows,
		Local:   rollLocal,
		Compose: movedRoll,
		Cost:    moves,
	})
	for _, f := range []struct{ name, doc string }{
		{"tril", "tril(x, diagonal=0) returns a copy of x [..., m, n] with zeros above a diagonal.\n" +
			"Diagonal 0 is the main one, those above it are positive.\n" +
			">>> ones(2, 3).tril().tolist()\n" +
			"[[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]"},
		{"triu", "triu(x, diagonal=0) returns a copy of x [..., m, n] with zeros below a diagonal.\n" +
			"Diagonal 0 is the main one, those above it are positive.\n" +
			">>> ones(2, 3).triu().tolist()\n" +
			"[[1.0, 1.0, 1.0], [0.0, 1.0, 1.0]]"},
	} {
		register(&Def{
			Name:    f.name,
			Surface: Method,
			Doc:     f.doc,
			Params: []Param{
				{Name: "x", Kind: Tensor, Doc: "a tensor [..., m, n]"},
				{Name: "diagonal", Kind: Int, Doc: "the diagonal", Default: Default(Int1(0)), Free: true},
			},
			Infer: inferTriangle,
			Run:   func(c *Call) error { runTriangle(c, f.name == "triu"); return nil },
			Reads: ReadsShapes,
			Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
				return one(t.Do(f.name, dy, c.Args...))
			},
			Shard: wholeDims,
			Local: triangleLocal,
			Sited: anywhere,
			Cost:  moves,
		})
	}
}

// runFlip stores In[0] in Out[0], reversed along dims.
func (c *Call) runFlip() error {
	x, y := c.In[0], c.Out[0]
	flipped, err := c.Dims(0, x.Shape())
	if err != nil {
		return err
	}
	from := strided{x.Offset(), slices.Clone(x.Strides())}
	for d, is := range flipped {
		if is {
			from.offset += (x.Shape()[d] - 1) * from.strides[d]
			from.strides[d] = -from.strides[d]
		}
	}
	moveElements(y, stridedOf(y), x, from, x.Shape())
	return nil
}

// rollShifts returns how far roll moves along each dim, 0 <= shift < size; a
// single shift if it moves along all dims as one.
func rollShifts(c *Call) ([]int, error) {
	s, by := c.In[0].Shape(), c.Args[0].Ints
	if !c.Args[1].Set {
		if len(by) != 1 {
			return nil, c.Bad("shifts", listText(by), "one int", "without dims")
		}
		return []int{within(by[0], s.Numel())}, nil
	}
	if len(by) != len(c.Args[1].Ints) {
		return nil, c.Bad("shifts", listText(by), "as many ints as dims", "dims "+listText(c.Args[1].Ints))
	}
	shifts := make([]int, len(s))
	for i, dim := range c.Args[1].Ints {
		d, err := c.dim("dims", dim, len(s), s)
		if err != nil {
			return nil, err
		}
		shifts[d] = within(shifts[d]+within(by[i], s[d]), s[d])
	}
	return shifts, nil
}

// within returns i modulo n, at least 0; 0 if n is 0.
func within(i, n int) int {
	if n == 0 {
		return 0
	}
	return ((i % n) + n) % n
}

func runRoll(c *Call) error {
	shifts, err := rollShifts(c)
	if err != nil {
		return err
	}
	x, y := c.In[0], c.Out[0]
	s, to, from := x.Shape(), stridedOf(y), stridedOf(x)
	if !c.Args[1].Set {
		if x, err = contiguous(c.Ctx, x); err != nil {
			return c.memory(err)
		}
		s, to, from = shape.Shape{s.Numel()}, strided{y.Offset(), []int{1}}, strided{x.Offset(), []int{1}}
	}
	rollInto(y, to, x, from, s, shifts, 0)
	return nil
}

// rollInto moves the elements of x to those of y, rolled along dims d and up:
// along each of them in two pieces.
func rollInto(y *tensor.Tensor, to strided, x *tensor.Tensor, from strided, s shape.Shape, shifts []int, d int) {
	if d == len(s) {
		moveElements(y, to, x, from, s)
		return
	}
	n, k := s[d], shifts[d]
	if k == 0 {
		rollInto(y, to, x, from, s, shifts, d+1)
		return
	}
	piece := slices.Clone(s)
	piece[d] = n - k
	rollInto(y, to.narrow(d, k), x, from, piece, shifts, d+1)
	piece[d] = k
	rollInto(y, to, x, from.narrow(d, n-k), piece, shifts, d+1)
}

func inferTriangle(c *Call) error {
	x := c.In[0]
	if x.Ndim() < 2 {
		return c.Bad("x", Describe(x), "a tensor [..., m, n]", "")
	}
	return c.Result(x.DType(), x.Shape())
}

// runTriangle copies x and zeroes what lies above the diagonal, or below it if
// upper is set.
func runTriangle(c *Call, upper bool) {
	y := c.Out[0]
	copyInto(y, c.In[0])
	b, s := y.Bytes(), y.Shape()
	m, n := s[len(s)-2], s[len(s)-1]
	width, diagonal := n*y.DType().Size(), min(max(c.Args[0].Int, -m), n)
	for i := 0; i*width < len(b); i++ {
		row := b[i*width : (i+1)*width]
		on := i%m + diagonal // the column on the diagonal
		if upper {
			clear(row[:min(max(on, 0), n)*y.DType().Size()])
		} else {
			clear(row[min(max(on+1, 0), n)*y.DType().Size():])
		}
	}
}
