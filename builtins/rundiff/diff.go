package rundiff

import (
	"fmt"
	"math"
	"slices"
)

// Options say how two runs are compared.
type Options struct {
	Plan *Plan   // how the ranks of the runs hold tensors; nil to find out by trying
	Rtol float64 // how much may differ relatively; 0 for what dtype and depth explain
}

// A diffing is a call of Compare.
type diffing struct {
	o         *Options
	ref, cand *side
	pairs     []*pair // in the order of computation
	byKey     map[key]*pair
	order     string
	last      int // the last layer
	first     int // the first step
	refEps    float64
	candEps   float64
	families  map[family]float64 // the typical scale of a class in a step
	only      [2][]string        // names that one side alone has
	gradients map[key]*pair      // by the core of their names
}

// A family is the tensors of a class in a step.
type family struct {
	step  int
	class class
	sq    bool // it is of squares
}

// prepare matches the tensors of the two runs and examines each.
func (d *diffing) prepare() error {
	by := d.ref
	if !by.known && d.cand.known {
		by = d.cand
	}
	var given []string
	if d.o.Plan != nil {
		given = d.o.Plan.Order
	}
	list, how := by.sorted(given)
	d.order, d.byKey = how, map[key]*pair{}
	for _, k := range list {
		r, c := d.ref.blocks[k], d.cand.blocks[k]
		if r == nil || c == nil {
			continue
		}
		p := &pair{key: k, ref: r, cand: c, place: len(d.pairs)}
		d.pairs = append(d.pairs, p)
		d.byKey[k] = p
		d.last = max(d.last, layerOf(k.name))
	}
	d.only[0], d.only[1] = missing(d.ref, d.cand), missing(d.cand, d.ref)
	if len(d.pairs) == 0 {
		return fmt.Errorf("%s and %s have no tensor of one name and step in common", d.ref.name, d.cand.name)
	}
	d.first = d.pairs[0].step
	for _, p := range d.pairs {
		p.absent = d.absent(p)
		if err := d.examine(p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	d.precisions()
	d.scales()
	return nil
}

// absent returns the ranks of the candidate that lack a tensor which others have. What
// ranks of the reference lack, too, need not be there: a loss, say, of the last stage.
func (d *diffing) absent(p *pair) (list []int) {
	if p.cand[whole] != nil {
		return nil
	}
	alike := p.ref[whole] == nil && d.ref.ranks == d.cand.ranks
	for r := range d.cand.ranks {
		if p.cand[r] == nil && !(alike && p.ref[r] == nil) {
			list = append(list, r)
		}
	}
	return list
}

// missing returns the names of the tensors that a has and b does not.
func missing(a, b *side) []string {
	var list []string
	for _, k := range a.order {
		if b.blocks[k] == nil && !slices.Contains(list, k.name) && len(list) < 1000 {
			list = append(list, k.name)
		}
	}
	return list
}

// precisions finds in which precision the runs compute: that of a good part of their
// tensors.
func (d *diffing) precisions() {
	var ref, cand []float64
	for _, p := range d.pairs {
		if epsilon(p.refDT) > 0 && epsilon(p.candDT) > 0 {
			ref = append(ref, epsilon(p.refP))
			cand = append(cand, max(epsilon(p.candDT), 0))
		}
	}
	d.refEps, d.candEps = quantile(ref, 0.75), quantile(cand, 0.25)
}

// quantile returns the value under which a part of list lies.
func quantile(list []float64, part float64) float64 {
	if len(list) == 0 {
		return 0
	}
	s := slices.Clone(list)
	slices.Sort(s)
	return s[min(len(s)-1, int(part*float64(len(s))))]
}

// scales finds the typical magnitude of each class in each step.
func (d *diffing) scales() {
	all := map[family][]float64{}
	for _, p := range d.pairs {
		f := familyOf(p)
		all[f] = append(all[f], p.scale)
	}
	d.families, d.gradients = map[family]float64{}, map[key]*pair{}
	for _, p := range d.pairs {
		if classOf(p.name) == gradient {
			d.gradients[key{p.step, core(p.name)}] = p
		}
	}
	for f, list := range all {
		d.families[f] = quantile(list, 0.5)
	}
}

// depth returns how many layers of arithmetic stand before a tensor: those of the forward
// pass, for gradients the backward pass too, and as much again for each step before.
func (d *diffing) depth(p *pair) float64 {
	l, n := float64(d.last+1), float64(layerOf(p.name)+1)
	if layerOf(p.name) < 0 && partOf(p.name) > 1 {
		n = l
	}
	switch classOf(p.name) {
	case activation:
	case loss:
		n = l
	case gradient:
		n = 2*l - n
	default:
		n = 2 * l
	}
	return 1 + n + 2*l*float64(max(p.step-d.first, 0))
}

// tolerance returns how much the rms of a difference may be, relative to that of the
// reference.
func (d *diffing) tolerance(p *pair) float64 {
	if d.o.Rtol > 0 {
		return d.o.Rtol
	}
	eps := max(epsilon(p.refDT), epsilon(p.refP), d.refEps, d.candEps)
	if eps == 0 { // integers
		return 0
	}
	if eps < 1e-4 {
		if p.step > d.first || classOf(p.name) >= state {
			eps *= 5 // an optimizer like Adam makes steps of one size of errors of any
		}
		return min(16*eps*math.Pow(d.depth(p), 1.5), 1e-3)
	}
	return min(5*eps*math.Sqrt(d.depth(p)), 0.25)
}
