package op

import (
	"fmt"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// asRow are the operators that take a tensor of shape () for a row of one element,
// as PyTorch does: its dims are 0 and -1. Others that do so, as reductions and scans,
// see to it themselves (Call.axis).
var asRow = map[string]bool{
	"squeeze": true, "flip": true, "transpose": true, "swapaxes": true, "swapdims": true, "movedim": true,
	"gather": true, "index_select": true, "index_copy": true, "index_fill": true, "index_add": true,
	"scatter": true, "scatter_add": true, "unfold": true,
}

// AsRow reports whether d, applied to in, is to be applied by OnRow.
func AsRow(d *Def, in []*tensor.Tensor) bool {
	return len(in) > 0 && in[0] != nil && in[0].Ndim() == 0 && asRow[d.Name] && d.Surface&Namespace == 0
}

// OnRow applies d, of which AsRow is true, to inputs of shape () as rows of one
// element, and gives the results the shape that they have without that dim.
func OnRow(a Applier, d *Def, in []*tensor.Tensor, args []Arg) (out []*tensor.Tensor, err error) {
	defer Recover(&err)
	t := &Tape{a}
	rows := make([]*tensor.Tensor, len(in))
	keep := false // of an index [n], which gives gather's result its dims
	for i, x := range in {
		rows[i] = x
		switch {
		case x == nil || x.Weak():
		case x.Ndim() == 0:
			rows[i] = t.Reshape(x, shape.Shape{1})
		default:
			keep = keep || d.Name == "gather"
		}
	}
	results, err := a.Apply(d, rows, args)
	if err != nil || keep {
		return results, err
	}
	for _, y := range results {
		s := y.Shape()
		switch {
		case len(s) == 0:
		case s[0] != 1:
			c := &Call{Def: d}
			return nil, c.Bad("index", fmt.Sprintf("%d indices", s[0]), "one index", "x is of shape ()")
		default:
			y = t.Reshape(y, s[1:])
		}
		out = append(out, y)
	}
	return out, nil
}
