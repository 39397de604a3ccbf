package op

import (
	"fmt"
	goruntime "runtime"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A selection is what an index tensor or a mask picks of a contiguous tensor:
// of each of so many rows, the pieces at the given indices. A row has size
// pieces of width elements.
type selection struct {
	rows, size, width int
	at                []int
}

func init() {
	register(&Def{
		Name:    "index_select",
		Surface: Method,
		Doc: "index_select(x, dim, index) returns a copy of x at the given indices of dim.\n" +
			"Negative indices count from the end.\n" +
			">>> tensor([[1, 2, 3], [4, 5, 6]]).index_select(1, tensor([2, 0])).tolist()\n" +
			"[[3, 1], [6, 4]]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "dim", Kind: Dim, Doc: "the dim to index"},
			{Name: "index", Kind: Tensor, Doc: "an int64 or int32 tensor [n]"},
		},
		Infer: inferIndexSelect,
		Run:   runIndexSelect,
		Shard: indexSelectRows,
		Local: indexSelectLocal,
		Reads: ReadsInputs, // of the first its layout, which goes with its elements
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			s := c.In[0].Shape()
			d, _ := c.Dim(0, s)
			return []*tensor.Tensor{t.indexSpread(dy[0], d, s[d], c.In[1], t.like(c.In[0])), nil}
		},
		Cost: takes,
	})
	register(&Def{
		Name:    "index_spread",
		Surface: Internal,
		Doc: "index_spread(src, dim, size, index, like=None) returns zeros but for what src adds at the indices of dim, whose size it gives.\n" +
			"It is the gradient of index_select. like, of the shape of the result, says how ranks\n" +
			"that hold it together are to hold the result.",
		Params: []Param{
			{Name: "src", Kind: Tensor, Doc: "a tensor of numbers"},
			{Name: "dim", Kind: Dim, Doc: "the dim that is indexed"},
			{Name: "size", Kind: Int, Doc: "its size in the result"},
			{Name: "index", Kind: Tensor, Doc: "an int64 or int32 tensor [n]"},
			{Name: "like", Kind: OptTensor, Doc: "a tensor whose elements do not count, or None", Default: Default(None)},
		},
		Infer: inferIndexSpread,
		Run:   runIndexSpread,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			d, _ := c.Dim(0, c.In[0].Shape())
			return []*tensor.Tensor{t.indexSelect(dy[0], d, c.In[1]), nil, nil}
		},
		Shard: indexSpreadRows,
		Local: indexSpreadLocal,
		Cost:  spreadCost,
	})
	register(&Def{
		Name:    "index_copy",
		Surface: Method,
		Doc: "index_copy(x, dim, index, src) returns a copy of x in which src replaces the given indices of dim.\n" +
			"Negative indices count from the end; of equal ones the last wins.\n" +
			">>> zeros(3, dtype=int64).index_copy(0, tensor([2, 0]), tensor([7, 8])).tolist()\n" +
			"[8, 0, 7]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "dim", Kind: Dim, Doc: "the dim to index"},
			{Name: "index", Kind: Tensor, Doc: "an int64 or int32 tensor [n]"},
			{Name: "src", Kind: Operand, Doc: "a tensor of x's dtype that broadcasts to x with n indices of dim, or a number"},
		},
		Infer: inferIndexCopy,
		Run:   runIndexCopy,
		Grad:  indexCopyGrad,
		Shard: indexCopyRows,
		Local: indexCopyLocal,
		Sited: anywhere,
		Cost:  moves,
	})
	register(&Def{
		Name:    "latest",
		Surface: Internal,
		Doc:     "latest(index, n) returns where no later element of index, in row-major order, names the same of n indices.",
		Params: []Param{
			{Name: "index", Kind: Tensor, Doc: "an int64 or int32 tensor"},
			{Name: "n", Kind: Int, Doc: "the size of the dim that is indexed"},
		},
		Infer: func(c *Call) error {
			if err := c.checkIndex("index", c.In[0], c.In[0].Ndim()); err != nil {
				return err
			}
			return c.Result(dtype.Bool, c.In[0].Shape())
		},
		Run:  runLatest,
		Cost: moves,
	})
}

// indexSelect returns x at the given indices of dim d.
func (t *Tape) indexSelect(x *tensor.Tensor, d int, index *tensor.Tensor) *tensor.Tensor {
	return t.Do("index_select", []*tensor.Tensor{x, index}, Int1(d))
}

// indexSpread returns zeros with size indices of dim d, and src added at the
// given ones. The result is cut as like is, if that is not nil.
func (t *Tape) indexSpread(src *tensor.Tensor, d, size int, index, like *tensor.Tensor) *tensor.Tensor {
	return t.Do("index_spread", []*tensor.Tensor{src, index, like}, Int1(d), Int1(size))
}

