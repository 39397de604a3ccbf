package grad

import (
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// This file splits a backward pass in two, as zero-bubble pipelines need: the gradient of the input first, and
// the gradients of the weights later. The path is the nodes of the graph between the result and the input. The
// first half computes gradients along the path alone. Gradients of weights, and of what is computed from weights
// only, are deferred to the second half, which adds them up in the order of an unsplit pass: the sums have the same
// bits.

// A Split is a backward pass of which the first half is done.
type Split struct {
	r *Recorder
	h *halves
}

// BackwardInput does the first half of Backward(y, dy, false): it computes the gradient of x, and accumulates it in
// x if that is a leaf. Split.Weights does the second half; until then only the tensors that it reads are kept.
// If x does not require grad, the path ends at the nodes that read tensors without gradients.
func (r *Recorder) BackwardInput(y, dy, x *tensor.Tensor) (*Split, error) {
	s := &Split{r: r}
	err := r.outermost(func() error {
		return r.walking(false, func() error { return s.first(y, dy, x) })
	})
	return s, err
}

// Weights does the second half: the gradients of the weights.
func (s *Split) Weights() error {
	return s.r.outermost(func() error {
		return s.r.walking(false, s.h.second)
	})
}

// Whole returns the names of the functions that could not be split: those with a backward function of their
// own, which computes the gradients of weights together with those of inputs.
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
		s.h.rest = append(s.h.rest, &deferred{in: []edge{e}})
	}
	return s.h.first(nodes)
}

// halves is a backward pass that is done in two halves.
type halves struct {
	p      *pass
	target func(e *edge) bool // whether an edge leads to the input, where the path ends
	roots  bool               // there is no such input: the path ends at nodes that read tensors without gradients
	path   map[*node]bool     // the nodes of the path, during the first half
	rest   []*deferred        // what the second half does, the latest first
	whole  []string           // see Split.Whole
}

// A deferred is what the first half puts off of a node: all of a node off the path, and of one on the path the
// gradients of its inputs off the path.
type deferred struct {
	node *node  // off the path; else nil
	in   []edge // of a node on the path; edges along the path are dead
	mark any

	// make returns the gradients, and which of them share storage with other tensors. It is nil if no gradient
	// has reached the node.
	make func() (dx []*tensor.Tensor, shared func(i int) bool, err error)
}

// leads reports whether e leads along the path.
func (h *halves) leads(e *edge) bool { return e.node != nil && h.path[e.node] || h.target(e) }

// first does the first half: it goes along the path.
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
			h.rest = append(h.rest, &deferred{node: n})
			continue
		}
		if err := h.replay(n); err != nil {
			return err
		}
	}
	h.path, h.target = nil, nil // so that the nodes of the path, and their gradients, are freed
	for leaf, a := range h.p.leaves {
		if a.due == 0 {
			delete(h.p.leaves, leaf)
		}
	}
	return nil
}

// some reports whether an edge of n leads along the path.
func (h *halves) some(n *node) bool {
	for i := range n.in {
		if h.leads(&n.in[i]) {
			return true
		}
	}
	return false
}

// root reports whether n reads a tensor, not only a number, that has no gradient.
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
	left := h.deferredOf(n)
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

// deferredOf returns what is put off of n, a node on the path; nil for nothing.
func (h *halves) deferredOf(n *node) *deferred {
	o := &deferred{in: append([]edge(nil), n.in...), mark: n.mark}
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

// step computes, from the gradients dy of n's results, those of its inputs on the path; left is set to make the others.
func (h *halves) step(n *node, dy []*tensor.Tensor, left *deferred) error {
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

// divide returns the gradients of n's inputs on the path, and sets left.make to return the others. These are
// computed by left.make where the operator allows it, and else right away.
func (h *halves) divide(n *node, dy []*tensor.Tensor, left *deferred) (dx []*tensor.Tensor, err error) {
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

// keep notes that n is done, and that left, if it is not nil, keeps the tensors of lists for the second half.
func (h *halves) keep(n *node, left *deferred, lists ...[]*tensor.Tensor) {
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

// again is divide of a checkpoint: the recomputed graph is split, too.
func (h *halves) again(n *node, dy []*tensor.Tensor, left *deferred) ([]*tensor.Tensor, error) {
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
	m := &node{name: n.name, in: left.in}
	left.make = func() ([]*tensor.Tensor, func(i int) bool, error) {
		if err := rest.second(); err != nil {
			return nil, nil, err
		}
		dx, err := rest.p.arrived(m)
		return dx, func(i int) bool { return !m.sole[i] }, err
	}
	h.keep(n, nil)
	return dx, nil
}

// apart is divide of an operator that can compute each gradient by itself.
func (h *halves) apart(n *node, dy []*tensor.Tensor, left *deferred) ([]*tensor.Tensor, error) {
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

// joint is divide of an operator that computes all gradients at once: those off the path are kept for later.
func (h *halves) joint(n *node, dy []*tensor.Tensor, left *deferred) ([]*tensor.Tensor, error) {
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

// other returns a node for the gradients of n's inputs marked in others, when those marked in onPath are done. It
// keeps only the tensors that these gradients read.
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

// only returns c with no inputs requiring grad but those that are wanted.
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

// second does the second half.
func (h *halves) second() error {
	for i, o := range h.rest {
		h.rest[i] = nil
		if err := h.run(o); err != nil {
			return err
		}
	}
	h.rest = nil
	return nil
}

// run does what the first half has put off of a node.
func (h *halves) run(o *deferred) error {
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
