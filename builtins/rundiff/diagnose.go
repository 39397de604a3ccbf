package rundiff

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A finding says what kind of difference one is.
type finding struct {
	kind    string
	factor  float64 // 0 if there is none
	meshDim string
	ranks   []int
	says    string
	rest    float64 // what is left of the difference when it is explained so, relative
	weak    bool    // it is the best guess, and no form that has been recognised
}

// A probe looks at one tensor that differs.
type probe struct {
	d     *diffing
	p     *pair
	ls    []*layout // how the ranks may hold it, likely ones first; none if blocks are compared one by one
	w     *array    // the reference, whole; nil if not known
	c     []*array  // by ascending rank
	ranks []int
	near  float64 // how much may be left of a difference that is explained
	found []finding
}

// diagnose finds the kind of the first difference: of the tensor itself, or, if that has no
// form, of those that go into it or follow.
func (d *diffing) diagnose(first *pair) (*finding, error) {
	f, err := d.kindOf(first)
	if err != nil || f.kind != Other && !f.weak {
		return f, err
	}
	for _, q := range d.around(first) {
		g, err := d.kindOf(q)
		if err != nil {
			return nil, err
		}
		if g.kind == Other || g.weak {
			continue
		}
		if classOf(q.name) == parameter && classOf(first.name) <= loss && !slices.Contains([]string{Permuted, Transposed, MissingPart, WrongDim}, g.kind) {
			continue // it is what an optimizer has made of other gradients
		}
		g.says = fmt.Sprintf("of itself it has no form that is known, but %s has: %s", q.name, g.says)
		return g, nil
	}
	return f, nil
}

// around returns the tensors that may tell more of the first that differs: parameters of its
// layer, and what follows it.
func (d *diffing) around(first *pair) []*pair {
	var params, later []*pair
	for _, q := range d.pairs {
		if q == first || q.step != first.step || !q.differs() {
			continue
		}
		if classOf(q.name) == parameter && layerOf(q.name) == layerOf(first.name) {
			params = append(params, q)
		} else if q.place > first.place && len(later) < 8 {
			later = append(later, q)
		}
	}
	return append(params, later...)
}

// kindOf finds the kind of the difference of one tensor.
func (d *diffing) kindOf(p *pair) (*finding, error) {
	if len(p.absent) > 0 {
		return &finding{kind: MissingPart, ranks: p.absent, says: fmt.Sprintf("ranks %v have no part of it", p.absent)}, nil
	}
	if p.unplanned != "" {
		return &finding{kind: WrongDim, meshDim: p.unplannedDim, says: p.unplanned}, nil
	}
	ref, cand, err := p.load()
	if err != nil {
		return nil, err
	}
	q := &probe{d: d, p: p, c: cand, ranks: ranksOf(p.cand), near: min(max(16*p.expected, 3e-4), 0.2)}
	if d.coarse() {
		q.near = min(max(2*p.expected, 0.02), 0.25)
	}
	if p.bad {
		f := &finding{kind: Other, says: "it has infinities, or what is no number, where the reference has numbers"}
		for i, a := range cand {
			if m := a.maxAbs(); (m != m || math.IsInf(m, 0)) && len(q.ranks) > i {
				f.ranks = append(f.ranks, q.ranks[i])
			}
		}
		return f, nil
	}
	if p.fit != nil {
		q.w = p.fit.w
	} else if len(ref) == 1 || same(ref) {
		q.w = ref[0]
	}
	if q.w != nil && p.cand[whole] == nil {
		q.ls = d.likely(p, q.w.shape, blockShapes(cand), q.ranks)
	}
	q.run(ref)
	return q.best(), nil
}

// likely returns the layouts without summands that fit, those with which the tensor or its
// likes have been seen first.
func (d *diffing) likely(p *pair, shape []int, blocks [][]int, ranks []int) []*layout {
	var all []*layout
	for _, l := range layouts(ranks, shape, blocks, d.o.Plan, p.name) {
		if len(l.partial()) == 0 {
			all = append(all, l)
		}
	}
	votes := map[string]int{}
	for _, q := range d.pairs {
		if !q.ok || q.isSummand || q.fit.l == nil {
			continue
		}
		votes[q.fit.l.String()]++
		if q.name == p.name {
			votes[q.fit.l.String()] += 1 << 20
		}
		if classOf(q.name) == classOf(p.name) {
			votes[q.fit.l.String()] += 1000
		}
	}
	slices.SortStableFunc(all, func(a, b *layout) int { return votes[b.String()] - votes[a.String()] })
	return all
}

// run makes all checks.
func (q *probe) run(ref []*array) {
	if q.w == nil {
		q.blocks(ref, nil)
		return
	}
	if len(q.ls) == 0 && (len(q.ranks) == 0 || same(q.c)) {
		if slices.Equal(q.w.shape, q.c[0].shape) {
			q.blocks([]*array{q.w}, nil)
		}
		q.forms(q.w, q.c[0], nil, 1)
	}
	for _, l := range q.ls[:min(len(q.ls), 8)] {
		x, c := make([]*array, len(q.c)), inOrderOf(l, q.ranks, q.c)
		for i := range x {
			x[i] = q.w.slice(l.box(q.w.shape, i))
		}
		old := q.c
		q.c = c
		q.blocks(x, l)
		joined := &array{q.w.shape, make([]float64, len(q.w.data))}
		for i := range c {
			joined.put(l.box(q.w.shape, i), c[i])
		}
		q.forms(q.w, joined, l, len(c))
		q.c = old
	}
	if len(q.ls) == 0 && len(q.ranks) > 0 {
		q.otherCut()
	}
}

