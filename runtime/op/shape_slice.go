package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A slicing is what basic indexing shows of a tensor: a range of every dim,
// with a step, or one index of it, which drops the dim; and new dims of size 1.
type slicing struct {
	starts []int       // for each dim of the tensor, the first index shown
	shape  shape.Shape // of the view
	dims   []int       // for each dim of the view, that of the tensor; -1 for a new one
	steps  []int       // for each dim of the view
}

// whole returns the slicing that shows all of a tensor of shape s.
func whole(s shape.Shape) slicing {
	n := len(s)
	room := make([]int, 4*n)
	w := slicing{starts: room[:n:n], shape: room[n : 2*n : 2*n], dims: room[2*n : 3*n : 3*n], steps: room[3*n:]}
	copy(w.shape, s)
	for d := range w.steps {
		w.dims[d], w.steps[d] = d, 1
	}
	return w
}

// at returns where the slicing's elements lie, given where the tensor's do.
func (w *slicing) at(p strided) strided {
	v := strided{p.offset, make([]int, len(w.shape))}
	for d, start := range w.starts {
		v.offset += start * p.strides[d]
	}
	for i, d := range w.dims {
		if d >= 0 {
			v.strides[i] = w.steps[i] * p.strides[d]
		}
	}
	return v
}

// view returns the slicing of x.
func (w *slicing) view(x *tensor.Tensor) *tensor.Tensor {
	if w.shape.Numel() == 0 { // the first index may be the size, outside the storage
		return x.View(w.shape, w.shape.Strides(), x.Offset())
	}
	v := w.at(stridedOf(x))
	return x.View(w.shape, v.strides, v.offset)
}

// spread returns zeros of shape s with dy in the slicing.
func (w *slicing) spread(t *Tape, c *Call, dy *tensor.Tensor, s shape.Shape) *tensor.Tensor {
	box := make(shape.Shape, len(s))
	for d := range box {
		box[d] = 1
	}
	for i, d := range w.dims {
		if d >= 0 {
			box[d] = w.shape[i]
		}
	}
	g := t.Reshape(dy, box)
	for i, d := range w.dims {
		if d >= 0 && w.steps[i] > 1 && w.shape[i] > 1 {
			g = t.indexSpread(g, d, span1(w.shape[i], w.steps[i]), t.stepped(c.Ctx, w.shape[i], w.steps[i]), nil)
		}
	}
	return t.subtensorPut(g, s, w.starts)
}

// registerSlice registers d as an operator whose result is the slicing of
// In[0] that of returns.
func registerSlice(d *Def, of func(c *Call) (slicing, error)) {
	d.View, d.Slices = true, true
	d.Infer = func(c *Call) error {
		w, err := of(c)
		if err != nil {
			return err
		}
		return c.Result(c.In[0].DType(), w.shape)
	}
	d.Run = func(c *Call) error {
		w, err := of(c)
		if err != nil {
			return err
		}
		c.Out[0] = w.view(c.In[0])
		return nil
	}
	d.Reads = ReadsShapes
	d.Grad = func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
		w, err := of(c)
		if err != nil {
			panic(&TapeError{err})
		}
		return one(w.spread(t, c, dy[0], c.In[0].Shape()))
	}
	d.Shard = func(c *Call) []Row {
		w, _ := of(c)
		return w.rows(c)
	}
	d.Local = func(b *Blocks) ([]*tensor.Tensor, error) {
		w, err := of(b.Call)
		if err != nil {
			return nil, err
		}
		return w.local(b)
	}
	d.Compose = func(t *Tape, c *Call) []*tensor.Tensor {
		w, err := of(c)
		if err != nil {
			panic(&TapeError{err})
		}
		if y := w.moved(t, c); y != nil {
			return one(y)
		}
		return nil
	}
	register(d)
}

func init() {
	registerSlice(&Def{
		Name:    "select",
		Surface: Method,
		Doc: "select(x, dim, index) returns x at one index of a dim, without that dim, sharing the storage of x.\n" +
			"A negative index counts from the end.\n" +
			">>> tensor([[1, 2], [3, 4]]).select(1, -1).tolist()\n" +
			"[2, 4]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "dim", Kind: Dim, Doc: "the dim to index"},
			{Name: "index", Kind: Int, Doc: "the index"},
		},
	}, selected)
	registerSlice(&Def{
		Name:    "narrow",
		Surface: Method,
		Doc: "narrow(x, dim, start, length) returns length indices of a dim of x from start on, sharing the storage of x.\n" +
			"A negative start counts from the end; the range lies inside the dim.\n" +
			">>> arange(5).narrow(0, 1, 3).tolist()\n" +
			"[1, 2, 3]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "dim", Kind: Dim, Doc: "the dim to narrow"},
			{Name: "start", Kind: Int, Doc: "the first index"},
			{Name: "length", Kind: Int, Doc: "the number of indices"},
		},
	}, narrowed)
	registerSlice(&Def{
		Name:    "slice",
		Surface: Method,
		Doc: "slice(x, dim, start=None, stop=None, step=1) returns x[start:stop:step] along dim, sharing the storage of x.\n" +
			"As in Python, negative bounds count from the end and bounds outside the dim are\n" +
			"moved to its ends. The step is positive: flip reverses.\n" +
			">>> arange(6).slice(0, 1, None, 2).tolist()\n" +
			"[1, 3, 5]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "dim", Kind: Dim, Doc: "the dim to slice"},
			{Name: "start", Kind: OptInt, Doc: "the first index; None for 0", Default: Default(None)},
			{Name: "stop", Also: []string{"end"}, Kind: OptInt, Doc: "the index after the last; None for the size", Default: Default(None)},
			{Name: "step", Kind: Int, Doc: "the distance of the indices", Default: Default(Int1(1))},
		},
	}, sliced)
	registerSlice(&Def{
		Name:    "getitem",
		Surface: Internal,
		Doc: "getitem(x, index) returns x at one index of each of its first dims, sharing the storage of x.\n" +
			"Scripts write x[i] and x[i, j]. Negative indices count from the end.",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "index", Kind: Ints, Doc: "an index of each of the first dims"},
		},
	}, item)
	registerSlice(&Def{
		Name:    "at",
		Surface: Method,
		Doc: "at(x, index) returns the part of x that NumPy's x[index] shows, sharing the storage of x.\n" +
			"The index is a string of ints, slices a:b:c, ... (as many whole dims as are left)\n" +
			"and None (a new dim of size 1), separated by commas. Steps are positive: flip\n" +
			"reverses.\n" +
			">>> arange(12).reshape(3, 4).at(\"1:, ::2\").tolist()\n" +
			"[[4, 6], [8, 10]]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "index", Kind: String, Doc: "a basic index in NumPy's notation"},
		},
	}, indexed)
}

