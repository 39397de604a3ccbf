package runtime

import (
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// An Action makes a tensor of a new storage from another, with communication
// or without.
type Action func(x *tensor.Tensor) (*tensor.Tensor, error)

// RecordPair returns do(x) and records it, under name, as an operation whose
// gradient is back of the result's gradient, whose own gradient is do again.
// The operators of do and back are not recorded. So the gradient of a gather may be a
// slice, with no sum over the losses of the ranks: the ranks then have one loss
// together, and not one each.
func (r *Rank) RecordPair(name string, x *tensor.Tensor, do, back Action) (*tensor.Tensor, error) {
	line := ""
	if r.Tape.Enabled() && x.RequiresGrad() {
		line = r.where()
	}
	restore := r.Tape.SetEnabled(false)
	y, err := do(x.Detach())
	restore()
	if err != nil {
		return nil, err
	}
	r.Tape.Custom(name, []*tensor.Tensor{x}, []*tensor.Tensor{y}, r.replay(line, 0, func(t *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
		g := dy[0]
		if g == nil {
			g = t.Do("zeros_like", []*tensor.Tensor{y.Detach()}, op.None)
		}
		dx, err := r.RecordPair(name, g, back, do)
		return []*tensor.Tensor{dx}, err
	}))
	return y, nil
}
