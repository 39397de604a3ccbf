package op

import (
	"slices"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// flipRows is the rule of flip: the dims that stay as they are may be cut.
func flipRows(c *Call) []Row {
	flipped, _ := c.Dims(0, c.In[0].Shape())
	var rows []Row
	for d, is := range flipped {
		if !is {
			rows = append(rows, cutting(c, d, d))
		}
	}
	return append(rows, carried(c, 0)...)
}

// rollRows is the rule of roll: dims that do not move may be cut.
func rollRows(c *Call) []Row {
	var rows []Row
	if shifts, _ := rollShifts(c); c.Args[1].Set {
		for d, by := range shifts {
			if by == 0 {
				rows = append(rows, cutting(c, d, d))
			}
		}
	}
	return append(rows, carried(c, 0)...)
}

// movedRoll joins the two pieces of each dim that moves: of all elements as one row
// if there are no dims.
func movedRoll(t *Tape, c *Call) []*tensor.Tensor {
	y := c.In[0]
	if !c.Args[1].Set {
		y = t.Do("roll", one(t.Reshape(y, shape.Shape{y.Numel()})), c.Args[0], IntsN(0))
		return one(t.Reshape(y, c.Spec[0].Shape))
	}
	shifts, _ := rollShifts(c)
	for d, by := range shifts {
		if by == 0 {
			continue
		}
		lo, size := make([]int, y.Ndim()), slices.Clone(y.Shape())
		size[d] -= by
		front := t.subtensorGet(y, slices.Clone(lo), slices.Clone(size))
		lo[d], size[d] = size[d], by
		y = t.Do("cat", []*tensor.Tensor{t.subtensorGet(y, lo, size), front}, Int1(d))
	}
	return one(y)
}

// triangleLocal applies tril or triu to a rank's block, in which the diagonal
// lies as far off as its rows and columns begin.
func triangleLocal(b *Blocks) ([]*tensor.Tensor, error) {
	d := len(b.whole(0)) - 2
	row, _ := b.Span(0, d)
	column, _ := b.Span(0, d+1)
	return b.Apply(Int1(b.Args[0].Int + row - column))
}

// rollLocal rolls a rank's block as far as the whole: by less than its size.
func rollLocal(b *Blocks) ([]*tensor.Tensor, error) {
	if !b.Args[1].Set {
		return b.Apply(b.Args...)
	}
	shifts, err := rollShifts(b.Call)
	if err != nil {
		return nil, err
	}
	return b.Apply(IntsN(shifts...), IntsN(iota0(len(shifts))...))
}
