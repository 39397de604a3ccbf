package runtime

import "tpsh/runtime/tensor"

// Gradients of a ParamGroup that a backward pass has not reduced are kept, whole, for the next one that does.

// withHeld adds to grads the gradients that have been kept.
func (b *ParamGroup) withHeld(grads []*tensor.Tensor) error {
	for i, h := range b.held {
		switch {
		case h == nil:
		case grads[i] == nil:
			grads[i] = h
		default:
			var err error
			if grads[i], err = b.r.Do("add", []*tensor.Tensor{h, grads[i]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep keeps grads for the next pass that reduces.
func (b *ParamGroup) keep(grads []*tensor.Tensor) error {
	mine := make([]*tensor.Tensor, len(grads))
	for i, g := range grads {
		if mine[i] = g; g == nil || b.held[i] != nil { // a sum is nobody else's
			continue
		}
		var err error
		if mine[i], err = b.r.Do("clone", []*tensor.Tensor{g}); err != nil {
			return err
		}
	}
	b.hold(mine)
	return nil
}

// hold keeps grads, nil for none, in place of those kept before. They are counted as gathered.
func (b *ParamGroup) hold(grads []*tensor.Tensor) {
	for i, old := range b.held {
		var g *tensor.Tensor
		if grads != nil {
			g = grads[i]
		}
		if g == old {
			continue
		}
		if old != nil {
			b.r.released(old.Buffer())
		}
		if g != nil {
			b.r.gathered(g.Buffer())
		}
		b.held[i] = g
	}
}
