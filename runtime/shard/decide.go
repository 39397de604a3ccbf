package shard

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unsafe"

	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A decision says how an operator runs on inputs with given layouts.
type decision struct {
	call     *op.Call       // the call on tensors without elements, of whole shapes
	mesh     *mesh.Mesh     // of all inputs that are placed
	from     []*mesh.Placed // how each input lies; nil for None
	in       []*mesh.Placed // the layout that each input is moved to; nil for None
	out      []*mesh.Placed // how the results lie
	blocks   []shape.Shape  // of the results on this rank
	whole    bool           // everything is replicated
	compose  bool           // other operators may do better: op.Def.Compose
	moves    bool           // an input is to be moved where that communicates
	exchange *exchange      // of an operator that exchanges, once it is known
}

// String returns the placements of inputs and results.
func (dec *decision) String() string {
	return placements(dec.in) + " -> " + placements(dec.out)
}

// placements returns those of a list of layouts, None for no tensor.
func placements(list []*mesh.Placed) string {
	words := make([]string, len(list))
	for i, l := range list {
		words[i] = "None"
		if l != nil {
			words[i] = mesh.List(l.Placements())
		}
	}
	return strings.Join(words, ", ")
}

// maxDecisions is how many decisions, and how many stepPlans, an Engine keeps: some
// ten kilobytes each.
const maxDecisions = 1 << 11

// decide returns the decision for d on in, of which one is placed on m.
func (e *Engine) decide(d *op.Def, m *mesh.Mesh, in []*tensor.Tensor, args []op.Arg) (*decision, error) {
	e.key = appendKey(e.key[:0], e.host.Ops(), d, m, in, args)
	if dec := e.decisions[string(e.key)]; dec != nil {
		return dec, nil
	}
	key := string(e.key)
	dec, err := e.newDecision(d, m, in, args)
	if err != nil {
		return nil, err
	}
	if len(e.decisions) >= maxDecisions {
		clear(e.decisions)
	}
	e.decisions[key] = dec
	return dec, nil
}

// appendKey appends all that a decision depends on. Layouts and meshes stand for
// themselves by their addresses: a decision keeps them, so that no other can
// have the same.
func appendKey(b []byte, ctx *op.Ctx, d *op.Def, m *mesh.Mesh, in []*tensor.Tensor, args []op.Arg) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(uintptr(unsafe.Pointer(d))))
	b = binary.LittleEndian.AppendUint64(b, uint64(uintptr(unsafe.Pointer(m))))
	b = append(b, byte(ctx.Float), byte(len(in)))
	for _, x := range in {
		switch {
		case x == nil:
			b = append(b, 0)
		case x.Placed():
			b = append(b, 1, byte(x.DType()))
			b = binary.LittleEndian.AppendUint64(b, uint64(uintptr(unsafe.Pointer(x.Layout()))))
		default:
			weak := byte(2)
			if x.Weak() {
				weak = 3
			}
			b = append(b, weak, byte(x.DType()))
			b = appendInts(b, x.Shape())
		}
	}
	for i := range args {
		a := &args[i]
		set := byte(0)
		if a.Set {
			set = 1
		}
		b = append(b, set)
		b = binary.AppendVarint(b, int64(a.Int))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(a.Float))
		b = append(binary.AppendUvarint(b, uint64(len(a.Str))), a.Str...)
		b = appendInts(b, a.Ints)
		b = binary.AppendUvarint(b, uint64(len(a.Floats)))
		for _, v := range a.Floats {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	return b
}

func appendInts(b []byte, list []int) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, v := range list {
		b = binary.AppendVarint(b, int64(v))
	}
	return b
}

// newDecision is decide, computed anew.
func (e *Engine) newDecision(d *op.Def, m *mesh.Mesh, in []*tensor.Tensor, args []op.Arg) (*decision, error) {
	dec := &decision{mesh: m, from: make([]*mesh.Placed, len(in))}
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
		dec.blocks = append(dec.blocks, e.localShape(l))
	}
	dec.moves = best.seconds > 0
	dec.compose = d.Compose != nil && best.seconds > 0
	return dec, nil
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
