package grad

import (
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A backward pass in two halves: the gradient of an input first, and those of the weights later. The path is what
// leads from a result to the input. In the first half its nodes hand on their gradients along the path alone;
// what they owe to others, weights and what is made of weights only, is left for the second half, in which
// everything is added up in the same order as in a pass that does both: the sums have the same bits.

// A Split is a backward pass whose first half is done.
type Split struct {
	r *Recorder
	h *halves
}

// BackwardInput does the first half of Backward(y, dy, false): it leaves its gradient in x, or brings it to what x was
// made of. Split.Weights does the rest. Between them records are kept of what that needs and of nothing else. If x
// does not require grad, the first half goes as far as what is computed from inputs without gradients.
func (r *Recorder) BackwardInput(y, dy, x *tensor.Tensor) (*Split, error) {
	s := &Split{r: r}
	err := r.outermost(func() error {
		return r.walking(false, func() error { return s.first(y, dy, x) })
	})
	return s, err
}

// Weights does the second half.
func (s *Split) Weights() error {
	return s.r.outermost(func() error {
		return s.r.walking(false, s.h.second)
	})
}

// Whole returns the names of the functions whose gradients of weights the first half has computed, since they
// come with those of inputs: functions with a backward of their own.
func (s *Split) Whole() []string { return s.h.whole }

func (s *Split) first(y, dy, x *tensor.Tensor) error {
	r := s.r
	r.Refresh(y)
	r.Refresh(x)
	p := r.newPass(&sink{})
	s.h = &halves{p: p, roots: x == nil || !x.RequiresGrad()}
	end := edgeTo(x)
	s.h.target = func(e *edge) bool { return end.live() && e.place() == end.place() }
	ys := []*tensor.Tensor{y}
	nodes := reachable(ys, 0)
	p.countLeaves(ys, nodes)
	dy, err := r.seed("backward", y, dy)
	if err != nil {
		return err
	}
	e := edgeTo(y)
	p.deliver(&e, dy, true)
	if s.h.target(&e) {
		if err := p.settle(&e); err != nil {
			return err
		}
	} else if e.leaf != nil {
		s.h.rest = append(s.h.rest, &owed{in: []edge{e}})
	}
	return s.h.first(nodes)
}

// halves is a pass that is walked in two halves.
type halves struct {
	p      *pass
	target func(e *edge) bool // whether an edge leads out of the nodes to where the path ends
	roots  bool               // the path ends at nodes that compute with tensors without gradients
	path   map[*node]bool     // during the first half
	rest   []*owed            // for the second half, the latest first
	whole  []string           // see Split.Whole
}

// An owed is what the first half has left of a node: all of one that is off the path, or else the gradients that
// go along in, of which those on the path are dead.
type owed struct {
	node *node // to be replayed
	in   []edge
	mark any

	// make returns the gradients, and which of them lie where somebody else may see them; nil if none has come.
	make func() (dx []*tensor.Tensor, shared func(i int) bool, err error)
}

// leads reports whether e is on the path.
func (h *halves) leads(e *edge) bool { return e.node != nil && h.path[e.node] || h.target(e) }

// first walks the path.
func (h *halves) first(nodes []*node) error {
	latestFirst(nodes)
	h.path = map[*node]bool{}
	for i := len(nodes) - 1; i >= 0; i-- {
		if n := nodes[i]; h.roots && n.root() || h.some(n) {
			h.path[n] = true
		}
	}
	for _, n := range nodes {
		if !h.path[n] {
			h.rest = append(h.rest, &owed{node: n})
			continue
		}
		if err := h.replay(n); err != nil {
			return err
		}
	}
	h.path, h.target = nil, nil // what is left refers to no node of it, and to no gradient that has been handed on
	for leaf, a := range h.p.leaves {
		if a.due == 0 {
			delete(h.p.leaves, leaf)
		}
	}
	return nil
}

// some reports whether an edge of n is on the path.
func (h *halves) some(n *node) bool {
	for i := range n.in {
		if h.leads(&n.in[i]) {
			return true
		}
	}
	return false
}

// root reports whether n computes with a tensor, and not only a number, that has no gradient.
func (n *node) root() bool {
	if n.call == nil {
		return false
	}
	for i, x := range n.call.In {
		if x != nil && !x.Weak() && !n.in[i].live() {
			return true
		}
	}
	return false
}

// replay does the first half of n, and settles its inputs on the path.
func (h *halves) replay(n *node) error {
	p := h.p
	if n.mark != nil {
		defer p.r.Replay(n.mark)()
	}
	left := h.left(n)
	dy := p.dy[n]
	delete(p.dy, n)
	if dy != nil || n.always {
		if err := h.step(n, dy, left); err != nil {
			return err
		}
	} else if p.r.Free != nil {
		p.r.Free(n)
	}
	if left != nil {
		h.rest = append(h.rest, left)
	}
	for i := range n.in {
		if h.leads(&n.in[i]) {
			if err := p.settle(&n.in[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// left returns what n owes off the path, nil for nothing.
func (h *halves) left(n *node) *owed {
	o := &owed{in: append([]edge(nil), n.in...), mark: n.mark}
	some := false
	for i := range o.in {
		if h.leads(&o.in[i]) {
			o.in[i] = edge{}
		}
		some = some || o.in[i].live()
	}
	if !some {
		return nil
	}
	return o
}

// step hands the gradients dy of n's results on along the path, and has left make the others.
func (h *halves) step(n *node, dy []*tensor.Tensor, left *owed) error {
	p := h.p
	if dy == nil {
		dy = make([]*tensor.Tensor, len(n.out))
	}
	if err := p.hooks(n, dy); err != nil {
		return err
	}
	dx, err := h.divide(n, dy, left)
	if err != nil {
		return err
	}
	for i, g := range dx {
		if g != nil && h.leads(&n.in[i]) {
			p.deliver(&n.in[i], g, shared(n, dy, dx, i))
		}
	}
	for _, g := range dy {
		p.tempPool.replace(g, nil)
	}
	p.tempPool.clear()
	return nil
}

// divide returns the gradients of n's inputs on the path, and has left make the others, if there are any: later,
// where that can be, or now.
func (h *halves) divide(n *node, dy []*tensor.Tensor, left *owed) (dx []*tensor.Tensor, err error) {
	switch {
	case left == nil:
		dx, err = h.p.gradients(n, dy, nil)
		h.keep(n, nil)
	case !h.some(n): // the path ends here
		left.make = func() ([]*tensor.Tensor, func(i int) bool, error) {
			dx, err := h.p.gradients(n, dy, nil)
			return dx, func(i int) bool { return shared(n, dy, dx, i) }, err
		}
		h.keep(n, left, dy, n.call.In, n.call.Out, n.call.Saved)
	case n.halve != nil:
		dx, err = h.again(n, dy, left)
	case n.call != nil && n.call.Def.Apart:
		dx, err = h.apart(n, dy, left)
	default:
		dx, err = h.joint(n, dy, left)
	}
	return dx, err
}

// keep notes that n is done, and that left, if it is not nil, has lists for the second half.
func (h *halves) keep(n *node, left *owed, lists ...[]*tensor.Tensor) {
	r := h.p.r
	if r.Free != nil {
		r.Free(n)
	}
	if r.Keep != nil && left != nil {
		r.Keep(left, lists...)
	}
	for _, list := range lists {
		for _, g := range list {
			h.p.tempPool.keep(g)
		}
	}
}

// again is divide of a checkpoint: what it computes again is halved, too.
func (h *halves) again(n *node, dy []*tensor.Tensor, left *owed) ([]*tensor.Tensor, error) {
	for _, g := range dy {
		h.p.tempPool.keep(g)
	}
	rest, dx, err := n.halve(dy, h.leads)
	if err != nil {
		return nil, err
	}
	h.whole = append(h.whole, rest.whole...)
	for i := range n.in {
		if !left.in[i].live() {
			delete(rest.p.border, n.in[i].place())
		}
	}
	m := &node{in: left.in}
	left.make = func() ([]*tensor.Tensor, func(i int) bool, error) {
		if err := rest.second(); err != nil {
			return nil, nil, err
		}
		return rest.p.arrived(m), func(i int) bool { return !m.sole[i] }, nil
	}
	h.keep(n, nil)
	return dx, nil
}

// apart is divide of an operator that makes each gradient by itself.
func (h *halves) apart(n *node, dy []*tensor.Tensor, left *owed) ([]*tensor.Tensor, error) {
	onPath, others := make([]bool, len(n.in)), make([]bool, len(n.in))
	for i := range n.in {
		onPath[i], others[i] = h.leads(&n.in[i]), left.in[i].live()
	}
	m := n.other(others, onPath)
	m.in = left.in
	dx, err := h.p.gradients(n, dy, onPath)
	left.make = func() ([]*tensor.Tensor, func(i int) bool, error) {
		dx, err := h.p.gradients(m, dy, others)
		return dx, func(i int) bool { return shared(m, dy, dx, i) }, err
	}
	h.keep(n, left, dy, m.call.In, m.call.Out, m.call.Saved)
	return dx, err
}

// joint is divide of what makes all gradients at once: those off the path wait.
func (h *halves) joint(n *node, dy []*tensor.Tensor, left *owed) ([]*tensor.Tensor, error) {
	dx, err := h.p.gradients(n, dy, nil)
	if err != nil {
		return nil, err
	}
	held := make([]*tensor.Tensor, len(dx))
	for i, g := range dx {
		if left.in[i].live() {
			held[i] = g
		}
	}
	if n.back != nil {
		h.whole = append(h.whole, n.name)
	}
	left.make = func() ([]*tensor.Tensor, func(i int) bool, error) {
		return held, func(int) bool { return true }, nil
	}
	h.keep(n, left, held)
	return dx, nil
}

// other returns what is kept of n for the gradients of those inputs, when those on the path are done.
func (n *node) other(others, onPath []bool) *node {
	m := &node{seq: n.seq, name: n.name, out: n.out, mark: n.mark, again: n.again, versions: n.versions}
	now, later := only(n.call, onPath), only(n.call, others)
	for i, a := range n.again {
		if a == nil {
			continue
		}
		a.records-- // those that read it now, and later, count one each
		for _, c := range []*op.Call{now, later} {
			if c.ReadsIn(i) {
				a.records++
			}
		}
	}
	m.call = later.Recorded(0)
	return m
}

// only returns c with none but those inputs requiring grad.
func only(c *op.Call, wanted []bool) *op.Call {
	fresh := *c
	fresh.In = clone(c.In)
	for i, x := range fresh.In {
		if x != nil && !wanted[i] && x.Auto != nil {
			y := *x
			y.Auto = nil
			fresh.In[i] = &y
		}
	}
	return &fresh
}

// second does what the first half has left.
func (h *halves) second() error {
	for i, o := range h.rest {
		h.rest[i] = nil
		if err := h.pay(o); err != nil {
			return err
		}
	}
	h.rest = nil
	return nil
}

// pay does what o is.
func (h *halves) pay(o *owed) error {
	p := h.p
	if o.node != nil {
		return p.replay(o.node)
	}
	if o.mark != nil {
		defer p.r.Replay(o.mark)()
	}
	if o.make != nil {
		dx, shared, err := o.make()
		if err != nil {
			return err
		}
		for i, g := range dx {
			if g != nil && o.in[i].live() {
				p.deliver(&o.in[i], g, shared(i))
			}
		}
		p.tempPool.clear()
	}
	if p.r.Free != nil {
		p.r.Free(o)
	}
	for i := range o.in {
		if err := p.settle(&o.in[i]); err != nil {
			return err
		}
	}
	return nil
}
