package rundiff

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// A pair is a tensor of both runs.
type pair struct {
	key
	ref, cand map[int]*block
	place     int // in the order of computation

	fit                     *fit
	refDT, candDT           string // dtypes as stored
	refP, candP             string // dtypes that the elements have at most
	absent                  []int  // ranks of the candidate that should have it and do not
	problem                 string // why it cannot be compared; "" if it can
	scale                   float64
	expected                float64 // how much max_rel and err may be
	ok, isSummand           bool
	explained               string // why a larger difference is none; "" if it is not
	bad                     bool   // there are infinities, or no numbers, where the reference has numbers
	unplanned, unplannedDim string // how ranks hold it in another way than the plan says, and the dim of the mesh; "" if they do not
}

// A fit is a way in which the blocks of a candidate are taken for parts of the reference.
type fit struct {
	l       *layout  // nil if blocks are compared one by one
	w       *array   // the reference, whole; nil if that is not known
	x, c    []*array // what the ranks should have and what they have, by place in the mesh
	mean    bool     // of a summand: the mean of the ranks is meant, not the sum
	err     float64  // rms of the difference, relative to that of the reference
	maxAbs  float64
	maxRel  float64
	blockBy []float64 // err of each rank
}

// ranksOf returns the ranks that have a tensor, ascending; nil if it is no rank's.
func ranksOf(m map[int]*block) []int {
	list := slices.Sorted(maps.Keys(m))
	if len(list) > 0 && list[0] == whole {
		return list[1:]
	}
	return list
}

