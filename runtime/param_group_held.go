package runtime

import "tpsh/runtime/tensor"

// Gradients of a ParamGroup that a backward pass has not reduced are kept, whole, for the next one that does.

// withHeld adds to grads the gradients that have been kept.
func (p *ParamGroup) withHeld(grads []*tensor.Tensor) error {
	for i, h := range p.held {
		switch {
		case h == nil:
		case grads[i] == nil:
			grads[i] = h
		default:
			var err error
			if grads[i], err = p.r.Do("add", []*tensor.Tensor{h, grads[i]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep keeps grads for the next pass that reduces.
func (p *ParamGroup) keep(grads []*tensor.Tensor) error {
	mine := make([]*tensor.Tensor, len(grads))
	for i, g := range grads {
		if mine[i] = g; g == nil || p.held[i] != nil { // a sum is nobody else's
			continue
		}
		var err error
		if mine[i], err = p.r.Do("clone", []*tensor.Tensor{g}); err != nil {
			return err
		}
	}
	p.hold(mine)
	return nil
}

// hold keeps grads, nil for none, in place of those kept before. They are counted as gathered.
func (p *ParamGroup) hold(grads []*tensor.Tensor) {
	for i, old := range p.held {
		var g *tensor.Tensor
		if grads != nil {
			g = grads[i]
		}
		if g == old {
			continue
		}
		if old != nil {
			p.r.released(old.Buffer())
		}
		if g != nil {
			p.r.gathered(g.Buffer())
		}
		p.held[i] = g
	}
}
