package shard

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
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

// maxCombinations bounds the choices of a row for each dim of a mesh that are
// priced. Beyond it, rows that suit no input as it lies are left out.
const maxCombinations = 1 << 12

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

// A candidate is a row for each dim of the mesh, and the cost of bringing the
// inputs there.
type candidate struct {
	in, out []*mesh.Placed
	seconds float64
	changes int // inputs whose layouts change
	whole   bool
}

// less reports whether a is better than b.
func (a *candidate) less(b *candidate) bool {
	if a.seconds != b.seconds {
		return a.seconds < b.seconds
	}
	return a.changes < b.changes
}

// choose returns the best candidate, the first of equal ones.
func (e *Engine) choose(dec *decision) (*candidate, error) {
	rows := e.rows(dec)
	if still := standing(dec, rows); still != nil {
		best, err := e.bestOf(dec, still)
		if best != nil || err != nil {
			return best, err
		}
	}
	best, err := e.bestOf(dec, rows)
	if best == nil && err == nil {
		err = e.noRow(dec)
	}
	return best, err
}

// bestOf returns the best candidate of rows, the first of equal ones; nil if
// there is none.
func (e *Engine) bestOf(dec *decision, rows [][]op.Row) (*candidate, error) {
	pick := make([]int, len(rows))
	var best *candidate
	for more := true; more; more = next(pick, rows) {
		c, err := e.candidate(dec, rows, pick, best)
		if err != nil {
			return nil, err
		}
		if c != nil && (best == nil || c.less(best)) {
			best = c
		}
		if best != nil && best.seconds == 0 && best.changes == 0 {
			break
		}
	}
	return best, nil
}

// standing returns those of rows that take every input as it lies, for each dim
// of the mesh; nil if some dim has none. Nothing is better than a candidate of
// these, and none has to be planned.
func standing(dec *decision, rows [][]op.Row) [][]op.Row {
	lists := make([][]op.Row, len(rows))
	for k := range rows {
		for _, row := range rows[k] {
			if takes(row, dec.from, k) {
				lists[k] = append(lists[k], row)
			}
		}
		if lists[k] == nil {
			return nil
		}
	}
	return lists
}

// takes reports whether row has every input lie along a dim of the mesh as it
// does already.
func takes(row op.Row, from []*mesh.Placed, meshDim int) bool {
	for i, l := range from {
		if l != nil && l.Placements()[meshDim] != row.In[i] {
			return false
		}
	}
	return true
}

// replicates reports whether row has everything replicated.
func replicates(row op.Row, from []*mesh.Placed) bool {
	for i, l := range from {
		if l != nil && !row.In[i].IsReplicate() {
			return false
		}
	}
	return !slices.ContainsFunc(row.Out, func(p mesh.Placement) bool { return !p.IsReplicate() })
}

// next advances pick, the last dim fastest, and reports false after the last.
func next(pick []int, rows [][]op.Row) bool {
	for i := len(pick) - 1; i >= 0; i-- {
		if pick[i]++; pick[i] < len(rows[i]) {
			return true
		}
		pick[i] = 0
	}
	return false
}

// rows returns the rows to choose from, for each dim of the mesh.
func (e *Engine) rows(dec *decision) [][]op.Row {
	var all []op.Row
	if dec.call.Def.Shard != nil {
		for _, row := range dec.call.Def.Shard(dec.call) {
			if possible(dec.call, row) {
				all = append(all, row)
			}
		}
	}
	all = append(all, op.Row{In: make([]mesh.Placement, len(dec.from)), Out: make([]mesh.Placement, len(dec.call.Spec))})
	ndim := dec.mesh.NDim()
	lists := make([][]op.Row, ndim)
	few := math.Pow(float64(len(all)), float64(ndim)) > maxCombinations
	for i := range lists {
		lists[i] = all
		if few {
			lists[i] = suiting(dec, all, i)
		}
	}
	return lists
}

// possible reports whether tensors of the dtypes of c can be placed as row says.
// A number can be anything.
func possible(c *op.Call, row op.Row) bool {
	for i, x := range c.In {
		if x != nil && !x.Weak() && !canBe(x.DType(), row.In[i]) {
			return false
		}
	}
	for i, spec := range c.Spec {
		if !canBe(spec.DType, row.Out[i]) {
			return false
		}
	}
	return true
}

