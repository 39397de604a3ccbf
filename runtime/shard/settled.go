package shard

import (
	"weak"

	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A tensor whose terms ranks have reduced remembers the result until somebody writes
// into it, and so is reduced once however many operators want it. A result that is remembered
// must be so on all ranks, or some would wait for others: it does not depend on the
// collector or on memory, but on the calls of the mesh alone. At most maxSettled
// tensors of a mesh remember, the latest; and each no longer than it lives.
//
// An operator that would leave linear terms of such a tensor takes what it was reduced to
// instead (Engine.reduced): its result would have to be reduced again.

// maxSettled is how many tensors of a mesh remember their reduction.
const maxSettled = 8

// maxApart is how many bytes a result may have that a script gets and that is
// remembered besides, as a copy.
const maxApart = 64 << 10

// A memory lists the tensors of a mesh that remember, in a ring.
type memory struct {
	of   [maxSettled]weak.Pointer[tensor.Tensor]
	next int
}

// settle is move of an input of an operator: where x is Partial, and l is not, it
// begins with the earlier reduction of x, and remembers its result. apart says
// that the result shares no storage with one that is remembered.
func (e *Engine) settle(x *tensor.Tensor, l *mesh.Placed, apart bool) (*tensor.Tensor, error) {
	if !e.remembers(x, l) {
		return e.move(x, l)
	}
	from, known := x, false
	if to, block := x.Settled(); block != nil {
		from, known = tensor.NewPlaced(to, block), true
	}
	if !known && apart && x.Numel()*x.DType().Size() > maxApart {
		return e.move(x, l)
	}
	block, err := e.moveBlock(from, l)
	if err != nil {
		return nil, err
	}
	if known {
		e.noteRecall(l.Mesh())
	}
	e.remember(x, l, block)
	if !apart || x.Numel() == 1 {
		x.MarkUsed()
	}
	if apart {
		c, err := op.Apply(e.host.Ops(), cloneOp, []*tensor.Tensor{block}, nil)
		if err != nil {
			return nil, err
		}
		block = c.Out[0]
	}
	y := tensor.NewPlaced(l, block)
	if x.RequiresGrad() {
		e.recordMove(x, y)
	}
	return y, nil
}

// remembers reports whether x, moved to l, is to remember it. In a backward pass
// storage has other owners, and nothing is.
func (e *Engine) remembers(x *tensor.Tensor, l *mesh.Placed) bool {
	from := x.Layout()
	return e.backward == 0 && from.Mesh() == l.Mesh() && from.IsPartial() && !l.IsPartial() &&
		x.Numel() > 0 && x.Buffer() != nil
}

// reduced returns in with what inputs were reduced to earlier in the place of their terms, so
// that d leaves no terms that would have to be reduced later.
func (e *Engine) reduced(d *op.Def, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if e.backward > 0 || d.View && d != settleOp {
		return in, nil
	}
	out := in
	for i, x := range in {
		if x == nil || !x.Used() || d.Changes(i) {
			continue
		}
		to, block := x.Settled()
		if block == nil {
			continue
		}
		if &out[0] == &in[0] {
			out = append([]*tensor.Tensor(nil), in...)
		}
		y, err := e.settle(x, to, false)
		if err != nil {
			return nil, err
		}
		out[i] = y
	}
	return out, nil
}

// remember has x remember that it became block, placed as l.
func (e *Engine) remember(x *tensor.Tensor, l *mesh.Placed, block *tensor.Tensor) {
	was, _ := x.Settled()
	if was == l {
		return
	}
	x.Settle(l, block)
	if was != nil {
		return // it is in the ring
	}
	m := e.memories[l.Mesh()]
	if m == nil {
		m = &memory{}
		e.memories[l.Mesh()] = m
	}
	if old := m.of[m.next].Value(); old != nil && old != x {
		old.Unsettle()
	}
	m.of[m.next] = weak.Make(x)
	m.next = (m.next + 1) % maxSettled
}

// noteRecall notes that a tensor on m was not reduced, because it remembered.
func (e *Engine) noteRecall(m *mesh.Mesh) {
	if m.Size() == 1 {
		return
	}
	n := e.notesOf(m)
	n.state.operands = chain(n.state.operands, 1)
	n.operand = operand{def: settleOp, tensor: "what a Partial was reduced to, which a rank that has written into its block forgets"}
}

var settleOp = op.Lookup("settle")
