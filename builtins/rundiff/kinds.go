package rundiff

import (
	"fmt"
	"math"
	"slices"
	"strings"

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
		name := q.dimName(l, m)
		q.add(finding{kind: MissingSum, meshDim: name, rest: apart(s, x), says: fmt.Sprintf("the sum over dim %s of the mesh, of %d ranks, was not taken: the ranks have the summands", name, l.mesh[m])})
		if q.twins(l, m) {
			continue // there is a dim of fewer ranks
		}
		q.add(finding{kind: MissingSum, meshDim: name, rest: apart(scaleAll(s, 1/n), x), says: fmt.Sprintf("the mean over dim %s of the mesh, of %d ranks, was not taken: each rank has its own", name, l.mesh[m])})
		q.residual(s, x, l, m)
		q.wrongMeshDim(s, x, l, m)
	}
	if len(l.mesh) > 1 {
		all := make([]int, len(l.mesh))
		for i := range all {
			all[i] = i
		}
		s := reduced(l, q.c, all, false)
		if cut(l) < 0 {
			q.add(finding{kind: MissingSum, meshDim: words(q.dimNames(l)), rest: apart(s, x), says: "the sum over all ranks was not taken: they have the summands"})
			q.add(finding{kind: MissingSum, meshDim: words(q.dimNames(l)), rest: apart(scaleAll(s, 1/float64(len(q.c))), x), says: "the mean over all ranks was not taken: each rank has its own"})
		}
	}
}

