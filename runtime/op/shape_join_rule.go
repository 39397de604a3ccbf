package op

import (
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Rules of the operators that cut tensors into pieces and join them. Along the
// dim that is cut or joined they move boxes between ranks.

// piecesRows is the rule of split and chunk: the other dims may be cut.
func piecesRows(c *Call) []Row {
	at, _ := c.Dim(1, c.In[0].Shape())
	var rows []Row
	for d := range c.In[0].Shape() {
		if d != at {
			rows = append(rows, cutting(c, d, d))
		}
	}
	return append(rows, carried(c, 0)...)
}

// movedPieces makes the pieces of In[0] along dim Args[1] of its boxes.
func movedPieces(t *Tape, c *Call) []*tensor.Tensor {
	x := c.In[0]
	d, _ := c.Dim(1, x.Shape())
	lo, pieces := make([]int, x.Ndim()), make([]*tensor.Tensor, len(c.Spec))
	for i, spec := range c.Spec {
		pieces[i] = t.subtensorGet(x, slices.Clone(lo), spec.Shape)
		lo[d] += spec.Shape[d]
	}
	return pieces
}

// joinRows returns the rows of a join of tensors, all with as many dims as first but those
// that are left out, in which dim d of each and the dim of the result that dims gives for
// it, if not negative, are cut.
func joinRows(c *Call, first *tensor.Tensor, dims func(d int) int) []Row {
	var rows []Row
	for d := range first.Shape() {
		if dims(d) < 0 {
			continue
		}
		row := rowOf(c)
		for i, x := range c.In {
			if x.Ndim() == first.Ndim() {
				row.In[i] = mesh.Shard(d)
			}
		}
		row.Out[0] = mesh.Shard(dims(d))
		rows = append(rows, row)
	}
	return append(rows, carried(c, allInputs(c)...)...)
}

// catRows is the rule of cat: all dims but the one it joins along may be cut.
func catRows(c *Call) []Row {
	first := joinedFirst(c)
	at, _ := c.Dim(0, first.Shape())
	return joinRows(c, first, func(d int) int {
		if d == at {
			return -1
		}
		return d
	})
}

// stackRows is the rule of stack: every dim may be cut.
func stackRows(c *Call) []Row {
	at, _ := newDim(c, 0, c.In[0].Ndim()+1)
	return joinRows(c, c.In[0], func(d int) int {
		if d >= at {
			return d + 1
		}
		return d
	})
}

// movedCat puts each tensor into zeros of the shape of the result, where the
// others have nothing.
func movedCat(t *Tape, c *Call) []*tensor.Tensor {
	out, first := c.Spec[0], joinedFirst(c)
	d, _ := c.Dim(0, out.Shape)
	if out.DType.IsFloat8() {
		return nil // it is made by adding, which they do not
	}
	var y *tensor.Tensor
	at := make([]int, len(out.Shape))
	for _, x := range c.In {
		if x.Numel() == 0 && len(c.In) > 1 && (x.Ndim() != len(out.Shape) || !x.RequiresGrad()) { // its gradient, though empty, is not None
			continue
		}
		part := t.subtensorPut(t.Cast(x, out.DType), out.Shape, slices.Clone(at))
		at[d] += x.Shape()[d]
		switch {
		case y == nil:
			y = part
		default:
			y = t.union(y, part)
		}
	}
	if y == nil {
		y = t.Cast(first, out.DType)
		y = t.subtensorPut(y, out.Shape, make([]int, len(at)))
	}
	return one(y)
}

// union returns the sum of x and y, of which everywhere at least one is zero.
func (t *Tape) union(x, y *tensor.Tensor) *tensor.Tensor {
	if x.DType() == dtype.Bool {
		return t.binary("or", x, y)
	}
	return t.Add(x, y)
}

// repeatRows is the rule of repeat: the dims that it repeats once may be cut.
func repeatRows(c *Call) []Row {
	lead := len(c.Args[0].Ints) - c.In[0].Ndim()
	var rows []Row
	for d := range c.In[0].Shape() {
		if c.Args[0].Ints[lead+d] == 1 {
			rows = append(rows, cutting(c, d, lead+d))
		}
	}
	return append(rows, carried(c, 0)...)
}

// fewRepeats is how often a dim that is cut may be repeated before it is less
// to gather it.
const fewRepeats = 4

// movedRepeat joins x to itself along each dim; nil if there are many pieces.
func movedRepeat(t *Tape, c *Call) []*tensor.Tensor {
	repeats := c.Args[0].Ints
	lead := len(repeats) - c.In[0].Ndim()
	y := t.Reshape(c.In[0], append(onesOf(lead), c.In[0].Shape()...))
	for d, n := range repeats {
		switch s := slices.Clone(y.Shape()); {
		case n == 1:
		case s[d] == 1:
			s[d] = n
			y = t.Expand(y, s)
		case n == 0 || n > fewRepeats:
			return nil
		default:
			y = t.Do("cat", slices.Repeat(one(y), n), Int1(d))
		}
	}
	return one(t.unary("clone", y))
}

// onesOf returns a shape of n dims of size 1.
func onesOf(n int) shape.Shape {
	s := make(shape.Shape, n)
	for d := range s {
		s[d] = 1
	}
	return s
}
