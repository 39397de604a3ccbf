package rundiff

import (
	"fmt"
	"slices"
	"strings"
)

// parts finds blocks of ranks, or regions, that are zero, and a term that some ranks lack.
func (q *probe) parts(x []*array, l *layout) {
	var zero, trained, differ []int // trained: it was zero, and has been trained since
	rest := 0.0
	for i := range x {
		if !slices.Equal(x[i].shape, q.c[i].shape) {
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
		q.lacksAddend(differ, l)
	}
	if l != nil && cut(l) < 0 || l == nil && len(x) == 1 {
		q.lacksSummand(x)
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
func (q *probe) lacksAddend(differ []int, l *layout) {
	ranks := q.ranksAt(differ, l)
	q.found = append(q.found, finding{kind: MissingPart, weak: true, ranks: ranks, rest: q.near, says: fmt.Sprintf("ranks %v have something else than the others, which are right", ranks)})
}

// lacksSummand finds, of a tensor that all ranks have alike, the sum of the reference without
// what one rank would add: the sum lacks an earlier tensor's part that belongs to a rank, which
// shows as a product: the difference, as a matrix, has the rank of that part.
func (q *probe) lacksSummand(x []*array) {
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
