package shard

import (
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// unspoilt returns in with summands reduced that an element of another input would
// spoil (op.Def.Spoils). Of the others it looks at numbers, and at tensors that every
// rank holds whole, so that all ranks find the same; of one that is cut a rank does
// not know all, and its summands are left as they are.
func (e *Engine) unspoilt(d *op.Def, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	spoils := spoilsOf(d)
	if spoils == nil {
		return in, nil
	}
	for i, x := range in {
		if !summed(x) || !e.spoilt(spoils, in, i) {
			continue
		}
		if d.Changes(i) {
			return nil, &op.ArgError{Func: d.Name, Param: d.Params[0].Name, Got: Describe(x), Want: "placements without Partial",
				Rule: "a summand that is 0 would give NaN: redistribute it first, or use the operation that makes a new tensor"}
		}
		y, err := e.settle(x, e.GradLayout(x.Layout()), false)
		if err != nil {
			return nil, err
		}
		in = append([]*tensor.Tensor(nil), in...)
		in[i] = y
	}
	return in, nil
}

// spoilsOf returns op.Def.Spoils of d, or of the operator whose value it stores.
func spoilsOf(d *op.Def) func(int, *tensor.Tensor) bool {
	if d.InPlace && d.Base != "" {
		return op.Lookup(d.Base).Spoils
	}
	return d.Spoils
}

// summed reports whether x is a sum or a mean of the ranks' terms.
func summed(x *tensor.Tensor) bool { return x != nil && x.Placed() && x.Layout().Summed() }

// spoilt reports whether an input besides i spoils the summands of input i.
func (e *Engine) spoilt(spoils func(int, *tensor.Tensor) bool, in []*tensor.Tensor, i int) bool {
	for j, x := range in {
		if j == i || x == nil {
			continue
		}
		if x.Placed() {
			if x.Layout() != e.Replicated(x.Layout().Mesh(), x.Shape()) || !e.member(x.Layout().Mesh()) {
				continue
			}
			x = x.Local()
		}
		if x.Buffer() != nil && !x.Hollow() && spoils(j, x) {
			return true
		}
	}
	return false
}
