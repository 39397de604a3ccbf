package op

import "tpsh/runtime/tensor"

// Reads says of which tensors of a call a gradient reads the elements: a record
// keeps no more. What an operator puts into Call.Saved is kept in any case.
type Reads uint8

const (
	ReadsAll     Reads = iota // inputs and results
	ReadsShapes               // of none: shapes and arguments are enough
	ReadsInputs               // inputs
	ReadsResults              // results
	ReadsFactors              // inputs: each only for the gradients of others
	ReadsFirst                // the first input
	ReadsRest                 // inputs but the first
)

// ReadsIn reports whether c's gradient reads In[i].
func (c *Call) ReadsIn(i int) bool {
	switch c.Def.Reads {
	case ReadsShapes, ReadsResults:
		return false
	case ReadsFirst:
		return i == 0
	case ReadsRest:
		return i > 0
	case ReadsFactors:
		for j, x := range c.In {
			if j != i && x != nil && x.RequiresGrad() {
				return true
			}
		}
		return false
	}
	return true
}

// readsOut reports whether c's gradient reads Out.
func (c *Call) readsOut() bool { return c.Def.Reads == ReadsAll || c.Def.Reads == ReadsResults }

// Recorded returns c as a record keeps it: what its gradient does not read, of least
// bytes or more, has a shape and no elements. c stays as it is.
func (c *Call) Recorded(least int) *Call {
	if c.Def.Reads == ReadsAll || !some(c.In, least) && !some(c.Out, least) {
		return c
	}
	in, out := c.In, c.Out
	for i := range c.In {
		in = bare(in, c.In, i, least, !c.ReadsIn(i))
	}
	for i := range c.Out {
		out = bare(out, c.Out, i, least, !c.readsOut())
	}
	if len(in) == 0 || len(out) == 0 || &in[0] == &c.In[0] && &out[0] == &c.Out[0] {
		return c
	}
	return c.With(in, out)
}

// With returns a copy of c with other inputs and results. It keeps no others of c.
func (c *Call) With(in, out []*tensor.Tensor) *Call {
	w := &Call{Def: c.Def, Ctx: c.Ctx, Args: c.Args, Saved: c.Saved}
	w.In = append(w.in2[:0], in...)
	w.Out = append(w.out1[:0], out...)
	if w.Spec = c.Spec; len(c.Spec) == 1 {
		w.Result(c.Spec[0].DType, c.Spec[0].Shape)
	}
	return w
}

// some reports whether one of list has least bytes or more.
func some(list []*tensor.Tensor, least int) bool {
	for _, x := range list {
		if x != nil && x.Buffer() != nil && x.Buffer().Len() >= least {
			return true
		}
	}
	return false
}

// bare returns list, or a copy of it in which element i of from has no elements, if
// it is to be so and has least bytes.
func bare(list, from []*tensor.Tensor, i, least int, shape bool) []*tensor.Tensor {
	x := from[i]
	if !shape || x == nil || x.Buffer() == nil || x.Buffer().Len() < least {
		return list
	}
	if &list[0] == &from[0] {
		list = append([]*tensor.Tensor(nil), from...)
	}
	list[i] = x.ShapeOnly()
	return list
}