// Narrow returns length indices of dim of x from start on.
func (t *Tape) Narrow(x *tensor.Tensor, dim, start, length int) *tensor.Tensor {
	return t.Do("narrow", []*tensor.Tensor{x}, Int1(dim), Int1(start), Int1(length))
}

// Select returns x at one index of dim, without that dim.
func (t *Tape) Select(x *tensor.Tensor, dim, index int) *tensor.Tensor {
	return t.Do("select", []*tensor.Tensor{x}, Int1(dim), Int1(index))
}

// selected returns the slicing of select.
func selected(c *Call) (slicing, error) {
	s := c.In[0].Shape()
	d, err := c.Dim(0, s)
	if err != nil {
		return slicing{}, err
	}
	i, err := c.index("index", c.Args[1].Int, d, s)
	if err != nil {
		return slicing{}, err
	}
	w := whole(s)
	w.starts[d] = i
	w.drop(d)
	return w, nil
}

// index returns an index into dim d of a tensor of shape s, counted from the
// front.
func (c *Call) index(param string, i, d int, s shape.Shape) (int, error) {
	if j, ok := shape.Dim(i, s[d]); ok {
		return j, nil
	}
	rule := fmt.Sprintf("dim %d of shape %v", d, s)
	if s[d] == 0 {
		return 0, c.Bad(param, fmt.Sprint(i), "no index", rule)
	}
	return 0, c.Bad(param, fmt.Sprint(i), fmt.Sprintf("%d..%d", -s[d], s[d]-1), rule)
}

// drop removes dim i of the view, which is then shown at its first index only.
func (w *slicing) drop(i int) {
	w.shape = slices.Delete(w.shape, i, i+1)
	w.dims = slices.Delete(w.dims, i, i+1)
	w.steps = slices.Delete(w.steps, i, i+1)
}

// narrowed returns the slicing of narrow.
func narrowed(c *Call) (slicing, error) {
	s := c.In[0].Shape()
	d, err := c.Dim(0, s)
	if err != nil {
		return slicing{}, err
	}
	start, length, n := c.Args[1].Int, c.Args[2].Int, s[d]
	rule := func() string { return fmt.Sprintf("dim %d of shape %v", d, s) }
	if start < -n || start > n {
		return slicing{}, c.Bad("start", fmt.Sprint(start), fmt.Sprintf("%d..%d", -n, n), rule())
	}
	if start < 0 {
		start += n
	}
	if length < 0 || length > n-start {
		return slicing{}, c.Bad("length", fmt.Sprint(length), fmt.Sprintf("0..%d", n-start), fmt.Sprintf("from %d in %s", start, rule()))
	}
	w := whole(s)
	w.starts[d], w.shape[d] = start, length
	return w, nil
}

// sliced returns the slicing of slice.
func sliced(c *Call) (slicing, error) {
	s := c.In[0].Shape()
	d, err := c.Dim(0, s)
	if err != nil {
		return slicing{}, err
	}
	start, stop, step := c.Args[1], c.Args[2], c.Args[3].Int
	if step <= 0 {
		return slicing{}, c.Bad("step", fmt.Sprint(step), "a positive int", "flip reverses a dim")
	}
	if !start.Set {
		start.Int = 0
	}
	if !stop.Set {
		stop.Int = s[d]
	}
	w := whole(s)
	w.starts[d], w.shape[d] = sliceRange(start.Int, stop.Int, step, s[d])
	w.steps[d] = step
	return w, nil
}

// sliceRange returns the first index and the number of indices of start:stop:step
// in a dim of n, as Python has it.
func sliceRange(start, stop, step, n int) (first, count int) {
	inside := func(i int) int {
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	start, stop = inside(start), inside(stop)
	if stop <= start {
		return start, 0
	}
	return start, (stop-start-1)/step + 1
}

// item returns the slicing of getitem.
func item(c *Call) (slicing, error) { return itemOf(c, c.Args[0].Ints) }

// itemOf returns the slicing of In[0] at an index of each of its first dims.
func itemOf(c *Call, index []int) (slicing, error) {
	s := c.In[0].Shape()
	if len(index) > len(s) {
		return slicing{}, c.Bad("index", shape.Shape(index).String(), fmt.Sprintf("at most %d indices", len(s)), fmt.Sprintf("shape %v", s))
	}
	w := whole(s)
	for d, i := range index {
		j, err := c.index("index", i, d, s)
		if err != nil {
			return slicing{}, err
		}
		w.starts[d] = j
		w.drop(0)
	}
	return w, nil
}