// canBe reports whether tensors of dt have the reduction of p.
func canBe(dt dtype.DType, p mesh.Placement) bool {
	by, ok := p.Partial()
	switch {
	case !ok:
		return true
	case by == mesh.Mean:
		return dt.Differentiable()
	case dt.IsComplex():
		return by == mesh.Sum
	}
	return dt != dtype.Bool || by == mesh.Max || by == mesh.Min
}

// suiting returns those of rows in which an input lies along a mesh dim as it
// does already, and the last.
func suiting(dec *decision, rows []op.Row, meshDim int) []op.Row {
	var some []op.Row
	for k, row := range rows {
		suits := k == len(rows)-1
		for i, l := range dec.from {
			suits = suits || l != nil && !l.Placements()[meshDim].IsReplicate() && l.Placements()[meshDim] == row.In[i]
		}
		if suits {
			some = append(some, row)
		}
	}
	return some
}

// candidate prices the rows that pick names; nil if they do not fit together, or
// cost more than best, if there is one.
func (e *Engine) candidate(dec *decision, rows [][]op.Row, pick []int, best *candidate) (*candidate, error) {
	c := &candidate{in: make([]*mesh.Placed, len(dec.from)), whole: true}
	for k := range pick {
		c.whole = c.whole && replicates(rows[k][pick[k]], dec.from)
	}
	placements := make([]mesh.Placement, len(rows))
	for i, l := range dec.from {
		if l == nil {
			continue
		}
		for k := range rows {
			placements[k] = rows[k][pick[k]].In[i]
		}
		need, err := e.place(dec.mesh, l.Shape(), placements)
		if err != nil {
			return nil, fmt.Errorf("rule of %s: %w", dec.call.Def.Name, err)
		}
		c.in[i] = need
		if need.Equal(l) {
			c.in[i] = l
			continue
		}
		if dec.call.Def.Changes(i) {
			return nil, nil
		}
		plan, err := e.host.Layouts().Plan(l, need, dec.call.In[i].DType().Size())
		if err != nil {
			return nil, nil // no way leads there
		}
		c.seconds += plan.Seconds
		c.changes++
		if best != nil && c.seconds > best.seconds {
			return nil, nil
		}
	}
	for i, spec := range dec.call.Spec {
		for k := range rows {
			placements[k] = rows[k][pick[k]].Out[i]
		}
		out, err := e.place(dec.mesh, spec.Shape, placements)
		if err != nil {
			return nil, fmt.Errorf("rule of %s: %w", dec.call.Def.Name, err)
		}
		c.out = append(c.out, out)
	}
	if dec.call.Def.InPlace && !c.out[0].Equal(c.in[0]) {
		return nil, nil
	}
	if f := dec.call.Def.Aligned; f != nil && !c.whole && !f(dec.call, c.in, c.out) {
		return nil, nil
	}
	c.seconds += c.owed(dec)
	return c, nil
}

// owed returns the seconds that reducing the results would take, where inputs
// are moved for them: a row that only puts a reduction off is no cheaper. A row
// that the inputs suit as they lie owes nothing.
func (c *candidate) owed(dec *decision) float64 {
	if c.seconds == 0 {
		return 0
	}
	seconds := 0.0
	for i, l := range c.out {
		if l.IsPartial() {
			seconds += mesh.Alpha + 2*mesh.Beta*float64(dec.call.Spec[i].Shape.Numel()*dec.call.Spec[i].DType.Size())
		}
	}
	return seconds
}

// noRow says that an in-place operator cannot keep its target's placements.
func (e *Engine) noRow(dec *decision) error {
	d := dec.call.Def
	return &op.ArgError{Func: d.Name, Param: d.Params[0].Name,
		Got:  fmt.Sprintf("%s as %s on %s", op.Describe(dec.call.In[0]), mesh.List(dec.from[0].Placements()), dec.mesh.Short()),
		Want: "placements that the operation can keep",
		Rule: "an in-place operation keeps its target's placements, and a Partial target takes only what is linear: redistribute it first, or use the operation that makes a new tensor"}
}
