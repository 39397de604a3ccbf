package grad

import (
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// shared reports whether gradient i of n may share its storage with another
// tensor that somebody can see.
func shared(n *node, dy, dx []*tensor.Tensor, i int) bool {
	g := dx[i]
	if !g.Local().Contiguous() || n.back != nil && (n.sole == nil || !n.sole[i]) {
		return true
	}
	same := func(list []*tensor.Tensor, skip int) bool {
		for j, x := range list {
			if j != skip && x != nil && x.Buffer() == g.Buffer() {
				return true
			}
		}
		return false
	}
	if same(dy, -1) || same(dx, i) {
		return true
	}
	return n.call != nil && (same(n.call.In, -1) || same(n.call.Out, -1) || same(n.call.Saved, -1))
}

// deliver adds g to what has arrived at the end of e. shared says that the
// storage of g may be seen elsewhere.
func (p *pass) deliver(e *edge, g *tensor.Tensor, shared bool) {
	g = p.tape.Cast(g, e.dt)
	if p.border != nil && e.seq() <= p.start {
		a := p.border[e.place()]
		if a == nil {
			a = &arrival{}
			p.border[e.place()] = a
		}
		a.shared = a.grad == nil && shared
		a.grad = p.sum(a.grad, g)
		p.tempPool.keep(a.grad)
		return
	}
	if e.node == nil {
		a := p.leaves[e.leaf.Auto]
		a.shared = a.grad == nil && shared
		sum := p.leafSum(a.grad, g)
		p.tempPool.replace(a.grad, sum)
		a.grad = sum
		return
	}
	dy := p.dy[e.node]
	if dy == nil {
		dy = make([]*tensor.Tensor, len(e.node.out))
		p.dy[e.node] = dy
	}
	sum := p.sum(dy[e.index], g)
	p.tempPool.replace(dy[e.index], sum)
	dy[e.index] = sum
}

func (p *pass) sum(acc, g *tensor.Tensor) *tensor.Tensor {
	if acc == nil {
		return g
	}
	return p.tape.Add(acc, g)
}

// leafSum is sum for the gradient of a leaf. One of two shapes, a part and the
// whole, has no gradient when both were computed with.
func (p *pass) leafSum(acc, g *tensor.Tensor) *tensor.Tensor {
	if acc != nil && !acc.Shape().Equal(g.Shape()) {
		panic(&op.TapeError{Err: &op.ArgError{Func: "backward", Got: "a gradient of shape " + g.Shape().String() + " for a leaf that has one of shape " + acc.Shape().String(), Want: "gradients of one shape", Rule: "set .grad to None between"}})
	}
	return p.sum(acc, g)
}

// settle notes that nothing more comes along e; when nothing more comes at
// all, the leaf at its end takes its gradient.
func (p *pass) settle(e *edge) error {
	if e.leaf == nil || p.border != nil {
		return nil
	}
	a := p.leaves[e.leaf.Auto]
	if a.due--; a.due > 0 || a.grad == nil {
		return nil
	}
	g, err := p.r.gradLike(a.grad, e.leaf.Layout())
	if err != nil {
		return err
	}
	if p.tempPool.replace(a.grad, nil); len(e.leaf.Auto.Hooks) > 0 || p.sink.got != nil {
		p.tempPool.keep(a.grad)
	}
	if g != a.grad {
		a.shared, a.grad = g.Buffer() == a.grad.Buffer(), g
	}
	for _, hook := range e.leaf.Auto.Hooks {
		g, err := p.hook(hook, a.grad, e.leaf.Typed())
		if err != nil {
			return err
		}
		a.shared = true
		a.grad = g
	}
	return p.accumulate(e.leaf, a)
}

// accumulate adds a to the gradient of x, or to the result that Grad was
// asked for.
func (p *pass) accumulate(x *tensor.Tensor, a *arrival) error {
	if p.sink.got != nil {
		for j := range p.sink.wanted {
			if w := p.sink.wanted[j].leaf; w != nil && w.Auto == x.Auto {
				p.sink.got[j] = p.sum(p.sink.got[j], a.grad)
				p.tempPool.keep(p.sink.got[j])
				p.sink.got[j] = p.sink.got[j].OfType(x.Typed().OfGradient())
			}
		}
		return nil
	}
	if x.Buffer() != nil && x.Buffer().Frozen() {
		return &op.ArgError{Func: "backward", Got: "a frozen leaf " + op.Describe(x), Want: "one that can collect a gradient", Rule: "it belongs to a loaded file: build it in a function"}
	}
	if x.Auto.Grad == nil && a.shared {
		a.grad = p.tape.Do("clone", []*tensor.Tensor{a.grad})
	}
	sum := p.leafSum(x.Auto.Grad, a.grad)
	p.tempPool.keep(sum)
	if m := x.Typed(); m != nil && sum.Typed() == nil {
		sum.SetTyped(m.OfGradient())
	}
	before := x.Auto.Grad
	x.Auto.Forget() // the sum lies elsewhere
	if p.r.Grown != nil && !x.Auto.Passing {
		p.r.Grown(sum, before)
	}
	x.Auto.Grad, x.Auto.Sole = sum, !p.r.Enabled()
	for _, fn := range x.Auto.Accumulated {
		if err := fn(); err != nil {
			return err
		}
	}
	return nil
}
