package rundiff

import (
	"fmt"
	"math"
	"slices"

	"tpsh/mesh"
)

// blocks makes the checks that compare what each rank has with what it should have: x. l is
// nil if that is not known to be parts of a whole.
func (q *probe) blocks(x []*array, l *layout) {
	if len(x) != len(q.c) {
		return
	}
	if l == nil && len(q.c) > 1 {
		placements := []mesh.Placement{mesh.Replicate()}
		l = &layout{mesh: []int{len(q.c)}, ranks: q.ranks, placements: placements}
	}
	q.exactlyRounded(x)
	if l != nil {
		q.sums(x, l)
	}
	q.factors(x, l)
	q.stale(l)
	q.parts(x, l)
	q.mixed(x, l)
	if classOf(q.p.name) == parameter {
		q.update(x)
	}
	q.wholeBlocks(x, l)
	if classOf(q.p.name) == norm && len(q.c) > 0 && len(x[0].data) == 1 {
		q.norms(x)
	}
}

// exactlyRounded finds elements that are those of the reference in fewer digits.
func (q *probe) exactlyRounded(x []*array) {
	if epsilon(q.p.candP) <= epsilon(q.p.refP) {
		return
	}
	round := roundBF16
	if q.p.candP == "float16" {
		round = roundHalf
	}
	y := make([]*array, len(x))
	for i := range x {
		y[i] = &array{x[i].shape, make([]float64, len(x[i].data))}
		for k, v := range x[i].data {
			y[i].data[k] = round(v)
		}
	}
	if rest := apart(q.c, y); rest < epsilon(q.p.candP) {
		q.found = append(q.found, finding{kind: Rounded, ranks: q.which(), rest: rest / 100, says: "its elements are those of the reference, rounded to " + q.p.candP})
	}
}

// sums finds sums over dims of a mesh that were not taken, or were taken over another dim.
func (q *probe) sums(x []*array, l *layout) {
	for m := range l.mesh {
		if l.mesh[m] == 1 || !q.vary(l, m) {
			continue
		}
		n := float64(l.mesh[m])
		s := reduced(l, q.c, []int{m}, false)
		name := q.dimName(m)
		q.add(finding{kind: MissingSum, meshDim: name, rest: apart(s, x), says: fmt.Sprintf("the sum over dim %s of the mesh, of %d ranks, was not taken: the ranks have the summands", name, l.mesh[m])})
		if q.twins(l, m) {
			continue // there is a dim of fewer ranks
		}
		q.add(finding{kind: MissingSum, meshDim: name, rest: apart(scaleAll(s, 1/n), x), says: fmt.Sprintf("the mean over dim %s of the mesh, of %d ranks, was not taken: each rank has its own", name, l.mesh[m])})
		q.residual(s, x, l, m)
		q.wrongMeshDim(s, x, l, m)
	}
	if len(l.mesh) > 1 {
		s := reduced(l, q.c, identity(len(l.mesh)), false)
		if cut(l) < 0 {
			q.add(finding{kind: MissingSum, meshDim: words(q.dimNames(l)), rest: apart(s, x), says: "the sum over all ranks was not taken: they have the summands"})
			q.add(finding{kind: MissingSum, meshDim: words(q.dimNames(l)), rest: apart(scaleAll(s, 1/float64(len(q.c))), x), says: "the mean over all ranks was not taken: each rank has its own"})
		}
	}
}

func (q *probe) dimNames(l *layout) []string {
	var list []string
	for m := range l.mesh {
		list = append(list, q.dimName(m))
	}
	return list
}

// cut returns a dim of the mesh along which a tensor is cut, or -1.
func cut(l *layout) int {
	for m, p := range l.placements {
		if _, ok := p.Shard(); ok {
			return m
		}
	}
	return -1
}

// vary reports whether ranks that differ in a dim of the mesh have different blocks of one
// part.
func (q *probe) vary(l *layout, m int) bool {
	if _, ok := l.placements[m].Shard(); ok {
		return false
	}
	for _, g := range l.groups(m) {
		for _, i := range g[1:] {
			if slices.Equal(q.c[i].shape, q.c[g[0]].shape) && distance(q.c[i], q.c[g[0]]) > 1e-6*q.c[g[0]].rms() {
				return true
			}
		}
	}
	return false
}

// twins reports whether of the ranks of a mesh of one dim, which could be one of two, some have
// the same, and so the mean is taken over fewer.
func (q *probe) twins(l *layout, m int) bool {
	if len(l.mesh) > 1 || !slices.ContainsFunc(q.ls, func(o *layout) bool { return len(o.mesh) > 1 }) {
		return false
	}
	for _, g := range l.groups(m) {
		for i := range g {
			for k := range i {
				if distance(q.c[g[i]], q.c[g[k]]) <= 1e-6*q.c[g[i]].rms() {
					return true
				}
			}
		}
	}
	return false
}

func scaleAll(list []*array, f float64) []*array {
	out := make([]*array, len(list))
	for i, a := range list {
		out[i] = a.scaled(f)
	}
	return out
}

