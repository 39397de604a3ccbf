package shard

import (
	"fmt"
	"slices"

	"tpsh/internal/libm"
	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

// maxCombinations bounds the choices of a row for each dim of a mesh that are
// priced. Beyond it, rows that suit no input as it lies are left out.
const maxCombinations = 1 << 12

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
	rows, ways := e.rows(dec), waysOf(dec)
	if still := standing(dec, rows); still != nil {
		best, err := e.bestOf(dec, still, ways)
		if best != nil && best.changes == 0 || err != nil {
			return best, err
		}
	}
	best, err := e.bestOf(dec, rows, ways)
	if best == nil && err == nil {
		err = e.noRow(dec)
	}
	return best, err
}

// bestOf returns the best candidate of rows in one of the ways to cut, the first of equal
// ones; nil if there is none.
func (e *Engine) bestOf(dec *decision, rows [][]op.Row, ways []cutting) (*candidate, error) {
	pick := make([]int, len(rows))
	var best *candidate
	for more := true; more; more = next(pick, rows) {
		for _, way := range ways {
			c, err := e.candidate(dec, rows, pick, way, best)
			if err != nil {
				return nil, err
			}
			if c != nil && (best == nil || c.less(best)) {
				best = c
			}
			if best != nil && best.seconds == 0 && best.changes == 0 {
				return best, nil
			}
		}
	}
	return best, nil
}

// standing returns those of rows that take every input as it lies, for each dim
// of the mesh; nil if some dim has none. Nothing is better than a candidate of
// these that moves nothing, and none has to be planned.
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
		if l != nil && unordered(l.Placements()[meshDim]) != row.In[i] {
			return false
		}
	}
	return true
}

// unordered returns p as rules have it, whatever comes before it.
func unordered(p mesh.Placement) mesh.Placement {
	if d, cut := p.Shard(); cut {
		return mesh.Shard(d)
	}
	return p
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
	few := libm.Pow(float64(len(all)), float64(ndim)) > maxCombinations
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
			suits = suits || l != nil && !l.Placements()[meshDim].IsReplicate() && unordered(l.Placements()[meshDim]) == row.In[i]
		}
		if suits {
			some = append(some, row)
		}
	}
	return some
}

// candidate prices the rows that pick names, where the dims of the mesh cut in a way; nil if
// they do not fit together, or cost more than best, if there is one.
func (e *Engine) candidate(dec *decision, rows [][]op.Row, pick []int, way cutting, best *candidate) (*candidate, error) {
	c := &candidate{in: make([]*mesh.Placed, len(dec.from)), whole: true}
	for k := range pick {
		c.whole = c.whole && replicates(rows[k][pick[k]], dec.from)
		if !way.suits(dec, rows[k][pick[k]], k) {
			return nil, nil
		}
	}
	placements := make([]mesh.Placement, len(rows))
	for i, l := range dec.from {
		if l == nil {
			continue
		}
		for k := range rows {
			placements[k] = rows[k][pick[k]].In[i]
		}
		need, err := e.placeBy(way, dec.mesh, l.Shape(), placements)
		if err != nil {
			return nil, fmt.Errorf("rule of %s: %w", dec.call.Def.Name, err)
		}
		if need == nil {
			return nil, nil
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
		out, err := e.placeBy(way, dec.mesh, spec.Shape, placements)
		if err != nil {
			return nil, fmt.Errorf("rule of %s: %w", dec.call.Def.Name, err)
		}
		if out == nil {
			return nil, nil
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
			seconds += mesh.Alpha + float64(2*mesh.Beta*float64(dec.call.Spec[i].Shape.Numel()*dec.call.Spec[i].DType.Size()))
		}
	}
	return seconds
}

// noRow says that an in-place operator cannot keep its target's placements.
func (e *Engine) noRow(dec *decision) error {
	d := dec.call.Def
	return &op.ArgError{Func: d.Name, Param: d.Params[0].Name,
		Got:  DescribeAs(dec.call.In[0], dec.from[0]),
		Want: "placements that the operation can keep",
		Rule: "an in-place operation keeps its target's placements, and a Partial target takes only what is linear: redistribute it first, or use the operation that makes a new tensor"}
}
