package op

import (
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// all reports whether dim i of the view shows all of a dim of a tensor of shape
// s.
func (w *slicing) all(i int, s shape.Shape) bool {
	d := w.dims[i]
	return d >= 0 && w.shape[i] == s[d] && w.steps[i] == 1
}

// dropped reports whether the view shows one index of dim d and has no dim for
// it.
func (w *slicing) dropped(d int) bool { return !slices.Contains(w.dims, d) }

// rows returns the rule of an operator that shows the slicing of In[0]: dims
// shown whole may be cut, and where one index is shown of a dim that is cut,
// its owner shows it.
func (w *slicing) rows(c *Call) []Row {
	x := c.In[0]
	var rows []Row
	for i, d := range w.dims {
		if d >= 0 && w.all(i, x.Shape()) {
			rows = append(rows, cutting(c, d, i))
		}
	}
	for d := range x.Shape() {
		if w.dropped(d) {
			row := rowOf(c)
			row.In[0], row.Out[0] = mesh.Shard(d), oneOwner(x.DType())
			rows = append(rows, row)
		}
	}
	return append(rows, carried(c, 0)...)
}

// within returns w as it lies in a block [box.Lo, box.Hi) of a tensor of shape
// s, of which it shows a block of shape out; false if w shows no index of it.
func (w *slicing) within(box mesh.Box, s, out shape.Shape) (slicing, bool) {
	v := slicing{starts: slices.Clone(w.starts), shape: out, dims: w.dims, steps: w.steps}
	for d, start := range w.starts {
		if w.dropped(d) {
			if start < box.Lo[d] || start >= box.Hi[d] {
				return v, false
			}
			v.starts[d] -= box.Lo[d]
		}
	}
	return v, true
}

// reaches returns which ranks hold a part of what w shows of input 0.
func (w *slicing) reaches(b *Blocks) func(rank int) bool {
	return func(rank int) bool {
		box, _ := b.From[0].Box(rank)
		_, ok := w.within(box, b.whole(0), nil)
		return ok
	}
}

// local returns what a rank's block of In[0] shows of the slicing.
func (w *slicing) local(b *Blocks) ([]*tensor.Tensor, error) {
	box, _ := b.From[0].Box(b.Rank)
	v, _ := w.within(box, b.whole(0), b.OutShape(0))
	if !b.same(0, w.reaches(b)) {
		return one(b.zeros(0)), nil
	}
	return one(v.view(b.X[0])), nil
}

// moved makes the slicing of x by moving boxes between ranks, where it shows a
// part of a dim; nil if it does not.
func (w *slicing) moved(t *Tape, c *Call) *tensor.Tensor {
	x := c.In[0]
	size, lo := slices.Clone(x.Shape()), make([]int, x.Ndim())
	for i, d := range w.dims {
		if d >= 0 && !w.all(i, x.Shape()) {
			lo[d], size[d] = w.starts[d], span1(w.shape[i], w.steps[i])
		}
	}
	if size.Equal(x.Shape()) && !w.skips() {
		return nil
	}
	x = t.subtensorGet(x, lo, size)
	for i, d := range w.dims {
		if d >= 0 && w.steps[i] > 1 && w.shape[i] > 1 {
			x = t.indexSelect(x, d, t.stepped(c.Ctx, w.shape[i], w.steps[i]))
		}
	}
	for d := len(w.starts) - 1; d >= 0; d-- {
		if w.dropped(d) {
			x = t.Select(x, d, w.starts[d])
		}
	}
	return t.Reshape(x, w.shape)
}

// skips reports whether the view skips indices.
func (w *slicing) skips() bool {
	for i, step := range w.steps {
		if step > 1 && w.shape[i] > 1 {
			return true
		}
	}
	return false
}

// span1 returns how many indices lie from the first to the last of count ones
// that are step apart.
func span1(count, step int) int {
	if count == 0 {
		return 0
	}
	return (count-1)*step + 1
}

// stepped returns the indices 0, step, 2 step and so on, count of them.
func (t *Tape) stepped(c *Ctx, count, step int) *tensor.Tensor {
	at := make([]int64, count)
	for i := range at {
		at[i] = int64(i * step)
	}
	return t.ints(c, at)
}
