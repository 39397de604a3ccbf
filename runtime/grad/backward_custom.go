package grad

import (
	"fmt"

	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/spmdtype"
	"tpsh/runtime/tensor"
)

// hooks runs the hooks of n's results on their gradients.
func (p *pass) hooks(n *node, dy []*tensor.Tensor) error {
	for i := range n.out {
		for _, hook := range n.out[i].hooks {
			if dy[i] == nil {
				continue
			}
			p.tempPool.keep(dy[i])
			g, err := p.hook(hook, dy[i], n.out[i].typed)
			if err != nil {
				return err
			}
			dy[i] = g
		}
		for j := range p.sink.wanted {
			if w := &p.sink.wanted[j]; w.node == n && w.index == i && dy[i] != nil {
				p.tempPool.keep(dy[i])
				g, err := p.r.gradLike(dy[i], n.out[i].layout)
				if err != nil {
					return err
				}
				g = g.OfType(n.out[i].typed.OfGradient())
				p.sink.got[j] = g
			}
		}
	}
	return nil
}

// runHook returns what hook makes of g, which keeps its shape.
func runHook(hook tensor.Hook, g *tensor.Tensor) (*tensor.Tensor, error) {
	h, err := hook(g)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return g, nil
	}
	if !h.Shape().Equal(g.Shape()) {
		return nil, &op.ArgError{Func: "register_hook", Got: "a gradient of shape " + h.Shape().String(), Want: "shape " + g.Shape().String()}
	}
	return h, nil
}

// hook is runHook where types are as they were when the pass began: g is the gradient of a
// tensor that has m.
func (p *pass) hook(hook tensor.Hook, g *tensor.Tensor, m *spmdtype.Mark) (*tensor.Tensor, error) {
	if p.types == nil {
		return runHook(hook, g)
	}
	if h := g.OfType(m.OfGradient()); h != g {
		p.tempPool.keep(g)
		g = h
	}
	defer p.r.Untyped()()
	p.r.Types = p.types
	return runHook(hook, g)
}

// custom runs the custom operation n backwards.
func (p *pass) custom(n *node, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
	was := p.tempPool.off
	if !n.conducts {
		for _, g := range dy {
			p.tempPool.keep(g)
		}
		p.tempPool.off = true
	}
	dx, err := n.back(p.tape, dy)
	p.tempPool.off = was
	if err != nil {
		return nil, err
	}
	return dx, checkCustom(n, dx)
}

// checkCustom checks what the backward function of a custom operation gave.
func checkCustom(n *node, dx []*tensor.Tensor) error {
	if len(dx) != len(n.in) {
		got := fmt.Sprintf("%d gradients from backward", len(dx))
		if len(dx) == 1 {
			got = "1 gradient from backward"
		}
		return &op.ArgError{Func: n.name, Got: got, Want: fmt.Sprint(len(n.in)), Rule: "one for each input"}
	}
	for i, g := range dx {
		if g != nil && n.in[i].live() && g.Placed() != (n.in[i].layout != nil) {
			return &op.ArgError{Func: n.name, Got: fmt.Sprintf("a gradient from backward for input %d that is %s", i, kindOf(g.Placed())), Want: "one that is " + kindOf(!g.Placed()) + ", as the input"}
		}
		if g != nil && n.in[i].live() && !g.Shape().Equal(n.in[i].shape) {
			return &op.ArgError{Func: n.name, Got: fmt.Sprintf("a gradient of shape %v from backward for input %d", g.Shape(), i), Want: "shape " + shape.Shape(n.in[i].shape).String()}
		}
	}
	return nil
}

// kindOf says of what kind a tensor is.
func kindOf(placed bool) string {
	if placed {
		return "distributed"
	}
	return "plain"
}
