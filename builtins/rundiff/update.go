package rundiff

import (
	"fmt"
	"math"
	"slices"
)

// update finds a parameter to have been changed by the optimizer by a multiple of what it
// should: as by a count of steps that is one off.
func (q *probe) update(x []*array) {
	for step := range 2 {
		k, ok := ratio(q.d, q.p, step)
		if !ok || !q.d.alikeUpdates(q.p, step, k) {
			continue
		}
		t := float64(q.p.step + step - q.d.first + 1)
		for _, off := range []float64{1, -1} {
			for _, b2 := range []float64{0.999, 0.99, 0.95, 0.98} {
				if want := adam(t+off, 0.9, b2) / adam(t, 0.9, b2); t+off >= 1 && math.Abs(k/want-1) < 0.07 && math.Abs(want-1) > 0.07 {
					q.found = append(q.found, finding{kind: Stale, rest: q.near / 2, says: fmt.Sprintf("the optimizer changed it by %.3f of what it should: Adam's correction of its averages is that of step %+.0f", k, off)})
					return
				}
			}
		}
		if math.Abs(k-1) > 0.02 && k > 0.01 && k < 100 {
			q.found = append(q.found, finding{kind: Factor, factor: k, rest: q.near / 2, says: fmt.Sprintf("the optimizer changed it by %.4g of what it should", k)})
			return
		}
	}
}

// adam returns by how much Adam's correction makes a step larger after t of them.
func adam(t, b1, b2 float64) float64 {
	return math.Sqrt(1-math.Pow(b2, t)) / (1 - math.Pow(b1, t))
}

// alikeUpdates reports whether other parameters were changed by as much more, and no gradient
// tells another cause.
func (d *diffing) alikeUpdates(p *pair, step int, k float64) bool {
	if g := d.gradientOf(p); g != nil && g.differs() {
		return false
	}
	n := 0
	for _, o := range d.pairs {
		if o == p || o.step != p.step || classOf(o.name) != parameter || o.ok || o.explained != "" || n >= 8 {
			continue
		}
		other, ok := ratio(d, o, step)
		if !ok {
			continue
		}
		if math.Abs(other/k-1) > 0.08 {
			return false
		}
		n++
	}
	return n > 0 || len(d.pairs) < 4
}

// ratio returns by how much more the candidate changed in a step from that of the tensor on, as
// far as the two changes have one direction.
func ratio(d *diffing, p *pair, step int) (float64, bool) {
	now, before := d.byKey[key{p.step + step, p.name}], d.byKey[key{p.step + step - 1, p.name}]
	if now == nil || before == nil || now.fit == nil || before.fit == nil || now.fit.w == nil || before.fit.w == nil {
		return 0, false
	}
	xx, xc, cc := 0.0, 0.0, 0.0 // sums of products of the changes of the reference and of the candidate
	a, b := now.fit, before.fit
	if len(a.x) != len(b.x) {
		return 0, false
	}
	for i := range a.x {
		if !slices.Equal(a.x[i].shape, b.x[i].shape) || !slices.Equal(a.c[i].shape, a.x[i].shape) || !slices.Equal(b.c[i].shape, a.x[i].shape) {
			return 0, false
		}
		dx, dc := a.x[i].plus(-1, b.x[i]), a.c[i].plus(-1, b.c[i])
		xx, xc, cc = xx+dot(dx, dx), xc+dot(dx, dc), cc+dot(dc, dc)
	}
	if xx == 0 || cc == 0 || xc/math.Sqrt(xx*cc) < 0.9 {
		return 0, false
	}
	return xc / xx, true
}