// residual finds a sum that was not taken where each rank has added something else to its
// summand, a bias or an earlier tensor, which is then in the sum once too often for all ranks
// but one.
func (q *probe) residual(s, x []*array, l *layout, m int) {
	n := float64(l.mesh[m])
	extra := make([]*array, len(x))
	for i := range x {
		extra[i] = s[i].plus(-1, x[i]).scaled(1 / (n - 1))
	}
	f := finding{kind: MissingSum, meshDim: q.dimName(m), says: fmt.Sprintf("the sum over dim %s of the mesh, of %d ranks, was not taken, and each rank has added the same to its summand", q.dimName(m), l.mesh[m])}
	flat := make([]*array, len(x))
	for i := range x {
		flat[i] = columnMeans(extra[i])
	}
	// What is left is relative to the tensor, not to what was added.
	rest := 0.0
	for i := range x {
		rest = max(rest, relative(distance(extra[i], flat[i]), x[i].rms()))
	}
	if len(x[0].shape) > 1 && x[0].shape[len(x[0].shape)-1]*2 < len(x[0].data) {
		f.rest = rest
		q.add(f)
	}
	if q.w == nil {
		return
	}
	for _, e := range q.earlier(q.w.shape) {
		rest := 0.0
		for i := range x {
			rest = max(rest, relative(distance(extra[i], e.slice(l.box(q.w.shape, i))), x[i].rms()))
		}
		f.rest = rest
		q.add(f)
	}
}

// columnMeans returns an array like a whose rows all are the mean of those of a.
func columnMeans(a *array) *array {
	out := &array{a.shape, make([]float64, len(a.data))}
	if len(a.shape) == 0 || len(a.data) == 0 {
		return out
	}
	n := a.shape[len(a.shape)-1]
	rows := len(a.data) / n
	mean := make([]float64, n)
	for i, v := range a.data {
		mean[i%n] += v / float64(rows)
	}
	for i := range out.data {
		out.data[i] = mean[i%n]
	}
	return out
}

// wrongMeshDim finds a sum that was taken over another dim of the mesh than m: the sums over m
// of what the ranks have are those over both dims.
func (q *probe) wrongMeshDim(s, x []*array, l *layout, m int) {
	for o := range l.mesh {
		if o == m || l.mesh[o] == 1 {
			continue
		}
		name := q.dimName(m)
		says := fmt.Sprintf("the sum was taken over dim %s of the mesh, and not over dim %s", q.dimName(o), name)
		if _, ok := l.placements[o].Shard(); ok {
			// Ranks of the other dim hold other parts, which were added to each other.
			want := reduced(l, x, []int{o}, false)
			q.add(finding{kind: WrongDim, meshDim: name, rest: apart(s, want), says: says})
			q.add(finding{kind: WrongDim, meshDim: name, rest: apart(s, scaleAll(want, 1/float64(l.mesh[o]))), says: says})
			q.wrongWithBias(s, want, l, m, says)
			continue
		}
		q.add(finding{kind: WrongDim, meshDim: name, rest: apart(s, scaleAll(x, float64(l.mesh[o]))), says: says})
	}
}

// wrongWithBias is wrongMeshDim where each rank has added a bias.
func (q *probe) wrongWithBias(s, want []*array, l *layout, m int, says string) {
	rest := 0.0
	for i := range s {
		if !slices.Equal(s[i].shape, want[i].shape) || len(s[i].shape) < 2 {
			return
		}
		extra := s[i].plus(-1, want[i])
		rest = max(rest, relative(distance(extra, columnMeans(extra)), want[i].rms()))
	}
	q.add(finding{kind: WrongDim, meshDim: q.dimName(m), rest: rest, says: says})
}

// stale finds what the reference had in the step before, or will have in the next.
func (q *probe) stale(l *layout) {
	for _, step := range []int{-1, 1, -2} {
		w := q.other(step)
		if w == nil {
			continue
		}
		now := q.other(0)
		if now == nil || !slices.Equal(now.shape, w.shape) {
			continue
		}
		says := fmt.Sprintf("it is what the reference has %d steps before", -step)
		switch step {
		case -1:
			says = "it is what the reference has in the step before"
		case 1:
			says = "it is what the reference has in the step after"
		}
		old, cur := []*array{w}, []*array{now}
		if l != nil {
			if !slices.Equal(w.shape, q.w.shape) {
				continue
			}
			old, cur = make([]*array, len(q.c)), make([]*array, len(q.c))
			for i := range q.c {
				old[i], cur[i] = w.slice(l.box(w.shape, i)), now.slice(l.box(w.shape, i))
			}
		}
		if len(old) != len(q.c) || apart(cur, old) < 2*q.near && apart(cur, old) < 4*apart(q.c, old) {
			continue // the two steps are alike
		}
		q.add(finding{kind: Stale, ranks: q.which(), rest: apart(q.c, old), says: says})
		q.staleParts(old, cur, says)
	}
}

// staleParts finds blocks, or rows of elements, that are stale while the others are not.
func (q *probe) staleParts(old, cur []*array, says string) {
	stale, pick := 0, make([]*array, len(old))
	for i := range old {
		if !slices.Equal(q.c[i].shape, old[i].shape) {
			return
		}
		pick[i] = &array{old[i].shape, slices.Clone(cur[i].data)}
		row := 1
		if n := len(old[i].shape); n > 0 {
			row = max(1, old[i].shape[n-1])
		}
		for at := 0; at+row <= len(old[i].data); at += row {
			a, b := 0.0, 0.0
			for k := at; k < at+row; k++ {
				a += math.Abs(q.c[i].data[k] - old[i].data[k])
				b += math.Abs(q.c[i].data[k] - cur[i].data[k])
			}
			if a < b {
				copy(pick[i].data[at:at+row], old[i].data[at:at+row])
				stale++
			}
		}
	}
	if rest := apart(q.c, pick); stale > 0 && rest < apart(q.c, cur)/20 {
		q.add(finding{kind: Stale, ranks: q.which(), rest: rest, says: "in part " + says})
	}
}