// checkIndex returns an error if x is no integer tensor of at most ndim dims.
func (c *Call) checkIndex(param string, x *tensor.Tensor, ndim int) error {
	if dt := x.DType(); dt != dtype.Int64 && dt != dtype.Int32 || x.Ndim() > ndim {
		want := "an int64 or int32 tensor"
		if ndim == 1 {
			want += " [n]"
		}
		return c.Bad(param, Describe(x), want, "")
	}
	return nil
}

// indices returns the elements of the index tensor, counted from the front of
// dim d of a tensor of shape s.
func (c *Call) indices(param string, index *tensor.Tensor, d int, s shape.Shape) ([]int, error) {
	values := integers(index)
	at := make([]int, len(values))
	bad := kernel.PlacesAlong(at, values, 0, kernel.Along{N: s[d], Stride: 1})
	goruntime.KeepAlive(index)
	return at, c.checkAt(param, index, bad, d, s)
}

// alongDim returns the selection of indices at of dim d of a tensor of shape s.
func alongDim(s shape.Shape, d int, at []int) selection {
	return selection{s[:d].Numel(), s[d], s[d+1:].Numel(), at}
}

// take fills dst, contiguous, with what p selects of x.
func (p selection) take(c *Call, dst, x *tensor.Tensor) error {
	x, err := contiguous(c.Ctx, x)
	if err != nil {
		return c.memory(err)
	}
	width := p.width * x.DType().Size()
	to, from, part, row := dst.Bytes(), x.Bytes(), len(p.at)*width, p.size*width
	for i := range p.rows {
		kernel.Take(to[i*part:(i+1)*part], from[i*row:(i+1)*row], p.at, width)
	}
	goruntime.KeepAlive(x)
	return nil
}

// put stores src, cast and broadcast to shape s, in what p selects of dst,
// which is contiguous.
func (p selection) put(c *Call, dst, src *tensor.Tensor, s shape.Shape) error {
	if src.DType() != dst.DType() || !src.Shape().Equal(s) || !src.Contiguous() || src.Buffer() == dst.Buffer() {
		room, err := tensor.New(c.Ctx.Alloc, dst.DType(), s)
		if err != nil {
			return c.memory(err)
		}
		copyInto(room, src)
		src = room
	}
	width := p.width * dst.DType().Size()
	to, from, part, row := dst.Bytes(), src.Bytes(), len(p.at)*width, p.size*width
	for i := range p.rows {
		kernel.Put(to[i*row:(i+1)*row], from[i*part:(i+1)*part], p.at, width)
	}
	goruntime.KeepAlive(src)
	return nil
}

// accumulate sets dst, contiguous, to start, or to zeros if that is nil, and has add add the
// elements of src to it. Both are then contiguous and of the dtype in which dst is
// calculated: sums of half-precision numbers are rounded once.
func (c *Call) accumulate(dst, start, src *tensor.Tensor, add func(sum, src *tensor.Tensor) error) error {
	dt := dst.DType().Compute()
	sum, err := dst, error(nil)
	if dt != dst.DType() {
		if sum, err = tensor.New(c.Ctx.Alloc, dt, dst.Shape()); err != nil {
			return c.memory(err)
		}
	}
	if start == nil {
		clear(sum.Bytes())
	} else {
		copyInto(sum, start)
	}
	if src, err = castTo(c.Ctx, src, dt); err != nil {
		return c.memory(err)
	}
	if src, err = contiguous(c.Ctx, src); err != nil {
		return c.memory(err)
	}
	if err := add(sum, src); err != nil {
		return err
	}
	if sum != dst {
		copyInto(dst, sum)
	}
	goruntime.KeepAlive(src)
	return nil
}

// add adds src to what p selects of dst; both are contiguous and of one dtype.
func (p selection) add(dst, src *tensor.Tensor) {
	switch dst.DType() {
	case dtype.Float32:
		accumulate[float32](p, dst, src)
	case dtype.Float64:
		accumulate[float64](p, dst, src)
	case dtype.Int64:
		accumulate[int64](p, dst, src)
	case dtype.Int32:
		accumulate[int32](p, dst, src)
	default:
		accumulate[uint8](p, dst, src)
	}
}

func accumulate[T interface {
	dtype.Number
	tensor.Element
}](p selection, dst, src *tensor.Tensor) {
	to, from, part, row := tensor.Data[T](dst), tensor.Data[T](src), len(p.at)*p.width, p.size*p.width
	for i := range p.rows {
		kernel.Accumulate(to[i*row:(i+1)*row], from[i*part:(i+1)*part], p.at, p.width)
	}
}

// inferIndexed returns the dim that Args[0] names in In[0], and the shape of
// In[0] with as many indices of it as the index tensor has.
func inferIndexed(c *Call, index *tensor.Tensor) (int, shape.Shape, error) {
	s := slices.Clone(c.In[0].Shape())
	d, err := c.Dim(0, s)
	if err != nil {
		return 0, nil, err
	}
	if err := c.checkIndex("index", index, 1); err != nil {
		return 0, nil, err
	}
	s[d] = index.Numel()
	return d, s, nil
}

