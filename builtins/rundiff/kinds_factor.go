package rundiff

import (
	"fmt"
	"math"
	"slices"
)

// factors finds blocks that are those of the reference times a number.
func (q *probe) factors(x []*array, l *layout) {
	f := make([]float64, len(x))
	y := make([]*array, len(x))
	elements := 0
	for i := range x {
		if !slices.Equal(x[i].shape, q.c[i].shape) {
			return
		}
		elements += len(x[i].data)
		if xx := dot(x[i], x[i]); xx > 0 {
			f[i] = dot(q.c[i], x[i]) / xx
		}
		y[i] = x[i].scaled(f[i])
	}
	all := total(q.c, x)
	if uniform := scaleAll(x, all); apart(q.c, uniform) < q.near*math.Abs(all) && len(x[0].data) > 1 || q.knownFactor(all) && apart(q.c, uniform) < q.near*math.Abs(all) {
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
				all[n] = q.dimName(i)
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
			all[size] = q.dimName(m)
		}
	}
	if cut(l) < 0 && all[n] == "" {
		all[n] = words(q.dimNames(l))
	}
	return all
}

// knownFactor reports whether a number is one that ranks explain.
func (q *probe) knownFactor(f float64) bool {
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
				if !slices.Equal(x[i].shape, q.c[i].shape) || len(x[i].shape) < 2 {
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
					if !slices.Equal(part.shape, extra[i].shape) {
						return
					}
					f.rest = max(f.rest, relative(distance(extra[i], part), x[i].rms()))
				}
				q.add(f)
			}
		}
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
