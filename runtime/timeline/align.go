package timeline

import (
	"fmt"
	"math"
)

// Align moves the clocks of the ranks of one job, which are those of hosts, so that
// what they saw of each other fits: no member ends a collective, and none a receive,
// before another has begun it. Each is held against the first. A clock that fits as
// it is stays.
func Align(ranks []*Rank) {
	for _, r := range ranks[min(1, len(ranks)):] {
		lo, hi := bounds(ranks[0], r)
		if lo > hi {
			lo, hi = hi, lo // they differ by more than clocks do: the middle is as good as any
		}
		shift := min(max(0, lo), hi)
		if shift != 0 && lo > math.MinInt64/4 && hi < math.MaxInt64/4 {
			shift = lo + (hi-lo)/2
		}
		for k := range r.Events {
			r.Events[k].Begin += shift
		}
	}
}

// bounds returns by how much the clock of q may be moved, at least and at most, so
// that it fits that of p.
func bounds(p, q *Rank) (lo, hi int64) {
	lo, hi = math.MinInt64/2, math.MaxInt64/2
	at := map[string]int{}
	for i := range p.Events {
		if e := &p.Events[i]; e.Group != "" {
			at[p.Key(e)] = i
		}
	}
	for i := range q.Events {
		b := &q.Events[i]
		if b.Group == "" {
			continue
		}
		k, both := at[q.Key(b)]
		if !both {
			continue
		}
		a := &p.Events[k]
		if b.Name != "recv" { // a ends after b has begun
			hi = min(hi, a.Begin+a.Duration-b.Begin)
		}
		if b.Name != "send" { // b ends after a has begun
			lo = max(lo, a.Begin-b.Begin-b.Duration)
		}
	}
	return lo, hi
}

// Key returns a text that names a call of the rank on all its members, or a message
// on both its ends.
func (r *Rank) Key(e *Event) string {
	switch e.Name {
	case "send":
		return fmt.Sprint(e.Group, "|", r.Rank, ">", e.Peer, "|", e.Tag, "|", e.Number)
	case "recv":
		return fmt.Sprint(e.Group, "|", e.Peer, ">", r.Rank, "|", e.Tag, "|", e.Number)
	}
	return fmt.Sprint(e.Group, "|", e.Number)
}
