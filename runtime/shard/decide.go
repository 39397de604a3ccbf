package shard

import (
	"slices"
	"strings"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A decision says how an operator runs on inputs with given layouts.
type decision struct {
	call     *op.Call       // the call on tensors without elements, of whole shapes
	float    dtype.DType    // the dtype of floats without one
	mesh     *mesh.Mesh     // of all inputs that are placed
	from     []*mesh.Placed // how each input lies; nil for None
	in       []*mesh.Placed // the layout that each input is moved to; nil for None
	out      []*mesh.Placed // how the results lie
	blocks   []shape.Shape  // of the results on this rank
	whole    bool           // everything is replicated
	compose  bool           // other operators may do better: op.Def.Compose
	moves    bool           // an input is to be moved where that communicates
	still    bool           // the operator runs on the blocks as they are, whatever is in them
	exchange *exchange      // of an operator that exchanges, once it is known
}

// String returns the placements of inputs and results.
func (dec *decision) String() string {
	return PlacementsOf(dec.in) + " -> " + PlacementsOf(dec.out)
}

// PlacementsOf returns the placements of layouts in words, None for no tensor.
func PlacementsOf(list []*mesh.Placed) string {
	words := make([]string, len(list))
	for i, l := range list {
		words[i] = "None"
		if l != nil {
			words[i] = mesh.List(l.Placements())
		}
	}
	return strings.Join(words, ", ")
}

// decide returns the decision for d on in, of which one is placed on m.
func (e *Engine) decide(d *op.Def, m *mesh.Mesh, in []*tensor.Tensor, args []op.Arg) (*decision, error) {
	if dec := e.decisions.get(e.host.Ops(), d, m, in, args); dec != nil {
		return dec, nil
	}
	key := string(e.decisions.key) // making a decision may need others
	dec, err := e.newDecision(d, m, in, args)
	if err != nil {
		return nil, err
	}
	e.decisions.put(key, dec)
	return dec, nil
}

// newDecision is decide, computed anew.
func (e *Engine) newDecision(d *op.Def, m *mesh.Mesh, in []*tensor.Tensor, args []op.Arg) (*decision, error) {
	dec := &decision{float: e.host.Ops().Float, mesh: m, from: make([]*mesh.Placed, len(in))}
	stand := make([]*tensor.Tensor, len(in))
	for i, x := range in {
		switch {
		case x == nil:
			continue
		case x.Placed():
			dec.from[i] = x.Layout()
			stand[i] = tensor.ShapeOnly(x.DType(), x.Shape())
		case x.Weak():
			dec.from[i] = e.Replicated(m, x.Shape())
			stand[i] = x
		default:
			dec.from[i] = e.Replicated(m, x.Shape())
			stand[i] = tensor.ShapeOnly(x.DType(), x.Shape())
		}
	}
	dec.call = &op.Call{Def: d, Ctx: e.host.Ops(), In: stand, Args: cloneArgs(args)}
	if dec.call.ByValue() {
		dec.in, dec.whole = e.replicatedAll(dec), true
		return dec, nil
	}
	if err := d.Infer(dec.call); err != nil {
		return nil, err
	}
	best, err := e.choose(dec)
	if err != nil {
		return nil, err
	}
	dec.in, dec.out, dec.whole = best.in, best.out, best.whole
	for _, l := range dec.out {
		dec.blocks = append(dec.blocks, e.LocalShape(l))
	}
	dec.moves = best.seconds > 0
	dec.compose = d.Compose != nil && best.seconds > 0
	dec.still = e.isStill(dec)
	return dec, nil
}

// isStill reports whether dec has this rank run its operator on the blocks of the inputs as they
// are, and nothing else: none is to be moved or reduced. It never is in a plan where the rank runs
// for others, which may have to be told apart.
func (e *Engine) isStill(dec *decision) bool {
	d := dec.call.Def
	if dec.moves || dec.compose || d.Blockwise != nil || e.host.Alike() || !e.member(dec.mesh) {
		return false
	}
	for i, l := range dec.in {
		if l != dec.from[i] || l != nil && l.Summed() && spoilsOf(d) != nil {
			return false
		}
	}
	return true
}

// cloneArgs returns args with lists of their own: the caller may reuse its.
func cloneArgs(args []op.Arg) []op.Arg {
	args = slices.Clone(args)
	for i := range args {
		args[i].Ints, args[i].Floats = slices.Clone(args[i].Ints), slices.Clone(args[i].Floats)
	}
	return args
}

// replicatedAll returns the layouts of the inputs with all of them replicated.
func (e *Engine) replicatedAll(dec *decision) []*mesh.Placed {
	in := make([]*mesh.Placed, len(dec.from))
	for i, l := range dec.from {
		if l != nil {
			in[i] = e.Replicated(dec.mesh, l.Shape())
		}
	}
	return in
}
