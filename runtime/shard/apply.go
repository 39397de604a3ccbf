package shard

import (
	"fmt"
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Run makes the results of c, of whose inputs at least one is placed. It returns the
// call as it is to be recorded, c or another, of placed tensors that lie as the operator
// takes them; or only the results, if other operators made them.
func (e *Engine) Run(c *op.Call) (*op.Call, []*tensor.Tensor, error) {
	if dec := e.stillDecision(c.Def, c.In, c.Args); dec != nil {
		e.observe(dec, c.In)
		if err := e.runDrawing(dec, c); err != nil {
			return nil, nil, err
		}
		return c, c.Out, nil
	}
	return e.runAny(c)
}

// stillDecision returns the decision for d on in, if there is one already and it has the blocks
// taken as they are (see isStill), and notes the numbers among in; otherwise nil. Such a call needs
// nothing of what runAny does to inputs: they are not checked, placed, reduced or moved.
func (e *Engine) stillDecision(d *op.Def, in []*tensor.Tensor, args []op.Arg) *decision {
	dec := *e.decisions.slot(d, in)
	if dec == nil || !dec.still || e.Verify || !dec.fits(e.host.Ops(), d, in, args) || d.InPlace && !in[0].Placed() {
		return nil
	}
	numbers := false
	for _, x := range in {
		if x == nil {
			continue
		}
		if x.Used() {
			return nil
		}
		numbers = numbers || !x.Placed()
	}
	if numbers {
		e.noteNumbers(d, dec.mesh, in)
	}
	return dec
}

// noteNumbers notes those of in that are not placed, operands of d on m.
func (e *Engine) noteNumbers(d *op.Def, m *mesh.Mesh, in []*tensor.Tensor) {
	for _, x := range in {
		if x != nil && !x.Placed() {
			e.noteOperand(d, m, x)
		}
	}
}

// runAny is Run of any call.
func (e *Engine) runAny(c *op.Call) (*op.Call, []*tensor.Tensor, error) {
	d, in, args := c.Def, c.In, c.Args
	m, err := e.meshOf(d, in)
	if err != nil {
		return nil, nil, err
	}
	if err := checkTarget(d, in); err != nil {
		return nil, nil, err
	}
	if view, base := regionOf(d, args); base != nil {
		c, err := e.region(d, in, args, d.Blockwise(view, base))
		return c, outOf(c), err
	}
	if in, err = e.allPlaced(d, m, in); err != nil {
		return nil, nil, err
	}
	if in, err = e.unspoilt(d, in); err != nil {
		return nil, nil, err
	}
	given, target := in, in[0]
	if in, err = e.reduced(d, in); err != nil {
		return nil, nil, err
	}
	dec, err := e.decide(d, m, in, args)
	if err != nil {
		return nil, nil, err
	}
	if dec.exchanges() {
		e.observe(dec, in)
		c, err := e.exchange(dec, in[0], args)
		if err == nil && e.Verify {
			err = e.verify(c, in)
		}
		return c, outOf(c), err
	}
	if dec.compose {
		out, err := e.compose(d, in, args)
		for _, y := range out {
			y.Copied = y.Copied || d.View
		}
		if out != nil || err != nil {
			return nil, out, err
		}
	}
	e.observe(dec, in)
	if in, err = e.bring(dec, in); err != nil {
		return nil, nil, err
	}
	if again, err := e.unspoilt(d, in); err != nil || !d.InPlace && !slices.Equal(again, in) {
		if err != nil {
			return nil, nil, err
		}
		c.In = again
		return e.Run(c) // of two sums one is reduced now, and has an element that spoils the other's summands
	}
	c.In = in
	err = e.runDrawing(dec, c)
	if err == nil && d.InPlace && in[0] != target {
		err = e.putBack(in[0], target)
	}
	if err != nil {
		return nil, nil, err
	}
	if e.Verify && d != cloneOp { // a rank copies a gradient if its own block needs it
		err = e.verify(c, given)
	}
	return c, c.Out, err
}

// runDrawing is runBlocks, and notes whether random numbers were drawn.
func (e *Engine) runDrawing(dec *decision, c *op.Call) error {
	_, before := e.host.RNG()
	if err := e.runBlocks(dec, c); err != nil {
		return err
	}
	_, after := e.host.RNG()
	if e.drew = after != before; e.drew {
		e.NoteDraw(dec.mesh)
	}
	return nil
}

// putBack stores in target the result that an operator in place has made of x, to which
// target was moved. Both keep their placements.
func (e *Engine) putBack(x, target *tensor.Tensor) error {
	block, err := e.moveBlock(x, target.Layout())
	if err != nil || !e.member(target.Layout().Mesh()) || block.Buffer() == nil {
		return err
	}
	_, err = op.Apply(e.host.Ops(), copyOp, []*tensor.Tensor{target.Local(), block}, nil)
	return err
}

func outOf(c *op.Call) []*tensor.Tensor {
	if c == nil {
		return nil
	}
	return c.Out
}

// Check returns an error unless the in-place operator d can keep the
// placements of in[0].
func (e *Engine) Check(d *op.Def, in []*tensor.Tensor, args []op.Arg) error {
	m, err := e.meshOf(d, in)
	if err != nil {
		return err
	}
	if err := checkTarget(d, in); err != nil {
		return err
	}
	if in, err = e.allPlaced(d, m, in); err == nil {
		_, err = e.decide(d, m, in, args)
	}
	return err
}

// checkTarget returns an error if d is in place and its target is plain, though
// another of in is placed.
func checkTarget(d *op.Def, in []*tensor.Tensor) error {
	if !d.InPlace || in[0].Placed() {
		return nil
	}
	return &op.ArgError{Func: d.Name, Param: d.Params[0].Name, Got: "a plain tensor " + op.Describe(in[0]), Want: "a distributed tensor",
		Rule: "an argument is one: " + describeFirst(in)}
}

// describeFirst describes the first of in that is placed.
func describeFirst(in []*tensor.Tensor) string {
	for _, x := range in {
		if x != nil && x.Placed() {
			return Describe(x)
		}
	}
	return ""
}

// meshOf returns the mesh of the inputs that are placed, which must be one.
func (e *Engine) meshOf(d *op.Def, in []*tensor.Tensor) (*mesh.Mesh, error) {
	var first *tensor.Tensor
	for i, x := range in {
		if x == nil || !x.Placed() {
			continue
		}
		if first == nil {
			first = x
			continue
		}
		if !e.congruent(x.Layout().Mesh(), first.Layout().Mesh()) {
			c := &op.Call{Def: d}
			return nil, c.Bad(c.InName(i), fmt.Sprintf("%s on %v", op.Describe(x), x.Layout().Mesh()), "a tensor on "+first.Layout().Mesh().String(), "operands live on one mesh: .redistribute(mesh=) moves between two")
		}
	}
	return first.Layout().Mesh(), nil
}

// congruent reports whether a and b hold the same ranks in the same shape: they may
// have other names.
func (e *Engine) congruent(a, b *mesh.Mesh) bool {
	return a == b || slices.Equal(a.Shape(), b.Shape()) && e.host.EqualRanks(a, b)
}

// allPlaced returns in on the one mesh m, with plain tensors as replicated ones.
// Numbers stay.
func (e *Engine) allPlaced(d *op.Def, m *mesh.Mesh, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	out := in
	for i, x := range in {
		if x == nil || x.Placed() && x.Layout().Mesh() == m {
			continue
		}
		if !x.Placed() {
			e.noteOperand(d, m, x)
		}
		if x.Weak() {
			continue
		}
		if &out[0] == &in[0] {
			out = append([]*tensor.Tensor(nil), in...)
		}
		p, err := e.onto(m, x)
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}

// onto returns x as a tensor on m: a plain one as a tensor that every rank holds,
// whose gradient is the full one on every rank; one on a mesh like m as it lies.
func (e *Engine) onto(m *mesh.Mesh, x *tensor.Tensor) (*tensor.Tensor, error) {
	if x.Placed() {
		l, err := e.place(m, x.Shape(), x.Layout().Placements())
		if err != nil {
			return nil, err
		}
		return e.move(x, l)
	}
	return e.FromLocal(x, e.Replicated(m, x.Shape()))
}

// compose has d make its results of other operators; nil if it does not.
func (e *Engine) compose(d *op.Def, in []*tensor.Tensor, args []op.Arg) (out []*tensor.Tensor, err error) {
	c := &op.Call{Def: d, Ctx: e.host.Ops(), In: in, Args: args}
	e.within = append(e.within, c)
	defer func() { e.within = e.within[:len(e.within)-1] }()
	defer op.Recover(&err)
	stand := standIn(c)
	if err := d.Infer(stand); err != nil {
		return nil, err
	}
	c.Spec = stand.Spec
	return d.Compose(&op.Tape{A: e.tape}, c), nil
}

// standIn returns a copy of c with inputs that have no elements of
// a placed tensor to look at.
func standIn(c *op.Call) *op.Call {
	s := *c
	s.In = make([]*tensor.Tensor, len(c.In))
	for i, x := range c.In {
		switch {
		case x == nil:
		case x.Placed():
			s.In[i] = tensor.ShapeOnly(x.DType(), x.Shape())
		default:
			s.In[i] = x
		}
	}
	return &s
}

// bring moves in to where dec wants it.
func (e *Engine) bring(dec *decision, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	out := in
	for i, x := range in {
		if x == nil || x.Placed() && x.Layout().Equal(dec.in[i]) {
			continue
		}
		if x.Weak() && !x.Placed() && !dec.in[i].IsPartial() {
			continue
		}
		if &out[0] == &in[0] {
			out = append([]*tensor.Tensor(nil), in...)
		}
		if !x.Placed() {
			out[i] = e.summand(x, dec.in[i])
			continue
		}
		if err := e.mayMove(dec, i); err != nil {
			return nil, err
		}
		outer := e.bringing
		e.bringing = dec
		y, err := e.bringOne(dec.call.Def, i, x, dec.in[i])
		e.bringing = outer
		if err != nil {
			return nil, err
		}
		out[i] = y
	}
	return out, nil
}

// bringOne moves x, input i of d, to l. A result that is not written into, or seen by a script
// through a view, may be remembered.
func (e *Engine) bringOne(d *op.Def, i int, x *tensor.Tensor, l *mesh.Placed) (*tensor.Tensor, error) {
	if d.Changes(i) || d.View && d != settleOp {
		return e.move(x, l)
	}
	return e.settle(x, l, false)
}

// summand returns the rank's term of the number x, placed as layout.
func (e *Engine) summand(x *tensor.Tensor, layout *mesh.Placed) *tensor.Tensor {
	v, changed := e.term(layout.Mesh(), layout.Placements(), allDims(layout.Mesh()))
	switch {
	case !changed:
		return x
	case x.DType() == dtype.Int64:
		return tensor.Number(int64(v))
	case x.DType() == dtype.Bool:
		return tensor.Number(v != 0)
	}
	return tensor.Number(v)
}

// allDims returns the dims of m.
func allDims(m *mesh.Mesh) []int {
	dims := make([]int, m.NDim())
	for i := range dims {
		dims[i] = i
	}
	return dims
}
