package grad

import (
	"fmt"
	"slices"
	"sort"

	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A sink collects the gradients of one backward pass.
type sink struct {
	// wanted are the places whose gradients Grad was asked for; nil for
	// Backward, which accumulates in the leaves.
	wanted []edge
	got    []*tensor.Tensor
}

// Backward computes the gradients of y in the direction dy and accumulates
// them in the leaves that require grad. A nil dy stands for 1, and y then has
// one element. With record, the gradients can themselves be differentiated.
//
// Nodes are visited in reverse order of their creation.
func (r *Recorder) Backward(y, dy *tensor.Tensor, record bool) error {
	return r.outermost(func() error {
		return r.run("backward", []*tensor.Tensor{y}, []*tensor.Tensor{dy}, &sink{}, record)
	})
}

// outermost calls walk, a backward pass, and then what waits for the end of the outermost one.
func (r *Recorder) outermost(walk func() error) error {
	r.passes++
	err := walk()
	if r.passes--; r.passes > 0 {
		return err
	}
	after := r.after
	r.after, r.ending = nil, true
	defer func() { r.ending = false }()
	for _, fn := range after {
		if err == nil {
			err = r.unrecorded(fn)
		}
	}
	return err
}

// unrecorded calls fn with recording off.
func (r *Recorder) unrecorded(fn func() error) error {
	defer r.SetEnabled(false)()
	return fn()
}

// Grad returns the gradients of the sum of outputs with respect to inputs,
// nil for an input that no output depends on. Leaves accumulate nothing.
func (r *Recorder) Grad(outputs, inputs []*tensor.Tensor, record bool) ([]*tensor.Tensor, error) {
	return r.GradGiven(outputs, make([]*tensor.Tensor, len(outputs)), inputs, record)
}

// GradGiven is Grad, given the gradients dys of outputs, of their shapes: nil stands for 1, and the
// output then has one element. What it returns shares no storage with dys.
func (r *Recorder) GradGiven(outputs, dys, inputs []*tensor.Tensor, record bool) ([]*tensor.Tensor, error) {
	s := &sink{got: make([]*tensor.Tensor, len(inputs))}
	for i, x := range inputs {
		r.Refresh(x)
		e := edgeTo(x)
		if !e.live() {
			return nil, &op.ArgError{Func: "grad", Param: "inputs", Got: fmt.Sprintf("%s at index %d, which does not require grad", op.Describe(x), i), Want: "tensors that require grad"}
		}
		if e.node != nil {
			e.node.out[e.index].typed = x.Typed()
		}
		s.wanted = append(s.wanted, e)
	}
	if err := r.run("grad", outputs, dys, s, record); err != nil {
		return nil, err
	}
	return s.got, r.apart(s.got, dys, record)
}

// apart copies those of grads whose storage is that of one of given.
func (r *Recorder) apart(grads, given []*tensor.Tensor, record bool) (err error) {
	defer r.SetEnabled(record)()
	defer op.Recover(&err)
	for i, g := range grads {
		if g != nil && slices.ContainsFunc(given, func(dy *tensor.Tensor) bool { return dy != nil && dy.Buffer() == g.Buffer() }) {
			grads[i] = (&op.Tape{A: r}).Do("clone", []*tensor.Tensor{g})
		}
	}
	return nil
}

// walking calls walk, which goes through the record, as a backward pass.
func (r *Recorder) walking(record bool, walk func() error) (err error) {
	restore, uncast, typed := r.SetEnabled(record), r.setAutocast(autocast{}), r.Untyped()
	ended := func() {}
	if r.Placed != nil {
		ended = r.Placed.Backward()
	}
	defer op.Recover(&err)
	defer func() {
		restore()
		uncast()
		typed()
		ended()
	}()
	return walk()
}

// run is the backward pass.
func (r *Recorder) run(fn string, ys, dys []*tensor.Tensor, s *sink, record bool) (err error) {
	types := r.Types
	if types != nil {
		for i, y := range ys {
			if err := types.Seed(y, dys[i]); err != nil {
				return op.Rename(fn, err)
			}
		}
	}
	return r.walking(record, func() error {
		for _, y := range ys {
			r.Refresh(y)
		}
		p := r.newPass(s)
		p.types = types
		nodes := reachable(ys, 0)
		p.countLeaves(ys, nodes)
		for i, y := range ys {
			dy, err := r.seed(fn, y, dys[i])
			if err != nil {
				return err
			}
			e := edgeTo(y)
			p.deliver(&e, dy, true)
			if err := p.settle(&e); err != nil {
				return err
			}
		}
		return p.visit(nodes)
	})
}

// seed checks y and its gradient dy, or makes one of dy.
func (r *Recorder) seed(fn string, y, dy *tensor.Tensor) (*tensor.Tensor, error) {
	if !y.RequiresGrad() {
		return nil, &op.ArgError{Func: fn, Got: op.Describe(y) + " that does not require grad", Want: "a result of tensors that do"}
	}
	if dy == nil {
		if y.DType().IsComplex() {
			return nil, &op.ArgError{Func: fn, Param: "grad", Got: "None", Want: "a gradient of " + op.Describe(y), Rule: "only a real tensor has an implicit gradient"}
		}
		if y.Numel() != 1 {
			return nil, &op.ArgError{Func: fn, Param: "grad", Got: "None", Want: "a gradient of shape " + y.Shape().String(), Rule: "only a tensor of one element has an implicit gradient"}
		}
		_, out, err := r.invoke(op.Lookup("ones_like"), []*tensor.Tensor{y.Detach()}, []op.Arg{op.None})
		if err != nil {
			return nil, err
		}
		return out[0], nil
	}
	if !dy.Shape().Equal(y.Shape()) {
		return nil, &op.ArgError{Func: fn, Param: "grad", Got: "shape " + dy.Shape().String(), Want: "shape " + y.Shape().String()}
	}
	return (&op.Tape{A: r}).Cast(dy, y.DType()), nil
}

// A pass is one walk over the record.
type pass struct {
	r        *Recorder
	tape     *op.Tape // on tempPool
	tempPool tempPool
	sink     *sink
	dy       map[*node][]*tensor.Tensor
	leaves   map[*tensor.Auto]*arrival

	// border, if not nil, collects the gradients that arrive at leaves and at
	// nodes numbered start or less, to which the walk then does not go.
	border map[place]*arrival
	start  uint64

	types Typer // as they were when the pass began
}

func (r *Recorder) newPass(s *sink) *pass {
	p := &pass{r: r, tempPool: tempPool{r: r}, sink: s, dy: map[*node][]*tensor.Tensor{}, leaves: map[*tensor.Auto]*arrival{}}
	p.tape = &op.Tape{A: &p.tempPool}
	return p
}

// An arrival is the gradient of a leaf while its parts come in.
type arrival struct {
	due    int // how many places it may still come from
	grad   *tensor.Tensor
	shared bool // the storage of grad may be seen elsewhere
}

// countLeaves counts the places from which each leaf may get gradients.
func (p *pass) countLeaves(ys []*tensor.Tensor, nodes []*node) {
	count := func(e *edge) {
		if e.leaf == nil {
			return
		}
		a := p.leaves[e.leaf.Auto]
		if a == nil {
			a = &arrival{}
			p.leaves[e.leaf.Auto] = a
		}
		a.due++
	}
	for _, y := range ys {
		e := edgeTo(y)
		count(&e)
	}
	for _, n := range nodes {
		for i := range n.in {
			count(&n.in[i])
		}
	}
}

// visit runs nodes, the last made first.
func (p *pass) visit(nodes []*node) error {
	latestFirst(nodes)
	for _, n := range nodes {
		if err := p.replay(n); err != nil {
			return err
		}
	}
	return nil
}

func latestFirst(nodes []*node) {
	sort.Slice(nodes, func(i, j int) bool { return nodes[i].seq > nodes[j].seq })
}

// replay runs n and settles its inputs, where n was recorded.
func (p *pass) replay(n *node) error {
	if n.mark != nil {
		defer p.r.Replay(n.mark)()
	}
	if err := p.step(n); err != nil {
		return err
	}
	if p.r.Free != nil {
		p.r.Free(n)
	}
	for i := range n.in {
		if err := p.settle(&n.in[i]); err != nil {
			return err
		}
	}
	return nil
}

// step runs n, if a gradient has reached it or it runs always.
func (p *pass) step(n *node) error {
	dy := p.dy[n]
	delete(p.dy, n)
	if dy == nil && !n.always {
		return nil
	}
	if dy == nil {
		dy = make([]*tensor.Tensor, len(n.out))
	}
	if err := p.hooks(n, dy); err != nil {
		return err
	}
	dx, err := p.gradients(n, dy, nil)
	if err != nil {
		return err
	}
	for i, g := range dx {
		if g != nil && n.in[i].live() {
			p.deliver(&n.in[i], g, shared(n, dy, dx, i))
		}
	}
	for _, g := range dy {
		p.tempPool.replace(g, nil)
	}
	p.tempPool.clear()
	return nil
}

// reachable returns the nodes numbered after start that ys depend on.
func reachable(ys []*tensor.Tensor, start uint64) []*node {
	var nodes []*node
	seen := map[*node]bool{}
	var stack []*node
	push := func(n *node) {
		if n != nil && n.seq > start && !seen[n] {
			seen[n] = true
			stack = append(stack, n)
		}
	}
	for _, y := range ys {
		push(edgeToNode(y))
	}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		nodes = append(nodes, n)
		for i := range n.in {
			push(n.in[i].node)
		}
	}
	return nodes
}

