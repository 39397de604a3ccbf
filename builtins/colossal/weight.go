package colossal

import (
	"fmt"

	"tpsh/builtins"
	"tpsh/runtime/tensor"
)

// How operators compute with a weight that is cut, by ColossalAI's rules: what a
// weight and its specs allow, how other operands are to lie, and what becomes of
// the result.

// computeSpecRule says how a weight comes by a compute spec.
const computeSpecRule = "spec=ColoTensorSpec(pg, dist_attr, ComputeSpec(ComputePattern.TP1D)) states it"

// A manner is how an operator computes with a weight.
type manner uint8

const (
	alone   manner = iota // each rank alone
	rowwise               // inputs are cut too, and results added up
	colwise               // results are cut
)

// mannerOf returns how the operator computes with its weight, in[i], of which the
// dim inner is added up and outer is of the results: 0 or -1. It refuses what no
// rule covers.
func (c *opCall) mannerOf(i, inner, outer int) (manner, error) {
	w := c.in[i]
	v := viewOf(w)
	switch {
	case v == nil:
		return alone, nil
	case v.compute == nil && isWhole(w):
		return alone, nil
	case v.compute == nil:
		return 0, c.bad(i, builtins.DescribeTensor(c.env, w)+" without compute spec", "a replicated weight, or one with a compute spec", computeSpecRule)
	}
	if err := c.onlyTP1D(i); err != nil {
		return 0, err
	}
	dim, one := oneCut(w)
	last := w.Ndim() - 1
	switch {
	case one && dim == (inner+w.Ndim())%w.Ndim():
		return rowwise, nil
	case one && dim == (outer+w.Ndim())%w.Ndim():
		return colwise, nil
	}
	return 0, c.bad(i, builtins.DescribeTensor(c.env, w), fmt.Sprintf("a weight cut along dim 0 or along dim %d", last), "its compute spec is "+v.compute.String())
}

// onlyTP1D returns an error if the compute spec of in[i] has a pattern that
// operators refuse.
func (c *opCall) onlyTP1D(i int) error {
	if v := viewOf(c.in[i]); v != nil && v.compute != nil && v.compute.pattern.Name != "TP1D" {
		return c.bad(i, v.compute.String(), "ComputePattern.TP1D", "operators compute in no other pattern")
	}
	return nil
}

// addend checks in[i], which is added to the results of an operator that computes
// as s says: cut like the results of columns, and else whole. replicated says
// whether the results of columns take one that is whole, too.
func (c *opCall) addend(i int, s manner, replicated bool) error {
	b := c.in[i]
	if b == nil {
		return nil
	}
	cut := isColo(b) && !isWhole(b)
	switch {
	case s != colwise && cut:
		return c.bad(i, builtins.DescribeTensor(c.env, b), "a replicated tensor", "it is added once, to the whole result")
	case s == rowwise && isColo(b) && viewOf(b).compute != nil:
		return c.bad(i, builtins.DescribeTensor(c.env, b)+" with "+viewOf(b).compute.String(), "one without compute spec", "it is added once, after the reduction")
	case s == colwise && !replicated && c.view.pg.degree(tpDim) > 1 && (!isColo(b) || !specOf(c.env, b).isShard()):
		return c.bad(i, builtins.DescribeTensor(c.env, b)+", which is replicated", "one that is cut", "the weight is cut along the dim of the results")
	}
	return nil
}

// finish returns y, the result of an operator that computes as s says with the
// weight in[i]: of columns it is gathered, unless the compute spec says not to.
func (c *opCall) finish(y *tensor.Tensor, s manner, i int) ([]*tensor.Tensor, error) {
	var err error
	switch s {
	case rowwise:
		y, err = replicated(c.env, y)
	case colwise:
		if y, err = c.cutLast(y); err != nil {
			return nil, err
		}
		if compute := viewOf(c.in[i]).compute; compute.replicate {
			y, err = replicated(c.env, y)
		} else {
			c.compute = compute
		}
	}
	return []*tensor.Tensor{y}, err
}

// takes moves in[i] to where an operator that computes as s says takes it: cut
// along the last dim for rows, and whole for columns.
func (c *opCall) takes(i int, s manner) error {
	x := c.in[i]
	if !x.Placed() {
		return nil // it counts as replicated, and is cut without communication
	}
	switch s {
	case rowwise:
		y, err := c.cutLast(x)
		c.in[i] = y
		return err
	case colwise:
		return c.replicate(i)
	}
	return nil
}

// cutLast returns x cut along its last dim by the tensor-parallel groups, from
// whatever mesh of the group it lies on.
func (c *opCall) cutLast(x *tensor.Tensor) (*tensor.Tensor, error) {
	pg := c.view.pg
	spec := shardSpec(c.env, []int{-1}, []int{pg.degree(tpDim)})
	if isColo(x) {
		y, err := recut(c.env, c.def.Name, x, pg, spec)
		if err == nil && y != x {
			y.Lens = x.Lens
		}
		return y, err
	}
	l, err := placeSpec(c.env, c.def.Name, "", pg, spec, x.Shape())
	if err != nil {
		return nil, err
	}
	return c.env.Runtime.Shard.Move(x, l)
}
