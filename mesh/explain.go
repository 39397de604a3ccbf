package mesh

import (
	"cmp"
	"slices"
)

// An Alternative is a plan that was considered.
type Alternative struct {
	*Plan
	Refused string // why it is no candidate, or ""
}

// Explain returns the plans that NewPlan considers, cheapest first, so that the
// first is the one it returns. To gather the whole tensor on every rank and keep
// what is wanted is refused, and the last, unless it takes less time than all others.
// It returns the errors of NewPlan.
func Explain(src, dst *Placed, itemSize int) ([]Alternative, error) {
	if err := checkPair(src, dst); err != nil {
		return nil, err
	}
	s := newSearch(src, valueTarget(src, dst, src.with), itemSize, src.with)
	var found []*path
	best := s.run(true, func(p *path) { found = append(found, p) })
	if best.before == nil { // nothing is to be done
		found = []*path{best}
	}
	quick := s.quickly(best)
	if quick != nil {
		found = append(found, quick)
	}
	slices.SortStableFunc(found, func(p, q *path) int {
		return cmp.Or(cmp.Compare(p.seconds, q.seconds), cmp.Compare(p.steps, q.steps))
	})
	var out []Alternative
	for i, p := range found {
		if !slices.ContainsFunc(found[:i], p.repeats) {
			out = append(out, Alternative{Plan: p.plan(dst)})
		}
	}
	if quick == nil {
		if p := s.gathered(); p != nil && !s.admits(p) {
			out = append(out, Alternative{p.plan(dst), "moves more than ranks lack"})
		}
	}
	return out, nil
}

// repeats reports whether p, which is no cheaper than q, goes through the same
// states. Of the paths of one step, those by different operations do not repeat
// each other.
func (p *path) repeats(q *path) bool {
	if p.steps == 1 && p.step.Op != q.step.Op {
		return false
	}
	for ; p != nil && q != nil && p.at == q.at; p, q = p.before, q.before {
	}
	return p == nil && q == nil
}

// quickly returns the path that gathers everything everywhere first if it takes less
// time than p; nil if not, as where p is one collective.
func (s *search) quickly(p *path) *path {
	calls := 0
	for q := p; q.before != nil; q = q.before {
		switch {
		case q.step.Op == Direct:
			calls += 2
		case q.step.Communicates():
			calls++
		}
	}
	if calls < 2 {
		return nil
	}
	if whole := s.gathered(); whole != nil && whole.less(p) {
		return whole
	}
	return nil
}

// gathered returns the path that gathers everything everywhere first; nil if
// there is none.
func (s *search) gathered() *path {
	p := &path{at: s.state(s.src.placements), received: make([]int, s.mesh.Size())}
	take := func(op Op, dims []int, to []Placement) {
		if p != nil && len(dims) > 0 {
			p = s.advance(p, move{op, dims, to})
		}
	}
	for run, _ := s.reducible(p.at.placements); run != nil; run, _ = s.reducible(p.at.placements) {
		take(AllReduce, run, s.reductions(p.at.placements, run)[0].to)
	}
	at := slices.Clone(p.at.placements)
	dims := s.clear(at)
	take(AllGather, dims, at)
	take(Slice, s.clear(slices.Clone(s.dst.placements)), s.dst.placements)
	return p
}

// clear makes every Shard of at Replicate, and returns their mesh dims.
func (s *search) clear(at []Placement) []int {
	var dims []int
	for i, p := range at {
		if p.cuts() {
			dims, at[i] = append(dims, i), Replicate()
		}
	}
	return dims
}
