package shard

import (
	"errors"
	"fmt"
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Run applies d to in, of which at least one is placed. It returns the call as
// it is to be recorded, of placed tensors that lie as the operator takes them;
// or only the results, if other operators made them.
func (e *Engine) Run(d *op.Def, in []*tensor.Tensor, args []op.Arg) (*op.Call, []*tensor.Tensor, error) {
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
	_, before := e.host.RNG()
	c, err := e.runBlocks(dec, in, args)
	if err == nil && d.InPlace && in[0] != target {
		err = e.putBack(in[0], target)
	}
	if err != nil {
		return nil, nil, err
	}
	if _, after := e.host.RNG(); after != before {
		e.NoteDraw(m)
		e.drew = true
	} else {
		e.drew = false
	}
	if e.Verify && d != cloneOp { // a rank copies a gradient if its own block needs it
		err = e.verify(c, given)
	}
	return c, c.Out, err
}

// putBack stores in target what an operator in place has made of x, to which
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
		if !e.alike(x.Layout().Mesh(), first.Layout().Mesh()) {
			c := &op.Call{Def: d}
			return nil, c.Bad(c.InName(i), fmt.Sprintf("%s on %v", op.Describe(x), x.Layout().Mesh()), "a tensor on "+first.Layout().Mesh().String(), "operands live on one mesh: .redistribute(mesh=) moves between two")
		}
	}
	return first.Layout().Mesh(), nil
}

