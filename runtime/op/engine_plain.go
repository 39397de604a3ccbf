package op

import (
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// PlainRow returns how the results of d are held along one axis of a mesh, of parts ranks, if each
// rank applies d itself to plain tensors of its own, with the same arguments: held says of each of in what it
// is of a whole. It is what a rule's row says of blocks where d needs no help of the row's (Local), and
// nil where no row does. Blocks are taken to be of one size. For example, of a product with held
// [S(1), S(0)] it is [P(sum)].
//
// Placements are Replicate, Shard and Partial of sum; the elements of in are not read.
func PlainRow(ctx *Ctx, d *Def, in []*tensor.Tensor, args []Arg, held []mesh.Placement, parts int) []mesh.Placement {
	if d.Shard == nil {
		return nil
	}
	own := standIns(ctx, d, in, args, func(_ int, s shape.Shape) shape.Shape { return s })
	if own == nil {
		return nil
	}
	if d.View && slices.ContainsFunc(d.Params, func(p Param) bool { return p.Kind == Sizes }) && d.Aligned != nil {
		return resized(own, held)
	}
	whole, cut, alike := own, false, true
	for i, p := range held {
		_, shard := p.Shard()
		cut = cut || shard && in[i] != nil
		alike = alike && (in[i] == nil || p.IsReplicate())
	}
	if alike {
		return nil
	}
	if cut {
		whole = standIns(ctx, d, in, args, func(i int, s shape.Shape) shape.Shape { return scaled(s, held[i], parts) })
	}
	if whole == nil {
		if !d.View {
			return nil
		}
		whole = own // sizes are arguments, of the rank's own
	}
	for _, row := range d.Shard(whole) {
		if row.holds(in, held) && (!cut || d.Local == nil || allCut(row.Out) && (d.Sited == nil || !d.Sited(whole, &row))) && fitWhole(own, whole, row.Out, parts) {
			return row.Out
		}
	}
	return nil
}

// resized is PlainRow of an operator that gives the elements of its input, in row-major order, a
// shape that it is told, of the rank's own. Where a dim is cut, that dim of the result is cut which
// has as many rows before it, the first of such.
func resized(own *Call, held []mesh.Placement) []mesh.Placement {
	d, cut := held[0].Shard()
	if !cut {
		if held[0].IsReplicate() {
			return nil
		}
		return held[:1]
	}
	rows := own.In[0].Shape()[:d].Numel()
	for to, s := 0, own.Spec[0].Shape; to < len(s); to++ {
		if s[:to].Numel() == rows && own.In[0].Numel() > 0 {
			return []mesh.Placement{mesh.Shard(to)}
		}
	}
	return nil
}

// standIns returns a call of d, which Infer has checked, on tensors without elements: in the place of
// input i, of shape s, one of shape stand(i, s). It is nil if there are no results of such, or if they
// are known by elements alone.
func standIns(ctx *Ctx, d *Def, in []*tensor.Tensor, args []Arg, stand func(i int, s shape.Shape) shape.Shape) *Call {
	c := &Call{Def: d, Ctx: ctx, In: make([]*tensor.Tensor, len(in)), Args: args}
	for i, x := range in {
		switch {
		case x == nil:
		case x.Weak():
			c.In[i] = x
		default:
			c.In[i] = tensor.ShapeOnly(x.DType(), stand(i, x.Shape()))
		}
	}
	if d.ByValue != nil && d.ByValue(c) || d.Infer(c) != nil {
		return nil
	}
	return c
}

// scaled returns the shape of the whole of which s is one of parts blocks that p cuts.
func scaled(s shape.Shape, p mesh.Placement, parts int) shape.Shape {
	d, ok := p.Shard()
	if !ok || d >= len(s) {
		return s
	}
	t := slices.Clone(s)
	t[d] *= parts
	return t
}

// holds reports whether the row takes inputs that are held so.
func (row *Row) holds(in []*tensor.Tensor, held []mesh.Placement) bool {
	for i, x := range in {
		if x != nil && row.In[i] != held[i] {
			return false
		}
	}
	return true
}

// anywhere is Sited of operators whose blocks always hang on where they lie.
func anywhere(*Call, *Row) bool { return true }

// allCut reports whether all of out are cut.
func allCut(out []mesh.Placement) bool {
	for _, p := range out {
		if _, ok := p.Shard(); !ok {
			return false
		}
	}
	return true
}

// fitWhole reports whether the results that the rank has of its own are of the shapes that out says they have
// of the whole's.
func fitWhole(own, whole *Call, out []mesh.Placement, parts int) bool {
	if own == whole {
		return true
	}
	for i, p := range out {
		if !scaled(own.Spec[i].Shape, p, parts).Equal(whole.Spec[i].Shape) {
			return false
		}
	}
	return true
}
