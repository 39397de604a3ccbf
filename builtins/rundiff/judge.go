package rundiff

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"tpsh/internal/lazyregexp"
)

// judge says of each pair whether it differs by more than is explained.
func (d *diffing) judge() {
	for _, p := range d.pairs {
		if p.fit == nil {
			continue
		}
		p.expected = d.tolerance(p)
		p.ok = !p.bad && len(p.absent) == 0 && p.unplanned == "" && d.within(p)
		p.isSummand = p.fit.l != nil && len(p.fit.l.partial()) > 0
	}
	for _, p := range d.pairs {
		if !p.ok && p.fit != nil && !p.bad && len(p.absent) == 0 && p.unplanned == "" {
			p.explained = d.noise(p)
		}
	}
}

// floor returns which part of the typical magnitude of its family counts as the scale of a
// gradient, or of an optimizer's state, that is smaller: what is nothing but rounding errors
// of larger numbers, as the gradient of a bias of keys, has no digits to agree in.
func (d *diffing) floor() float64 {
	if d.coarse() {
		return 0.25
	}
	return 0.05
}

// coarse reports whether the runs compute in half precision.
func (d *diffing) coarse() bool { return max(d.refEps, d.candEps) > 1e-4 }

// scaleOf returns the magnitude that the differences of a tensor are relative to.
func (d *diffing) scaleOf(p *pair) float64 {
	switch classOf(p.name) {
	case gradient, state:
		return max(p.scale, d.floor()*d.families[familyOf(p)])
	}
	return p.scale
}

// familyOf returns the family of a tensor. Squares are of another magnitude.
func familyOf(p *pair) family {
	return family{p.step, classOf(p.name), strings.Contains(p.name, "sq")}
}

// within reports whether a difference is within the tolerance: in its rms, and no element far
// out of it.
func (d *diffing) within(p *pair) bool {
	if p.fit.maxAbs == 0 {
		return true
	}
	scale := d.scaleOf(p)
	if scale == 0 {
		return false
	}
	share := 1.0
	if p.scale > 0 {
		share = p.scale / scale
	}
	for _, e := range p.fit.blockBy {
		if !(e*share <= 2*p.expected) {
			return false
		}
	}
	peak := p.fit.maxAbs / scale
	return p.fit.err*share <= p.expected && (peak <= 16*p.expected || p.fit.maxRel <= 2*p.expected)
}

// noise says why a difference that is larger than the tolerance is none, or returns "".
//
// An optimizer like Adam makes steps of one size of gradients that are nothing but rounding
// errors. What such steps change has no effect: all that depends on it agrees.
func (d *diffing) noise(p *pair) string {
	limit := 0.05
	if d.coarse() {
		limit = 0.3
	}
	if p.fit.err > limit || epsilon(p.refDT) == 0 || p.isSummand {
		return ""
	}
	switch classOf(p.name) {
	case parameter, state:
		if g := d.gradientOf(p); g != nil {
			if g.scale < 0.02*d.families[familyOf(g)] {
				return "noise that the optimizer made steps of: its gradient is nothing beside those of others"
			}
			if d.elsewhere(p, g) {
				return "noise in elements of which the gradient is nothing beside that of others"
			}
			return ""
		}
		if d.share(p, func(q *pair) bool { return q.step == p.step && classOf(q.name) == classOf(p.name) }) > 0.15 {
			return ""
		}
		if d.share(p, func(q *pair) bool { return q.step == p.step+1 && classOf(q.name) <= loss }) > 0.3 {
			return ""
		}
		return "noise that the optimizer made steps of: what depends on it agrees"
	case activation:
		if d.coarse() {
			limit = 0.1
		} else {
			limit = 0.02
		}
		if p.step == d.first || p.fit.err > limit {
			return ""
		}
		n := 0
		near := d.share(p, func(q *pair) bool {
			if q.step != p.step || classOf(q.name) != activation || q.place <= p.place || n >= 12 {
				return false
			}
			n++
			return true
		})
		if n < 3 || near > 0.3 {
			return ""
		}
		return "nothing that is computed from it differs"
	}
	return ""
}

// elsewhere reports whether a parameter differs by more than is expected only in elements of
// which the gradient is nothing beside that of others.
func (d *diffing) elsewhere(p, g *pair) bool {
	if p.fit.l == nil && len(p.fit.x) != 1 || g.fit == nil || g.fit.w == nil || p.fit.w == nil || !slices.Equal(g.fit.w.shape, p.fit.w.shape) {
		return false
	}
	small := 2e-3 * g.fit.w.rms()
	s, n := 0.0, 0
	for i, x := range p.fit.x {
		grad := g.fit.w
		if p.fit.l != nil {
			grad = grad.slice(p.fit.l.box(p.fit.w.shape, i))
		}
		for k, v := range x.data {
			if math.Abs(grad.data[k]) > small {
				e := v - p.fit.c[i].data[k]
				s, n = s+e*e, n+1
			}
		}
	}
	return n > 0 && math.Sqrt(s/float64(n)) <= p.expected*p.scale
}

// gradientOf returns the gradient of the parameter that p is of, or nil.
func (d *diffing) gradientOf(p *pair) *pair {
	return d.gradients[key{p.step, core(p.name)}]
}

// core returns a name without what tells its class.
func core(name string) string {
	for _, re := range []*regexp.Regexp{gradWord.Get(), stateWord.Get(), paramPrefix.Get()} {
		name = re.ReplaceAllString(name, ".")
	}
	return strings.Trim(name, "./_-")
}

// paramPrefix is what the names of parameters may begin with.
var paramPrefix = lazyregexp.New(`(?i)^(params?|parameters?|weights?|model|master)[./]`)

// share returns which part of the tensors that which picks differ.
func (d *diffing) share(p *pair, which func(*pair) bool) float64 {
	n, bad := 0, 0
	for _, q := range d.pairs {
		if q != p && q.fit != nil && which(q) {
			if n++; !q.ok {
				bad++
			}
		}
	}
	if n == 0 {
		return 0
	}
	return float64(bad) / float64(n)
}

// differs reports whether a pair is more than explained apart.
func (p *pair) differs() bool {
	return p.fit == nil || !p.ok && p.explained == ""
}