// load reads the blocks of some ranks, or the one that is no rank's.
func load(m map[int]*block, ranks []int) ([]*array, error) {
	if m[whole] != nil {
		a, err := m[whole].read()
		return []*array{a}, err
	}
	var list []*array
	for _, r := range ranks {
		a, err := m[r].read()
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// load reads the blocks of both runs. A number is one with dims or without: the candidate's
// get those of the reference.
func (p *pair) load() (ref, cand []*array, err error) {
	if ref, err = load(p.ref, ranksOf(p.ref)); err != nil {
		return nil, nil, err
	}
	if cand, err = load(p.cand, ranksOf(p.cand)); err != nil {
		return nil, nil, err
	}
	single := func(list []*array) bool {
		return !slices.ContainsFunc(list, func(a *array) bool { return len(a.data) != 1 })
	}
	if single(ref) && single(cand) {
		for _, a := range cand {
			a.shape = ref[0].shape
		}
	}
	return ref, cand, nil
}

// examine reads a tensor of both runs and finds how the blocks of the candidate are parts
// of the reference.
func (d *diffing) examine(p *pair) error {
	ref, cand, err := p.load()
	if err != nil {
		return err
	}
	p.describe(ref, cand)
	p.fit = d.best(p, ref, cand)
	d.checkPlan(p)
	if p.fit == nil {
		p.problem = fmt.Sprintf("shapes %s and %s, of which neither is a part of the other", shapes(ref), shapes(cand))
	}
	return nil
}

// checkPlan notes if the ranks hold a tensor in another way than the plan says.
func (d *diffing) checkPlan(p *pair) {
	given := d.o.Plan.rule(p.name)
	if given == nil || p.fit == nil || p.fit.l == nil || !slices.Equal(p.fit.l.mesh, d.o.Plan.Mesh) {
		return
	}
	planned := &layout{mesh: d.o.Plan.Mesh, ranks: p.fit.l.ranks, placements: given}
	for m, have := range p.fit.l.placements {
		if _, cut := have.Shard(); m < len(given) && have != given[m] && cut && !planned.fits(p.fit.w.shape, blockShapes(p.fit.c)) {
			p.unplanned = fmt.Sprintf("the ranks have %v of it, and the plan says %v", p.fit.l, planned)
			if p.unplannedDim = fmt.Sprint(m); m < len(d.o.Plan.Names) {
				p.unplannedDim = d.o.Plan.Names[m]
			}
			return
		}
	}
}

// describe notes dtypes and scales.
func (p *pair) describe(ref, cand []*array) {
	for _, b := range p.ref {
		p.refDT = b.dtype
	}
	for _, b := range p.cand {
		p.candDT = b.dtype
	}
	p.refP, p.candP = precision(joined(ref), p.refDT), precision(joined(cand), p.candDT)
	for _, a := range ref {
		p.scale = max(p.scale, a.rms())
	}
	clean := func(list []*array) bool {
		for _, a := range list {
			if m := a.maxAbs(); m != m || math.IsInf(m, 0) {
				return false
			}
		}
		return true
	}
	p.bad = clean(ref) && !clean(cand)
}

// joined returns all elements of arrays in one.
func joined(list []*array) *array {
	out := &array{}
	for _, a := range list {
		out.data = append(out.data, a.data...)
	}
	return out
}

// shapes returns shapes in words, equal ones once.
func shapes(list []*array) string {
	var all []string
	for _, a := range list {
		if s := fmt.Sprint(a.shape); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return fmt.Sprint(all)
}

// best returns the fit with the least difference; of those that are alike the simplest.
func (d *diffing) best(p *pair, ref, cand []*array) *fit {
	var found *fit
	try := func(f *fit) bool {
		f.measure(p.scale)
		// A summand, or a cut of another form, must fit much better than what is plainer.
		if found == nil || f.err < found.err/4 {
			found = f
		}
		return found.err < 1e-9
	}
	if len(ref) == len(cand) && equalShapes(ref, cand) && (len(ref) > 1 || p.cand[whole] != nil || len(ranksOf(p.cand)) == 1) {
		f := &fit{x: ref, c: cand}
		if same(ref) {
			f.w = ref[0]
		}
		if try(f) {
			return found
		}
	}
	for _, w := range d.wholes(p, ref, cand) {
		if d.tryLayouts(p, w, cand, try) {
			break
		}
	}
	return found
}

// equalShapes reports whether arrays have the same shapes one by one.
func equalShapes(a, b []*array) bool {
	for i := range a {
		if !slices.Equal(a[i].shape, b[i].shape) {
			return false
		}
	}
	return true
}

// same reports whether all arrays are alike.
func same(list []*array) bool {
	for _, a := range list[1:] {
		if !slices.Equal(a.shape, list[0].shape) || maxDistance(a, list[0]) > 1e-5*list[0].maxAbs() {
			return false
		}
	}
	return true
}

// wholes returns what the reference may be as a whole.
func (d *diffing) wholes(p *pair, ref, cand []*array) []*array {
	if len(ref) == 1 || same(ref) {
		return ref[:1]
	}
	var all []*array
	blocks := blockShapes(ref)
	var tried [][]int
	try := func(shape []int) {
		if slices.ContainsFunc(tried, func(s []int) bool { return slices.Equal(s, shape) }) {
			return
		}
		tried = append(tried, shape)
		for _, l := range layouts(ranksOf(p.ref), shape, blocks, d.o.Plan, p.name) {
			if len(l.partial()) > 0 {
				continue
			}
			w := &array{shape, make([]float64, numel(shape))}
			for i := range ref {
				w.put(l.box(shape, i), ref[i])
			}
			all = append(all, w)
		}
	}
	if len(cand) == 1 {
		try(cand[0].shape)
	}
	for dim := range ref[0].shape {
		shape := slices.Clone(ref[0].shape)
		shape[dim] = 0
		for _, a := range ref {
			if len(a.shape) == len(shape) {
				shape[dim] += a.shape[dim]
			}
		}
		try(shape)
	}
	return all[:min(len(all), 12)]
}

func blockShapes(list []*array) [][]int {
	out := make([][]int, len(list))
	for i, a := range list {
		out[i] = a.shape
	}
	return out
}

// tryLayouts tries the layouts in which the candidate's blocks may be parts of w, those
// with which the name has been seen first, until try is content.
func (d *diffing) tryLayouts(p *pair, w *array, cand []*array, try func(*fit) bool) bool {
	if len(cand) == 1 && p.cand[whole] != nil {
		if !slices.Equal(w.shape, cand[0].shape) {
			return false
		}
		return try(&fit{w: w, x: []*array{w}, c: cand})
	}
	ranks := ranksOf(p.cand)
	for _, l := range layouts(ranks, w.shape, blockShapes(cand), d.o.Plan, p.name) {
		f := &fit{l: l, w: w, c: inOrderOf(l, ranks, cand)}
		f.x = make([]*array, len(cand))
		for i := range f.x {
			f.x[i] = w.slice(l.box(w.shape, i))
		}
		if len(l.partial()) == 0 {
			if try(f) {
				return true
			}
			continue
		}
		for _, mean := range []bool{false, true} {
			g := *f
			g.mean = mean
			if try(&g) {
				return true
			}
		}
	}
	return false
}

// inOrderOf returns the blocks by their place in the mesh of l.
func inOrderOf(l *layout, ranks []int, cand []*array) []*array {
	out := make([]*array, len(l.ranks))
	for i, r := range l.ranks {
		out[i] = cand[max(0, slices.Index(ranks, r))]
	}
	return out
}

// have returns what the ranks have to compare: their blocks, or the sums of summands.
func (f *fit) have() []*array {
	if f.l == nil || len(f.l.partial()) == 0 {
		return f.c
	}
	return reduced(f.l, f.c, f.l.partial(), f.mean)
}

// reduced returns, for each place in the mesh, the sum or the mean of the blocks along dims
// of the mesh.
func reduced(l *layout, c []*array, dims []int, mean bool) []*array {
	out := slices.Clone(c)
	for _, dim := range dims {
		now := slices.Clone(out)
		for _, g := range l.groups(dim) {
			list := make([]*array, len(g))
			for i, at := range g {
				list[i] = now[at]
			}
			s := sum(list)
			if mean {
				s = s.scaled(1 / float64(len(g)))
			}
			for _, at := range g {
				out[at] = s
			}
		}
	}
	return out
}

// measure says how large the differences are.
func (f *fit) measure(scale float64) {
	total, n, top := 0.0, 0, 0.0
	f.blockBy = nil
	f.maxAbs = 0
	have := f.have()
	for i, x := range f.x {
		e := distance(x, have[i])
		if math.IsNaN(e) {
			e = math.Inf(1)
		}
		f.blockBy = append(f.blockBy, relative(e, scale))
		total, n = total+e*e*float64(len(x.data)), n+len(x.data)
		f.maxAbs, top = max(f.maxAbs, maxDistance(x, have[i])), max(top, x.maxAbs())
	}
	f.err = relative(math.Sqrt(total/float64(max(n, 1))), scale)
	f.maxRel = relative(f.maxAbs, top)
}

// relative returns e relative to a scale; of nothing, nothing is different.
func relative(e, scale float64) float64 {
	if e == 0 {
		return 0
	}
	if scale == 0 {
		return math.Inf(1)
	}
	return e / scale
}
