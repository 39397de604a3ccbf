package shard

import (
	"errors"
	"fmt"

	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// runBlocks makes the results of c of the rank's blocks of its inputs, which lie as dec wants
// them.
func (e *Engine) runBlocks(dec *decision, c *op.Call) error {
	outer := e.running
	e.running = dec
	defer func() { e.running = outer }()
	return e.runDecided(dec, c)
}

// runDecided is runBlocks while the engine runs dec.
func (e *Engine) runDecided(dec *decision, c *op.Call) error {
	c.Spec = dec.call.Spec
	if c.ByValue() {
		return e.runWhole(dec, c)
	}
	if !dec.still && !e.member(dec.mesh) {
		return e.runOutside(dec, c)
	}
	b := e.takeCall(c.In)
	err := e.runCall(dec, b, c)
	e.putCall(b)
	return err
}

// runCall makes the results of c by b, the call on its blocks.
func (e *Engine) runCall(dec *decision, b *blockCall, c *op.Call) error {
	if b.bare {
		c.Out = e.bare(dec)
		return nil
	}
	out, err := e.onBlocks(dec, b, c)
	if err != nil {
		return e.ofWhole(dec, err)
	}
	if c.Def.InPlace {
		c.Out = c.In[:1]
		return nil
	}
	return e.joinBlocks(dec, c, out)
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
	b.blocks, b.bare = b.blocks[:0], false
	b.call.Forget()
	e.spare = b
}

// onBlocks runs the operator on blocks, or the function that it names instead.
// Tensors for its gradient it leaves in c. The list of results may be in b.
func (e *Engine) onBlocks(dec *decision, b *blockCall, c *op.Call) (out []*tensor.Tensor, err error) {
	d, args := c.Def, c.Args
	if d.Local == nil || dec.whole {
		l := &b.call
		l.Def, l.Ctx, l.In, l.Args = d, e.host.Ops(), b.blocks, args
		if len(dec.out) == 1 && !d.InPlace {
			if c.IntoPlaced == nil {
				c.IntoPlaced = new(tensor.PlacedHeader)
			}
			l.Into = c.IntoPlaced.Block()
		}
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
	return e.runLocal(d, &op.Blocks{Call: &whole, T: op.Unrecorded(e.host.Ops()), X: b.blocks, From: dec.in, To: dec.out, Rank: e.host.Self(), Part: e.part()})
}

// part returns the text that tells apart ranks whose blocks are worked on by other operators;
// nil where nobody runs for others.
func (e *Engine) part() func(*mesh.Mesh, func(int) string) {
	if !e.host.Alike() {
		return nil
	}
	return e.host.Part
}

// runLocal runs the function that d has instead of itself on blocks. Where there are no elements
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
		if len(out) == 1 && c.IntoPlaced != nil {
			c.Out[i] = c.IntoPlaced.Place(l, block)
		} else {
			c.Out[i] = tensor.NewPlaced(l, block)
		}
		if c.Def.View {
			c.Out[i].Copied = made || dec.in[0] != dec.from[0] || block.Buffer() != c.In[0].Buffer()
		}
	}
	return nil
}

// makesTerms reports whether a result placed as to is made of terms that an input
// placed as from has not: where it is cut, one rank has the elements that a view shows, and
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
