package grad

import (
	"fmt"
	"slices"
	"strings"

	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Checkpoint calls run and returns its results, and forgets what run recorded:
// a backward pass that needs it calls run again, which must give the same results
// every time. given are the tensors that run computes with.
func (r *Recorder) Checkpoint(run func() ([]*tensor.Tensor, error), given ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	start, cast := r.seq, r.autocast
	out, err := run()
	if err != nil || r.off > 0 {
		return out, err
	}
	var ys []*tensor.Tensor // the results that run recorded
	fresh := make([]*tensor.Tensor, len(out))
	for i, y := range out {
		if e := edgeTo(y); e.seq() > start {
			ys = append(ys, y)
			fresh[i] = y.Detach()
			out[i] = fresh[i]
		}
	}
	if ys == nil {
		return out, nil
	}
	nodes := reachable(ys, start)
	n := newNode("checkpoint", 0, len(out))
	n.in = border(nodes, start)
	if r.Mark != nil {
		n.mark = r.Mark()
	}
	for _, inner := range nodes {
		n.always = n.always || inner.always
		if r.Free != nil {
			r.Free(inner)
		}
	}
	if r.Keep != nil {
		r.Keep(n, given)
	}
	same := func() ([]*tensor.Tensor, error) {
		defer r.setAutocast(cast)()
		return run()
	}
	n.back = func(_ *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return r.again(n, same, dy)
	}
	n.halve = func(dy []*tensor.Tensor, leads func(e *edge) bool) (*halves, []*tensor.Tensor, error) {
		return r.againInHalves(n, same, dy, leads)
	}
	r.attach(n, fresh, r.Reserve())
	return out, nil
}

// again is the gradient of the checkpoint n: it calls run once more, recorded,
// and goes through what that records.
func (r *Recorder) again(n *node, run func() ([]*tensor.Tensor, error), dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
	p, nodes, err := r.recomputed(n, run, dy)
	if err != nil {
		return nil, err
	}
	if err := p.visit(nodes); err != nil {
		return nil, err
	}
	return p.arrived(n)
}

// againInHalves is again for those of n's inputs that leads names. What it returns besides
// goes through the rest.
func (r *Recorder) againInHalves(n *node, run func() ([]*tensor.Tensor, error), dy []*tensor.Tensor, leads func(e *edge) bool) (*halves, []*tensor.Tensor, error) {
	p, nodes, err := r.recomputed(n, run, dy)
	if err != nil {
		return nil, nil, err
	}
	h := &halves{p: p, target: leads}
	if err := h.first(nodes); err != nil {
		return nil, nil, err
	}
	dx, err := p.arrived(n)
	return h, dx, err
}

// recomputed calls run, recorded, and returns what it records and a pass over that, which
// has the gradients dy of n's results and collects those of its inputs.
func (r *Recorder) recomputed(n *node, run func() ([]*tensor.Tensor, error), dy []*tensor.Tensor) (*pass, []*node, error) {
	start := r.seq
	restore, was := r.SetEnabled(true), r.recomputing
	r.recomputing = true
	out, err := run()
	restore()
	r.recomputing = was
	if err != nil {
		return nil, nil, err
	}
	p := r.newPass(&sink{})
	p.start, p.border = start, map[place]*arrival{}
	var ys []*tensor.Tensor
	for i, y := range out {
		e := edgeTo(y)
		if i >= len(dy) || dy[i] == nil && (!n.always || e.seq() <= start) { // what was given comes back
			continue
		}
		if err := n.matches(i, y); err != nil {
			return nil, nil, err
		}
		g := dy[i]
		if g == nil {
			g = p.tape.Do("zeros_like", []*tensor.Tensor{y.Detach()}, op.None)
		}
		if e.live() {
			ys = append(ys, y)
			p.deliver(&e, g, true)
		}
	}
	return p, reachable(ys, start), nil
}

// arrived returns the gradients of the inputs of the checkpoint n that have come in. It is an
// error if others have: n would lose them.
func (p *pass) arrived(n *node) ([]*tensor.Tensor, error) {
	dx := make([]*tensor.Tensor, len(n.in))
	n.sole = make([]bool, len(n.in))
	known := 0
	for i := range n.in {
		if a := p.border[n.in[i].place()]; a != nil {
			dx[i], n.sole[i] = a.grad, !a.shared
			known++
		}
	}
	if known == len(p.border) {
		return dx, nil
	}
	for i := range n.in {
		delete(p.border, n.in[i].place())
	}
	var shapes []string
	for _, a := range p.border {
		shapes = append(shapes, op.Describe(a.grad))
	}
	slices.Sort(shapes)
	return nil, &op.ArgError{Func: n.name, Got: "a function that computes with " + strings.Join(shapes, " and ") + " when it is called again, and did not before", Want: "one that does the same each time"}
}

// matches returns an error if y is not like result i of n, which it is to be
// computed again.
func (n *node) matches(i int, y *tensor.Tensor) error {
	if want := n.out[i]; want.shape != nil && !y.Shape().Equal(want.shape) {
		return &op.ArgError{Func: n.name, Got: fmt.Sprintf("result %d of shape %v when it was computed again", i, y.Shape()), Want: fmt.Sprintf("shape %v", want.shape), Rule: "the function must do the same each time"}
	}
	return nil
}

// A place is the end of an edge: result index of node, or a leaf.
type place struct {
	node  *node
	index int
	leaf  *tensor.Auto
}

// place returns the end of e.
func (e *edge) place() place {
	if e.leaf != nil {
		return place{leaf: e.leaf.Auto}
	}
	return place{node: e.node, index: e.index}
}

// seq returns the number of the node at the end of e, 0 for none.
func (e *edge) seq() uint64 {
	if e.node == nil {
		return 0
	}
	return e.node.seq
}

// border returns the edges from nodes to what is not newer than start, one to
// each place.
func border(nodes []*node, start uint64) []edge {
	var list []edge
	seen := map[place]bool{}
	for _, n := range nodes {
		for _, e := range n.in {
			if e.live() && e.seq() <= start && !seen[e.place()] {
				seen[e.place()] = true
				list = append(list, e)
			}
		}
	}
	return list
}