func (q *probe) dimNames(l *layout) []string {
	var list []string
	for m := range l.mesh {
		list = append(list, q.dimName(l, m))
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
			if sameShape(q.c[i].shape, q.c[g[0]].shape) && distance(q.c[i], q.c[g[0]]) > 1e-6*q.c[g[0]].rms() {
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
	f := finding{kind: MissingSum, meshDim: q.dimName(l, m), says: fmt.Sprintf("the sum over dim %s of the mesh, of %d ranks, was not taken, and each rank has added the same to its summand", q.dimName(l, m), l.mesh[m])}
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
		name := q.dimName(l, m)
		says := fmt.Sprintf("the sum was taken over dim %s of the mesh, and not over dim %s", q.dimName(l, o), name)
		if _, ok := l.placements[o].Shard(); ok {
			// Ranks of the other dim hold other parts, which were added to each other.
			want := reduced(l, x, []int{o}, false)
			q.add(finding{kind: WrongDim, meshDim: name, rest: apart(s, want), says: says})
			q.add(finding{kind: WrongDim, meshDim: name, rest: apart(s, scaleAll(want, 1/float64(l.mesh[o]))), says: says})
			q.wrongWithBias(s, want, l, m, o, says)
			continue
		}
		q.add(finding{kind: WrongDim, meshDim: name, rest: apart(s, scaleAll(x, float64(l.mesh[o]))), says: says})
	}
}

// wrongWithBias is wrongMeshDim where each rank has added a bias.
func (q *probe) wrongWithBias(s, want []*array, l *layout, m, o int, says string) {
	rest := 0.0
	for i := range s {
		if !sameShape(s[i].shape, want[i].shape) || len(s[i].shape) < 2 {
			return
		}
		extra := s[i].plus(-1, want[i])
		rest = max(rest, relative(distance(extra, columnMeans(extra)), want[i].rms()))
	}
	q.add(finding{kind: WrongDim, meshDim: q.dimName(l, m), rest: rest, says: says})
}

// factors finds blocks that are those of the reference times a number.
func (q *probe) factors(x []*array, l *layout) {
	f := make([]float64, len(x))
	y := make([]*array, len(x))
	elements := 0
	for i := range x {
		if !sameShape(x[i].shape, q.c[i].shape) {
			return
		}
		elements += len(x[i].data)
		if xx := dot(x[i], x[i]); xx > 0 {
			f[i] = dot(q.c[i], x[i]) / xx
		}
		y[i] = x[i].scaled(f[i])
	}
	all := total(q.c, x)
	if uniform := scaleAll(x, all); apart(q.c, uniform) < q.near*math.Abs(all) && len(x[0].data) > 1 || q.knownFactor(all, l) && apart(q.c, uniform) < q.near*math.Abs(all) {
		g := q.named(all, l)
		g.rest = apart(q.c, uniform) / math.Abs(all)
		if math.Abs(all-1) > q.near {
			q.add(g)
		}
		return
	}
	if rest := apart(q.c, y); elements > 4*len(x) && len(x) > 1 && slices.Min(f) > 0.05 {
		g := finding{kind: Factor, rest: rest, ranks: q.which(), says: fmt.Sprintf("the ranks' blocks are those of the reference, each times a number of its own: %.4g", f)}
		squares := 0.0
		for _, v := range f {
			squares += 1 / (v * v)
		}
		if n := float64(len(f)); math.Abs(squares-1) < 0.02 || math.Abs(squares-n) < 0.02*n && len(distinct(f)) > 1 {
			g.kind, g.says = MissingSum, "each rank has divided by the norm of its own part: the sum of squares was not taken over the ranks"
		}
		q.add(g)
	}
}

// distinct returns the values of list that are not about the same.
func distinct(list []float64) []float64 {
	var out []float64
	for _, v := range list {
		if !slices.ContainsFunc(out, func(w float64) bool { return math.Abs(v-w) < 1e-3*math.Abs(w) }) {
			out = append(out, v)
		}
	}
	return out
}

// total returns the number by which all of x is to be multiplied to be nearest to c.
func total(c, x []*array) float64 {
	cx, xx := 0.0, 0.0
	for i := range x {
		cx, xx = cx+dot(c[i], x[i]), xx+dot(x[i], x[i])
	}
	if xx == 0 {
		return 0
	}
	return cx / xx
}

// sizes returns the numbers of ranks that a factor may stem from, with the dims of the mesh.
func (q *probe) sizes(l *layout) map[int]string {
	all := map[int]string{}
	if l == nil {
		if plan := q.d.o.Plan; plan != nil {
			for i, n := range plan.Mesh {
				all[n] = q.dimName(nil, i)
			}
		}
		if n := max(q.d.cand.ranks, q.d.ref.ranks); n > 1 && all[n] == "" {
			all[n] = ""
		}
		return all
	}
	n := 1
	for m, size := range l.mesh {
		n *= size
		if _, cut := l.placements[m].Shard(); !cut && all[size] == "" {
			all[size] = q.dimName(l, m)
		}
	}
	if cut(l) < 0 && all[n] == "" {
		all[n] = words(q.dimNames(l))
	}
	return all
}

// knownFactor reports whether a number is one that ranks explain.
func (q *probe) knownFactor(f float64, l *layout) bool {
	for n := 2; n <= max(2, q.d.cand.ranks, q.d.ref.ranks); n++ {
		for _, g := range []float64{float64(n), 1 / float64(n), math.Sqrt(float64(n)), 1 / math.Sqrt(float64(n))} {
			if math.Abs(f-g) < 2e-3*g {
				return true
			}
		}
	}
	return false
}

// named says of a factor what it is: that of a sum taken twice, or of a mean in its place,
// where ranks hold one part together; just a factor where each holds its own.
func (q *probe) named(f float64, l *layout) finding {
	for n, dim := range q.sizes(l) {
		if n < 2 {
			continue
		}
		k := float64(n)
		switch {
		case math.Abs(f-k) < 0.02*k:
			return finding{kind: DoubleSum, factor: k, meshDim: dim, says: fmt.Sprintf("it is %d times the reference: the sum over %d ranks that have it already was taken again", n, n)}
		case math.Abs(f-1/k) < 0.02/k:
			return finding{kind: MeanForSum, factor: 1 / k, meshDim: dim, says: fmt.Sprintf("it is the reference divided by %d: the mean over %d ranks in the place of the sum", n, n)}
		}
	}
	g := finding{kind: Factor, factor: f, says: fmt.Sprintf("it is %.6g times the reference", f)}
	for n := 2; n <= 1<<16; n++ {
		k := float64(n)
		for _, r := range []struct {
			f    float64
			says string
		}{{k, "which is %d"}, {1 / k, "which is 1/%d"}, {math.Sqrt(k), "the root of %d"}, {1 / math.Sqrt(k), "1 over the root of %d"}} {
			if math.Abs(f-r.f) < min(0.2*q.near, 2e-3)*r.f || q.d.coarse() && n <= 64 && math.Abs(f-r.f) < 0.01*r.f {
				g.says += fmt.Sprintf(", "+r.says, n)
				if math.Abs(f-r.f) < 1e-3*r.f {
					g.factor = r.f
				}
				return g
			}
		}
		if n > 4096 && math.Abs(f) < 60 {
			break
		}
	}
	return g
}

// mixed finds a sum taken twice, or a mean for a sum, under something that was added to it
// since: the candidate is a times the reference plus b times an earlier tensor, or a bias.
func (q *probe) mixed(x []*array, l *layout) {
	for n, dim := range q.sizes(l) {
		if n < 2 || q.w == nil {
			continue
		}
		for _, t := range []struct {
			f    float64
			kind string
			says string
		}{
			{float64(n), DoubleSum, "a sum over %d ranks that had it already was taken again, before something was added"},
			{1 / float64(n), MeanForSum, "the mean over %d ranks in the place of the sum, before something was added"},
		} {
			// c = f (x - b) + b, so c - f x = (1 - f) b
			worst := 0.0
			extra := make([]*array, len(x))
			for i := range x {
				if !sameShape(x[i].shape, q.c[i].shape) || len(x[i].shape) < 2 {
					return
				}
				extra[i] = q.c[i].plus(-t.f, x[i]).scaled(1 / (1 - t.f))
				worst = max(worst, relative(distance(extra[i], columnMeans(extra[i])), x[i].rms()))
			}
			f := finding{kind: t.kind, factor: t.f, meshDim: dim, says: fmt.Sprintf(t.says, n), rest: worst}
			q.add(f)
			for _, e := range q.earlier(q.w.shape) {
				f.rest = 0
				for i := range x {
					part := e
					if l != nil {
						part = e.slice(l.box(q.w.shape, i))
					}
					if !sameShape(part.shape, extra[i].shape) {
						return
					}
					f.rest = max(f.rest, relative(distance(extra[i], part), x[i].rms()))
				}
				q.add(f)
			}
		}
	}
}

// stale finds what the reference had in the step before, or will have in the next.
func (q *probe) stale(l *layout) {
	for _, step := range []int{-1, 1, -2} {
		w := q.other(step)
		if w == nil {
			continue
		}
		now := q.other(0)
		if now == nil || !sameShape(now.shape, w.shape) {
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
			if !sameShape(w.shape, q.w.shape) {
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
		if !sameShape(q.c[i].shape, old[i].shape) {
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

// parts finds blocks of ranks, or regions, that are zero, and a term that some ranks lack.
func (q *probe) parts(x []*array, l *layout) {
	var zero, trained, differ []int // trained: it was zero, and has been trained since
	rest := 0.0
	for i := range x {
		if !sameShape(x[i].shape, q.c[i].shape) {
			return
		}
		e := relative(distance(q.c[i], x[i]), x[i].rms())
		switch {
		case x[i].rms() > 0 && q.c[i].maxAbs() <= 1e-6*x[i].maxAbs():
			zero = append(zero, i)
		case classOf(q.p.name) == parameter && q.c[i].rms() < form*x[i].rms():
			trained = append(trained, i)
		case e > max(2*q.p.expected, q.near/16):
			differ = append(differ, i)
		default:
			rest = max(rest, e)
		}
	}
	if len(zero) > 0 && len(differ) == 0 && l != nil && len(zero) < len(x) {
		q.add(finding{kind: MissingPart, ranks: q.ranksAt(zero, l), rest: rest, says: fmt.Sprintf("the part of ranks %v is zero", q.ranksAt(zero, l))})
	}
	if len(trained) > 0 && len(trained) < len(x) && l != nil {
		q.found = append(q.found, finding{kind: MissingPart, ranks: q.ranksAt(trained, l), rest: q.near, says: fmt.Sprintf("the part of ranks %v was zero, before it was trained", q.ranksAt(trained, l))})
	}
	q.zeroRegion(x, l)
	q.lacksBias(x, differ, l)
	if len(differ) > 0 && len(differ) < len(x) && len(zero) == 0 && l != nil && cut(l) < 0 {
		q.lacksAddend(x, differ, l)
	}
	if l != nil && cut(l) < 0 || l == nil && len(x) == 1 {
		q.lacksSummand(x, l)
	}
}

func (q *probe) ranksAt(list []int, l *layout) []int {
	var out []int
	for _, i := range list {
		if l != nil && i < len(l.ranks) {
			out = append(out, l.ranks[i])
		}
	}
	slices.Sort(out)
	return out
}

// zeroRegion finds elements that are zero where the reference's are not, all others being
// right.
func (q *probe) zeroRegion(x []*array, l *layout) {
	count, all := 0, 0
	y := make([]*array, len(x))
	var ranks []int
	for i := range x {
		y[i] = &array{x[i].shape, slices.Clone(x[i].data)}
		here := 0
		for k, v := range q.c[i].data {
			if v == 0 && x[i].data[k] != 0 {
				y[i].data[k] = 0
				here++
			}
		}
		if here > 0 {
			ranks = append(ranks, i)
		}
		count, all = count+here, all+len(x[i].data)
	}
	if count*50 < all || count == all {
		return
	}
	q.add(finding{kind: MissingPart, ranks: q.ranksAt(ranks, l), rest: apart(q.c, y), says: fmt.Sprintf("%d of %d elements are zero where the reference's are not", count, all)})
}

// lacksBias finds the same difference in every row, which is a bias that is missing on some
// ranks, or on all.
func (q *probe) lacksBias(x []*array, differ []int, l *layout) {
	if len(differ) == 0 {
		return
	}
	rest, zero := 0.0, true
	biases := q.biases()
	found := ""
	for _, i := range differ {
		s := x[i].shape
		if len(s) < 2 || s[len(s)-1]*4 > len(x[i].data) {
			return
		}
		extra := x[i].plus(-1, q.c[i])
		means := columnMeans(extra)
		rest = max(rest, relative(distance(extra, means), extra.rms()))
		zero = zero && means.rms() == 0
		row := &array{s[len(s)-1:], means.data[:s[len(s)-1]]}
		for name, b := range biases {
			if contains(b, row, q.near) {
				found = name
			}
		}
	}
	if zero || rest > 0.05 {
		return
	}
	says := "all rows differ by the same: a bias is missing"
	if found != "" {
		says = fmt.Sprintf("%s was not added", found)
		rest /= 16
	}
	q.add(finding{kind: MissingPart, ranks: q.partOfRanks(differ, l), rest: rest * q.near, says: says})
}

// partOfRanks returns the ranks at places, or none if these are all.
func (q *probe) partOfRanks(list []int, l *layout) []int {
	if l == nil || len(list) == len(l.ranks) {
		return nil
	}
	return q.ranksAt(list, l)
}

// biases returns the reference's biases of the layer, by name.
func (q *probe) biases() map[string]*array {
	all := map[string]*array{}
	for _, p := range q.d.pairs {
		if strings.Contains(p.name, "bias") && classOf(p.name) == parameter && layerOf(p.name) == layerOf(q.p.name) && p.step <= q.d.first && p.fit != nil && p.fit.w != nil && len(all) < 20 {
			all[p.name] = p.fit.w
		}
	}
	return all
}

// contains reports whether row is, about, one of the equal parts of b.
func contains(b, row *array, near float64) bool {
	n := len(row.data)
	for at := 0; n > 0 && at+n <= len(b.data); at += n {
		part := &array{row.shape, b.data[at : at+n]}
		if relative(distance(part, row), row.rms()) < max(near, 0.05) {
			return true
		}
	}
	return false
}

// lacksAddend finds some ranks' copies of one tensor to differ while others' are right.
func (q *probe) lacksAddend(x []*array, differ []int, l *layout) {
	ranks := q.ranksAt(differ, l)
	q.found = append(q.found, finding{kind: MissingPart, weak: true, ranks: ranks, rest: q.near, says: fmt.Sprintf("ranks %v have something else than the others, which are right", ranks)})
}

// lacksSummand finds, of a tensor that all ranks have alike, the sum of the reference without
// what one rank would add: the sum lacks an earlier tensor's part that belongs to a rank, which
// shows as a product: the difference, as a matrix, has the rank of that part.
func (q *probe) lacksSummand(x []*array, l *layout) {
	n := max(q.d.cand.ranks, q.d.ref.ranks)
	if n < 2 || len(x[0].data) < 16 || len(x[0].shape) < 2 {
		return
	}
	diff := x[0].plus(-1, q.c[0])
	f := dot(diff, x[0]) / dot(x[0], x[0])
	if f < 0.3/float64(n) || f > 0.97 || relative(diff.rms(), x[0].rms()) > 2 {
		return
	}
	// A part of a sum of n, about as large as the n-th part of it, and not otherwise formed.
	rest := relative(distance(diff, x[0].scaled(f)), x[0].rms())
	if share := f * float64(n); share > 0.3 && share < 2.5 && rest > 4*q.near {
		q.found = append(q.found, finding{kind: MissingPart, weak: true, rest: 4 * q.near, says: fmt.Sprintf("as much is missing as one of %d ranks adds: one rank's part is not in the sum", n)})
	}
}

// norms finds norms of a part only, and of a part counted twice.
func (q *probe) norms(x []*array) {
	want := x[0].data[0]
	lo, hi := math.Inf(1), 0.0
	for _, c := range q.c {
		lo, hi = min(lo, c.data[0]), max(hi, c.data[0])
	}
	squares := 0.0
	for _, c := range q.c {
		squares += c.data[0] * c.data[0]
	}
	switch {
	case len(q.c) > 1 && hi-lo > 1e-4*want && math.Sqrt(squares) >= want*0.999:
		q.add(finding{kind: MissingSum, says: "each rank has the norm of its own part: the sum of squares was not taken over the ranks"})
	case hi < want:
		q.add(finding{kind: MissingPart, factor: hi / want, says: "the norm is that of a part only"})
	default:
		for _, p := range q.d.pairs {
			if p.step != q.p.step || classOf(p.name) != gradient || p.fit == nil || p.fit.w == nil {
				continue
			}
			g := p.fit.w.rms() * p.fit.w.rms() * float64(len(p.fit.w.data))
			if math.Abs(hi*hi-want*want-g) < 0.02*g && g > 1e-4*want*want {
				q.add(finding{kind: DoubleSum, says: fmt.Sprintf("the square of %s is in it twice", p.name)})
			}
		}
	}
}