// add notes a finding if little is left.
func (q *probe) add(f finding) {
	if f.rest <= q.near {
		q.found = append(q.found, f)
	}
}

// form is how much may be left of a difference that is explained by another order of elements,
// or by elements that are not there: parameters have been trained since.
const form = 0.3

// formed notes a finding of form, if it explains nearly all of the difference.
func (q *probe) formed(f finding, before float64) {
	if f.rest <= q.near && f.rest < before/2 || f.rest <= form && f.rest < before/4 {
		q.found = append(q.found, f)
	}
}

// best returns the finding that leaves least; of those that leave about as little, the first.
func (q *probe) best() *finding {
	var best *finding
	for i := range q.found {
		if best == nil || best.weak && !q.found[i].weak || best.weak == q.found[i].weak && q.found[i].rest < best.rest/8 && best.rest > 1e-9 {
			best = &q.found[i]
		}
	}
	if best != nil {
		return best
	}
	if f := q.roundedAbout(); f != nil {
		return f
	}
	return &finding{kind: Other, ranks: q.which(), says: "of no kind that is known"}
}

// which returns the ranks that differ, or none if all do.
func (q *probe) which() []int {
	if q.p.fit == nil || len(q.ranks) == 0 {
		return nil
	}
	ranks := q.ranks
	if q.p.fit.l != nil {
		ranks = q.p.fit.l.ranks
	}
	var list []int
	for i, e := range q.p.fit.blockBy {
		if i < len(ranks) && !(e <= 2*q.p.expected) {
			list = append(list, ranks[i])
		}
	}
	if len(list) == len(ranks) {
		return nil
	}
	slices.Sort(list)
	return list
}

// roundedAbout takes a small difference without form, in a run of higher precision, for that
// of arithmetic in a lower one.
func (q *probe) roundedAbout() *finding {
	if q.p.fit == nil || q.d.refEps > 1e-4 || q.p.expected == 0 || epsilon(q.p.refDT) > 1e-4 {
		return nil
	}
	e := q.p.fit.err
	if q.p.step > q.d.first && q.startsStep() {
		return nil // what came before the step differs
	}
	switch {
	case e > 2e-5 && e < 2e-2:
		dt := "bfloat16"
		if e < 3e-4 {
			dt = "float16"
		}
		return &finding{kind: Rounded, weak: true, ranks: q.which(), says: fmt.Sprintf("a difference of %.1e without form: as of arithmetic in %s", e, dt)}
	}
	return nil
}

// startsStep reports whether the tensor is the first of its step.
func (q *probe) startsStep() bool {
	return q.p.place == 0 || q.d.pairs[q.p.place-1].step != q.p.step
}

// apart returns how far blocks are from what they should be, relative to the latter.
func apart(c, x []*array) float64 {
	e, s, n := 0.0, 0.0, 0.0
	for i := range x {
		if !slices.Equal(c[i].shape, x[i].shape) {
			return math.Inf(1)
		}
		k := float64(len(x[i].data))
		dd, ss := distance(c[i], x[i]), x[i].rms()
		e, s, n = e+dd*dd*k, s+ss*ss*k, n+k
	}
	if n == 0 || s == 0 {
		return math.Inf(1)
	}
	return math.Sqrt(e / s)
}

// dimName returns what a dim of a mesh is called.
func (q *probe) dimName(dim int) string {
	if plan := q.d.o.Plan; plan != nil && dim < len(plan.Names) {
		return plan.Names[dim]
	}
	return fmt.Sprint(dim)
}

// other returns the reference of the same tensor so many steps on, or nil.
func (q *probe) other(step int) *array {
	p := q.d.byKey[key{q.p.step + step, q.p.name}]
	if p == nil || q.p.step < 0 {
		return nil
	}
	ref, err := load(p.ref, ranksOf(p.ref))
	if err != nil || len(ref) != 1 && !same(ref) {
		return nil
	}
	return ref[0]
}

// earlier returns references of other tensors of the step of a shape, those before the tensor
// and nearest to it first.
func (q *probe) earlier(shape []int) []*array {
	var list []*array
	for i := q.p.place - 1; i >= 0 && len(list) < 12; i-- {
		p := q.d.pairs[i]
		if p.step != q.p.step || !p.ok || p.fit.w == nil || !slices.Equal(p.fit.w.shape, shape) || classOf(p.name) != classOf(q.p.name) {
			continue
		}
		list = append(list, p.fit.w)
	}
	return list
}

// words returns dims of a mesh in words.
func words(list []string) string { return strings.Join(list, " and ") }
