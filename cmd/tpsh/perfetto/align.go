package perfetto

import "math"

// align moves the clocks of processes, which are those of hosts, so that what they
// saw of each other fits: no member ends a collective, and none a receive, before
// another has begun it. Each is held against the first of its job. A clock that
// fits as it is stays.
func align(processes []Process) {
	first := map[string]int{}
	for i, p := range processes {
		if _, known := first[p.Job]; !known {
			first[p.Job] = i
			continue
		}
		lo, hi := bounds(processes[first[p.Job]], p)
		if lo > hi {
			lo, hi = hi, lo // they differ by more than clocks do: the middle is as good as any
		}
		shift := min(max(0, lo), hi)
		if shift != 0 && lo > math.MinInt64/4 && hi < math.MaxInt64/4 {
			shift = lo + (hi-lo)/2
		}
		if shift != 0 {
			for k := range p.Rank.Events {
				p.Rank.Events[k].Begin += shift
			}
		}
	}
}

// bounds returns by how much the clock of q may be moved, at least and at most, so
// that it fits that of p.
func bounds(p, q Process) (lo, hi int64) {
	lo, hi = math.MinInt64/2, math.MaxInt64/2
	at := map[string]int{}
	for i := range p.Rank.Events {
		if e := &p.Rank.Events[i]; e.Group != "" {
			at[callKey(p, e)] = i
		}
	}
	for i := range q.Rank.Events {
		b := &q.Rank.Events[i]
		if b.Group == "" {
			continue
		}
		k, both := at[callKey(q, b)]
		if !both {
			continue
		}
		a := &p.Rank.Events[k]
		if b.Name != "recv" { // a ends after b has begun
			hi = min(hi, a.Begin+a.Duration-b.Begin)
		}
		if b.Name != "send" { // b ends after a has begun
			lo = max(lo, a.Begin-b.Begin-b.Duration)
		}
	}
	return lo, hi
}