func edgeToNode(y *tensor.Tensor) *node {
	e := edgeTo(y)
	return e.node
}

// gradients runs n backwards. If wanted is not nil the gradients of the inputs that it names are enough, and n is
// of an operator whose gradients are Apart.
func (p *pass) gradients(n *node, dy []*tensor.Tensor, wanted []bool) ([]*tensor.Tensor, error) {
	if n.back != nil {
		return p.custom(n, dy)
	}
	if err := n.heldChanged(); err != nil {
		return nil, err
	}
	for i, g := range dy {
		if g != nil && g.Placed() && g.Layout().IsPartial() {
			// Reduced once here, and not by every operator of the gradient.
			var err error
			if dy[i], err = p.r.gradLike(g, n.out[i].layout); err != nil {
				return nil, err
			}
			p.tempPool.replace(g, dy[i])
		}
	}
	c, stale := n.withoutStale()
	if wanted != nil {
		c = only(c, wanted)
	}
	if n.again != nil {
		var err error
		if c, err = p.remade(n, c, wanted != nil); err != nil {
			return nil, err
		}
	}
	dx := c.Def.Grad(p.tape, c, dy)
	if len(dx) != len(n.in) {
		panic(fmt.Sprintf("grad: %s has %d inputs and %d gradients", n.name, len(n.in), len(dx)))
	}
	for i, g := range dx {
		if wanted != nil && !wanted[i] {
			dx[i] = nil
			continue
		}
		if g == nil || !n.in[i].live() {
			continue
		}
		if stale && g.Buffer() == nil {
			return nil, changedInPlace(n.name)
		}
		if c.Def.Reads != op.ReadsAll && g.Buffer() == nil {
			panic(fmt.Sprintf("grad: the gradient of %s reads elements that its Reads does not name", n.name))
		}
		if !g.Shape().Equal(n.in[i].shape) {
			panic(fmt.Sprintf("grad: %s gives a gradient of shape %v for an input of shape %v", n.name, g.Shape(), n.in[i].shape))
		}
	}
	return dx, nil
}

// changedInPlace is the error of a gradient of name whose inputs are not what they were.
func changedInPlace(name string) error {
	return &op.ArgError{Func: "backward", Got: "a tensor needed for the gradient of " + name + " that was changed in place", Want: "it as it was", Rule: "clone it before the change"}
}

// gradLike returns the gradient g of a tensor placed as l where it is to lie.
func (r *Recorder) gradLike(g *tensor.Tensor, l *mesh.Placed) (*tensor.Tensor, error) {
	if l == nil || !g.Placed() {
		return g, nil
	}
	if l = r.Placed.GradLayout(l); g.Layout().Equal(l) {
		return g, nil
	}
	return r.Placed.Move(g, l)
}