func inferIndexSelect(c *Call) error {
	_, s, err := inferIndexed(c, c.In[1])
	if err != nil {
		return err
	}
	return c.Result(c.In[0].DType(), s)
}

func runIndexSelect(c *Call) error {
	x := c.In[0]
	d, err := c.Dim(0, x.Shape())
	if err != nil {
		return err
	}
	at, err := c.indices("index", c.In[1], d, x.Shape())
	if err != nil {
		return err
	}
	return alongDim(x.Shape(), d, at).take(c, c.Out[0], x)
}

func inferIndexSpread(c *Call) error {
	src := c.In[0]
	d, s, err := inferIndexed(c, c.In[1])
	if err != nil {
		return err
	}
	if src.DType() == dtype.Bool {
		return c.Bad("src", Describe(src), "a tensor of numbers", "no arithmetic on bools")
	}
	if !s.Equal(src.Shape()) {
		return c.Bad("index", Describe(c.In[1]), fmt.Sprintf("%d indices", src.Shape()[d]), "src is "+Describe(src))
	}
	if s[d] = c.Args[1].Int; s[d] < 0 {
		return c.Bad("size", fmt.Sprint(s[d]), "a non-negative int", "")
	}
	if like := c.In[2]; like != nil && !like.Shape().Equal(s) {
		return c.Bad("like", Describe(like), "shape "+s.String(), "that of the result")
	}
	return c.Result(src.DType(), s)
}

func runIndexSpread(c *Call) error {
	y := c.Out[0]
	d, err := c.Dim(0, y.Shape())
	if err != nil {
		return err
	}
	at, err := c.indices("index", c.In[1], d, y.Shape())
	if err != nil {
		return err
	}
	p := alongDim(y.Shape(), d, at)
	return c.accumulate(y, nil, c.In[0], func(sum, src *tensor.Tensor) error {
		p.add(sum, src)
		return nil
	})
}

func inferIndexCopy(c *Call) error {
	x, src := c.In[0], c.In[2]
	_, s, err := inferIndexed(c, c.In[1])
	if err != nil {
		return err
	}
	if err := c.sameDType("src", src, x); err != nil {
		return err
	}
	if err := fits(c, "src", src, s); err != nil {
		return err
	}
	return c.Result(x.DType(), x.Shape())
}

// sameDType returns an error if src, not a number, is of another dtype than
// x, the receiver.
func (c *Call) sameDType(param string, src, x *tensor.Tensor) error {
	if !src.Weak() && src.DType() != x.DType() {
		return c.Bad(param, Describe(src), "dtype "+x.DType().String(), c.InName(0)+" is "+Describe(x))
	}
	return nil
}

func runIndexCopy(c *Call) error {
	x, y := c.In[0], c.Out[0]
	d, s, err := inferIndexed(c, c.In[1])
	if err != nil {
		return err
	}
	at, err := c.indices("index", c.In[1], d, x.Shape())
	if err != nil {
		return err
	}
	copyInto(y, x)
	return alongDim(x.Shape(), d, at).put(c, y, c.In[2], s)
}

// For y = index_copy(x, src), dx is dy with zeros at the indices, and dsrc is
// dy at the indices, with zeros where a later index is the same.
func indexCopyGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x, index, src := c.In[0], c.In[1], c.In[2]
	grads := make([]*tensor.Tensor, 3)
	if x.RequiresGrad() {
		grads[0] = t.Do("index_copy", []*tensor.Tensor{dy[0], index, tensor.Number(0.0)}, c.Args...)
	}
	if src.RequiresGrad() {
		d, _ := c.Dim(0, x.Shape())
		column := make(shape.Shape, x.Ndim()-d)
		for i := range column {
			column[i] = 1
		}
		column[0] = index.Numel()
		g := t.indexSelect(dy[0], d, index)
		grads[2] = t.SumTo(t.onlyLast(g, index, column, x.Shape()[d]), src.Shape())
	}
	return grads
}

// onlyLast returns g with zeros wherever a later element of index, into a dim
// of n, is the same; s is the shape of index beside g.
func (t *Tape) onlyLast(g, index *tensor.Tensor, s shape.Shape, n int) *tensor.Tensor {
	last := t.Do("latest", []*tensor.Tensor{index}, Int1(n))
	return t.Where(t.Reshape(last, s), g, tensor.Number(0.0))
}

func runLatest(c *Call) error {
	at, err := c.indices("index", c.In[0], 0, shape.Shape{c.Args[0].Int})
	if err != nil {
		return err
	}
	seen, last := make([]bool, c.Args[0].Int), tensor.Data[bool](c.Out[0])
	for i := len(at) - 1; i >= 0; i-- {
		last[i] = !seen[at[i]]
		seen[at[i]] = true
	}
	return nil
}
