package grad

import (
	"slices"

	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A composite that is Pointwise is applied to large plain tensors in one pass, and recorded as
// one node, which keeps the inputs. Its gradient is found as ever, of a record of the operators that it is made
// of, but on tensors without elements: then what was applied there is run in one pass, too. Where
// gradients are recorded themselves, the operators are applied one by one.

// fusedLeast is how many elements a tensor has at least that one pass pays for.
const fusedLeast = 1 << 16

// fusedShape returns the shape of what d makes of in, and whether that is to be made in one
// pass: of plain tensors of one shape, whose elements lie in order, and of numbers. Who is told of all that is
// applied is told of the operators.
func (r *Recorder) fusedShape(d *op.Def, in []*tensor.Tensor) (shape.Shape, bool) {
	if !d.Pointwise || r.autocast.on || r.Types != nil || r.Keep != nil || r.Ctx.Observed() {
		return nil, false
	}
	var s shape.Shape
	for _, x := range in {
		if x != nil {
			r.Refresh(x)
		}
		switch {
		case x == nil || x.Weak():
		case x.Placed() || x.Buffer() == nil || x.DType().IsComplex() || x.DType().Limited():
			return nil, false
		case x.Numel() == 1:
			if x.RequiresGrad() && r.off == 0 {
				return nil, false // its gradient is a sum
			}
		case !op.InOneRun(x) || s != nil && !s.Equal(x.Shape()):
			return nil, false
		default:
			s = x.Shape()
		}
	}
	return s, s != nil && s.Numel() >= fusedLeast
}

// fused applies d in one pass and records it. It reports false if that cannot be, having done
// nothing.
func (r *Recorder) fused(d *op.Def, in []*tensor.Tensor, args []op.Arg) ([]*tensor.Tensor, bool) {
	s, ok := r.fusedShape(d, in)
	if !ok {
		return nil, false
	}
	requires := false
	for _, x := range in {
		requires = requires || x != nil && x.RequiresGrad()
	}
	n := &fusedNode{r: r, d: d, in: in, args: args, shape: s}
	record := requires && r.off == 0
	if record && !n.connect() {
		return nil, false
	}
	out, ok := n.apply()
	if !ok {
		return nil, false
	}
	if record {
		n.record(out)
	}
	return out, true
}

// apply returns the result.
func (n *fusedNode) apply() ([]*tensor.Tensor, bool) {
	if y, ok := op.OnePass(n.r.Ctx, n.d, n.in, n.args, n.shape); ok {
		return []*tensor.Tensor{y}, true
	}
	f, ok := n.forward()
	if !ok {
		return nil, false
	}
	out, err := f.Run(n.r.Ctx, n.in)
	return out, err == nil
}

// A fusedNode is a composite that was applied in one pass.
type fusedNode struct {
	*node
	r        *Recorder
	d        *op.Def
	in       []*tensor.Tensor
	args     []op.Arg
	shape    shape.Shape
	versions []uint32 // of the inputs' buffers
}

// connect makes n's node. An input that is given twice has one edge. It reports false if one
// of the record is given as two tensors.
func (n *fusedNode) connect() bool {
	n.node = newNode(n.d.Name, len(n.in), 1)
	places := map[place]*tensor.Tensor{}
	for i, x := range n.in {
		e := edgeTo(x)
		if !e.live() {
			continue
		}
		if y := places[e.place()]; y == nil {
			places[e.place()] = x
			n.node.in[i] = e
		} else if y != x {
			return false
		}
	}
	return true
}

// record hangs n's node on out.
func (n *fusedNode) record(out []*tensor.Tensor) {
	for _, x := range n.in {
		v := uint32(0)
		if x != nil {
			v = x.Buffer().Version()
		}
		n.versions = append(n.versions, v)
	}
	in := make([]*tensor.Tensor, len(n.in))
	for i, x := range n.in {
		in[i] = asRecorded(x)
		if first := slices.Index(n.in, x); first < i {
			in[i] = in[first]
		}
	}
	n.in, n.back, n.conducts = in, n.backward, true
	n.r.attach(n.node, out, n.r.Reserve())
}

// asRecorded returns x as it is recorded now, whatever is stored in it, or in what it is a view of,
// from now on.
func asRecorded(x *tensor.Tensor) *tensor.Tensor {
	if x == nil || x.Weak() || x.RequiresGrad() && IsLeaf(x) {
		return x
	}
	y := x.Detach()
	if x.RequiresGrad() {
		y.Auto = x.Auto
	}
	return y
}

// A tracer applies operators to tensors without elements, and lists their calls.
type tracer struct {
	*Recorder
	calls []*op.Call
}

// newTracer returns a tracer that applies operators as r does; nil where there is no address
// space for it.
func (r *Recorder) newTracer() *tracer {
	if r.hollow == nil {
		a, err := tensor.NewHollow()
		if err != nil {
			return nil
		}
		r.hollow = a
	}
	t := &tracer{}
	t.Recorder = New(&op.Ctx{Alloc: r.hollow, Float: r.Ctx.Float, Ran: func(c *op.Call) { t.calls = append(t.calls, c) }})
	return t
}

// like returns a tensor without elements for x, which requires grad if x has a live edge.
func (t *tracer) like(x *tensor.Tensor, live bool) (*tensor.Tensor, error) {
	y, err := tensor.New(t.Ctx.Alloc, x.DType(), x.Shape())
	if err == nil && live {
		y.Auto = &tensor.Auto{Requires: true}
	}
	return y, err
}

// trace applies n's composite to tensors without elements, and returns these and the result.
func (n *fusedNode) trace(t *tracer) (in []*tensor.Tensor, y *tensor.Tensor, ok bool) {
	if t == nil {
		return nil, nil, false
	}
	in = make([]*tensor.Tensor, len(n.in))
	made := map[*tensor.Tensor]*tensor.Tensor{}
	for i, x := range n.in {
		if x == nil || x.Weak() {
			in[i] = x
			continue
		}
		if made[x] == nil {
			h, err := t.like(x, n.node != nil && n.node.in[i].live())
			if err != nil {
				return nil, nil, false
			}
			made[x] = h
		}
		in[i] = made[x]
	}
	out, err := op.Make(t.Recorder, t.Ctx, n.d, in, n.args)
	if err != nil || len(out) != 1 || !out[0].Shape().Equal(n.shape) {
		return nil, nil, false
	}
	return in, out[0], true
}

// forward returns what makes the result in one pass. There is nothing to make where it is an input, and
// nothing to record where it has no gradient.
func (n *fusedNode) forward() (*op.Fused, bool) {
	record, t := n.node != nil, n.r.newTracer()
	if t != nil {
		defer t.SetEnabled(record)()
	}
	in, y, ok := n.trace(t)
	if !ok || slices.Contains(in, y) || record && y.DType().Differentiable() && !y.RequiresGrad() {
		return nil, false
	}
	return op.Fuse(t.calls, hollows(in), []*tensor.Tensor{y}, n.shape)
}

// hollows returns list without the numbers, which have elements.
func hollows(list []*tensor.Tensor) []*tensor.Tensor {
	out := clone(list)
	for i, x := range out {
		if x != nil && x.Weak() {
			out[i] = nil
		}
	}
	return out
}

// gradient returns what makes the gradients of the inputs of them and of the gradient of the
// result, in one pass.
func (n *fusedNode) gradient() (*op.Fused, bool) {
	t := n.r.newTracer()
	in, y, ok := n.trace(t)
	if !ok || !y.RequiresGrad() {
		return nil, false
	}
	dy, err := t.like(y, false)
	if err != nil {
		return nil, false
	}
	s := &sink{}
	for i := range in {
		if n.node.in[i].live() {
			s.wanted = append(s.wanted, edgeTo(in[i]))
		}
	}
	s.got = make([]*tensor.Tensor, len(s.wanted))
	if err := t.run("grad", []*tensor.Tensor{y}, []*tensor.Tensor{dy}, s, false); err != nil {
		return nil, false
	}
	dx := make([]*tensor.Tensor, len(in))
	for i := range in {
		if n.node.in[i].live() {
			dx[i], s.got = s.got[0], s.got[1:]
		}
	}
	return op.Fuse(t.calls, append(hollows(in), dy), dx, n.shape)
}

// backward returns the gradients of the inputs, given that of the result.
func (n *fusedNode) backward(t *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
	f, ok := n.gradient()
	for i, x := range n.in {
		if x != nil && (!ok || f.Reads(i)) && x.Buffer().Version() != n.versions[i] {
			return nil, changedInPlace(n.name)
		}
	}
	g := dy[0]
	if !ok || n.r.Enabled() || g.Placed() || g.Buffer() == nil {
		return n.r.again(n.node, func() ([]*tensor.Tensor, error) { return op.Make(n.r, n.r.Ctx, n.d, n.in, n.args) }, dy)
	}
	if !op.InOneRun(g) {
		g = t.Do("contiguous", []*tensor.Tensor{g})
	}
	dx, err := f.Run(n.r.Ctx, append(clone(n.in), g))
	if err != nil {
		return nil, op.Rename(n.name, err)
	}
	n.sole = make([]bool, len(dx))
	for i, x := range dx {
		if x != nil && f.Own(i) {
			n.sole[i] = true
			if pool, ok := t.A.(*tempPool); ok {
				pool.note([]*tensor.Tensor{x}, nil)
			}
		}
	}
	return dx, nil
}
