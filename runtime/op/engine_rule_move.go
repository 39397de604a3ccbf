package op

import (
	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Rules of operators that move elements and compute nothing: they commute with
// every reduction, so that what is Partial stays so.

// oneOwner is the placement of what one rank holds and the others hold zeros
// for, in dtype dt.
func oneOwner(dt dtype.DType) mesh.Placement {
	if dt == dtype.Bool {
		return mesh.Partial(mesh.Max)
	}
	return summands
}

// carried returns the rows in which the given inputs and the results are
// Partial alike, and the other inputs are replicated.
func carried(c *Call, inputs ...int) []Row { return togetherIn(c, inputs, anyPartial...) }

// cutting returns the row in which dim d of In[0] and dim o of all results are
// cut, and the other inputs are replicated.
func cutting(c *Call, d, o int) Row {
	row := rowOf(c)
	row.In[0] = mesh.Shard(d)
	for i := range row.Out {
		row.Out[i] = mesh.Shard(o)
	}
	return row
}

// wholeDims is the rule of operators of one tensor that leave the dims alone
// whose sizes they do not change, and fill with zeros if anything.
func wholeDims(c *Call) []Row {
	var rows []Row
	for d, n := range c.In[0].Shape() {
		if n == c.Spec[0].Shape[d] {
			rows = append(rows, cutting(c, d, d))
		}
	}
	return append(rows, carried(c, 0)...)
}

// zeros returns a new tensor of zeros that has the shape of the rank's block
// of result i.
func (b *Blocks) zeros(i int) *tensor.Tensor {
	return b.T.Zeros(b.Spec[i].DType, b.OutShape(i))
}

// whole returns the shape of all of input i.
func (b *Blocks) whole(i int) shape.Shape { return b.Call.In[i].Shape() }

// reshaped returns the rank's block of In[0] in the shape of its block of the
// result.
func reshaped(b *Blocks) ([]*tensor.Tensor, error) {
	return one(b.T.Reshape(b.X[0], b.OutShape(0))), nil
}