// alike reports whether a and b hold the same ranks in the same shape: they may
// have other names.
func (e *Engine) alike(a, b *mesh.Mesh) bool {
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
	e.within = append(e.within, d.Name)
	defer func() { e.within = e.within[:len(e.within)-1] }()
	defer op.Recover(&err)
	c := &op.Call{Def: d, Ctx: e.host.Ops(), In: in, Args: args}
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
		if x.Weak() && !x.Placed() {
			if !dec.in[i].IsPartial() {
				continue
			}
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

// bringOne moves x, input i of d, to l. What is not written into, or seen by a script
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

// runBlocks runs the operator on the rank's blocks of in, which lie as dec wants
// them.
func (e *Engine) runBlocks(dec *decision, in []*tensor.Tensor, args []op.Arg) (*op.Call, error) {
	outer := e.running
	e.running = dec
	defer func() { e.running = outer }()
	d := dec.call.Def
	c := &op.Call{Def: d, Ctx: dec.call.Ctx, In: in, Args: args, Spec: dec.call.Spec}
	if c.ByValue() {
		return c, e.runWhole(dec, c)
	}
	if !e.member(dec.mesh) {
		return c, e.runOutside(dec, c)
	}
	b := e.takeCall(in)
	defer e.putCall(b)
	if b.bare {
		c.Out = e.bare(dec)
		return c, nil
	}
	if d.InPlace {
		_, err := e.onBlocks(dec, b, args, c)
		c.Out = in[:1]
		return c, e.ofWhole(dec, err)
	}
	out, err := e.onBlocks(dec, b, args, c)
	if err != nil {
		return nil, e.ofWhole(dec, err)
	}
	return c, e.joinBlocks(dec, c, out)
}

// A blockCall is a call on the rank's blocks. Nobody keeps it when it has ended, so
// that the next can have its place.
type blockCall struct {
	call   op.Call
	blocks []*tensor.Tensor
	bare   bool // a block has no elements
}

// takeCall returns a call on the rank's blocks of in.
func (e *Engine) takeCall(in []*tensor.Tensor) *blockCall {
	b := e.spare
	if b == nil {
		b = &blockCall{}
	}
	e.spare = nil
	for _, x := range in {
		var block *tensor.Tensor
		if x != nil {
			block = x.Local()
			b.bare = b.bare || block.Buffer() == nil
		}
		b.blocks = append(b.blocks, block)
	}
	return b
}

// putCall takes a call back that has ended.
func (e *Engine) putCall(b *blockCall) {
	clear(b.blocks)
	*b = blockCall{blocks: b.blocks[:0]}
	e.spare = b
}

// onBlocks runs the operator on blocks, or what it says is to be run instead.
// What it leaves for its gradient it leaves in c. The list of results may be in b.
func (e *Engine) onBlocks(dec *decision, b *blockCall, args []op.Arg, c *op.Call) (out []*tensor.Tensor, err error) {
	d := dec.call.Def
	if d.Local == nil || dec.whole {
		l := &b.call
		l.Def, l.Ctx, l.In, l.Args = d, e.host.Ops(), b.blocks, args
		if err := l.Apply(); err != nil {
			return nil, err
		}
		for _, x := range l.Saved {
			c.Saved = append(c.Saved, tensor.NewPlaced(e.Replicated(dec.mesh, x.Shape()), x))
		}
		return l.Out, nil
	}
	defer op.Recover(&err)
	whole := *dec.call
	whole.Args = args
	return e.runLocal(d, &op.Blocks{Call: &whole, T: &op.Tape{A: plain{e.host.Ops()}}, X: b.blocks, From: dec.in, To: dec.out, Rank: e.host.Self(), Part: e.part()})
}

// part returns what tells apart ranks whose blocks are worked on by other operators;
// nil where nobody runs for others.
func (e *Engine) part() func(*mesh.Mesh, func(int) string) {
	if !e.host.Alike() {
		return nil
	}
	return e.host.Part
}

// runLocal runs what d has instead of itself on blocks. Where there are no elements
// the blocks of one that wants some come out as they are known to be.
func (e *Engine) runLocal(d *op.Def, b *op.Blocks) (out []*tensor.Tensor, err error) {
	if e.host.Ops().Hollow() {
		defer func() {
			if p := recover(); p != nil {
				te, ok := p.(*op.TapeError)
				if _, unknown := p.(*op.UnknownError); !unknown && !(ok && errors.As(te.Err, new(*op.UnknownError))) {
					panic(p)
				}
				out, err = b.Empty(), nil
			}
		}()
	}
	out, err = d.Local(b)
	if errors.As(err, new(*op.UnknownError)) {
		return b.Empty(), nil
	}
	return out, err
}

// plain applies operators to plain tensors, unrecorded.
type plain struct{ ctx *op.Ctx }

func (p plain) Apply(d *op.Def, in []*tensor.Tensor, args []op.Arg) ([]*tensor.Tensor, error) {
	c, err := op.Apply(p.ctx, d, in, args)
	if err != nil {
		return nil, err
	}
	return c.Out, nil
}

// joinBlocks makes out, the rank's blocks of the results, the results of c.
func (e *Engine) joinBlocks(dec *decision, c *op.Call, out []*tensor.Tensor) error {
	if len(out) != len(dec.out) {
		panic(fmt.Sprintf("shard: %s gives %d blocks for %d results", c.Def.Name, len(out), len(dec.out)))
	}
	c.MakeOut(len(out))
	for i, block := range out {
		l := dec.out[i]
		if !block.Shape().Equal(dec.blocks[i]) {
			panic(fmt.Sprintf("shard: %s gives a block of shape %v, want %v of %v", c.Def.Name, block.Shape(), dec.blocks[i], l))
		}
		made := c.Def.View && makesTerms(dec.in[0], l)
		if made {
			clone, err := op.Apply(e.host.Ops(), cloneOp, []*tensor.Tensor{block}, nil)
			if err != nil {
				return err
			}
			block = clone.Out[0]
		}
		c.Out[i] = tensor.NewPlaced(l, block)
		if c.Def.View {
			c.Out[i].Copied = made || dec.in[0] != dec.from[0] || block.Buffer() != c.In[0].Buffer()
		}
	}
	return nil
}

// makesTerms reports whether a result placed as to is made of terms that an input
// placed as from has not: where it is cut, one rank has what a view shows, and
// the others zeros. The view is then a copy on every rank, not only on those.
func makesTerms(from, to *mesh.Placed) bool {
	for k, p := range to.Placements() {
		if _, ok := p.Partial(); ok && p != from.Placements()[k] {
			return true
		}
	}
	return false
}

// bare returns results without elements.
func (e *Engine) bare(dec *decision) []*tensor.Tensor {
	out := make([]*tensor.Tensor, len(dec.out))
	for i, l := range dec.out {
		dt := dec.call.Spec[i].DType
		out[i] = tensor.NewPlaced(l, tensor.ShapeOnly(dt, dec.blocks[i]))
	}
	return out
}

// runOutside is runBlocks on a rank outside the mesh: the results are empty
// there.
func (e *Engine) runOutside(dec *decision, c *op.Call) error {
	if c.Def.InPlace {
		c.Out = c.In[:1]
		return nil
	}
	for i, l := range dec.out {
		block, err := e.outside(dec.call.Spec[i])
		if err != nil {
			return err
		}
		c.Out = append(c.Out, tensor.NewPlaced(l, block))
	}
	return nil
}

// runWhole runs an operator whose results' shapes depend on elements: on
// replicated inputs.
func (e *Engine) runWhole(dec *decision, c *op.Call) error {
	if !e.member(dec.mesh) {
		return &op.ArgError{Func: c.Def.Name, Got: "a call on a rank outside the mesh " + dec.mesh.Short(), Want: "a rank of the mesh", Rule: "the shape of the result depends on elements"}
	}
	blocks := make([]*tensor.Tensor, len(c.In))
	for i, x := range c.In {
		if x != nil {
			blocks[i] = x.Local()
		}
	}
	l, err := op.Apply(e.host.Ops(), c.Def, blocks, c.Args)
	if err != nil {
		return err
	}
	replicated := func(list []*tensor.Tensor) []*tensor.Tensor {
		out := make([]*tensor.Tensor, len(list))
		for i, x := range list {
			out[i] = tensor.NewPlaced(e.Replicated(dec.mesh, x.Shape()), x)
			out[i].Copied = c.Def.View
		}
		return out
	}
	c.Spec, c.Saved = l.Spec, replicated(l.Saved)
	if c.Def.InPlace {
		c.Out = c.In[:1]
		return nil
	}
	c.Out = replicated(l.Out)
	return nil
}
