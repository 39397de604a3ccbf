package hang

import (
	"cmp"
	"slices"
)

// blame adds a culprit, once.
func (v *Verdict) blame(rank int, kind string, c *Call, where string) {
	if slices.ContainsFunc(v.Culprits, func(o Culprit) bool { return o.Rank == rank }) {
		return
	}
	v.Culprits = append(v.Culprits, Culprit{rank, kind, c.String(), c.Group.String(), where, c})
	slices.SortStableFunc(v.Culprits, func(a, b Culprit) int { return cmp.Compare(a.Rank, b.Rank) })
}

// blameDifferences names those whose calls are not like most. Of two groups
// with ranks in common only the first difference counts: the other follows.
func (v *Verdict) blameDifferences() {
	slices.SortStableFunc(v.diffs, func(a, b *difference) int { return cmp.Compare(a.time(), b.time()) })
	seen := map[int]bool{}
	var kept []*difference
	for _, d := range v.diffs {
		if slices.ContainsFunc(d.calls, func(c *Call) bool { return seen[c.Rank] }) {
			continue
		}
		kept = append(kept, d)
		for _, c := range d.calls {
			seen[c.Rank] = true
		}
		for _, c := range d.odd {
			v.blame(c.Rank, CallsDiffer, c, c.Where())
		}
	}
	v.diffs = kept
}

// time returns when the first of the calls was made.
func (d *difference) time() int64 {
	t := d.calls[0].Time
	for _, c := range d.calls {
		t = min(t, c.Time)
	}
	return t
}

// blameEnds names the ranks at the ends of chains of waits.
func (v *Verdict) blameEnds() {
	var weak []func()
	for _, set := range v.graph.ends() {
		if len(set) > 1 {
			v.blameCycle(set)
		} else if r := v.job.Ranks[set[0]]; r != nil {
			weak = append(weak, v.blameEnd(r)...)
		}
	}
	// A rank that only a send or receive waits for may itself be in one of
	// which nothing is recorded.
	if len(v.Culprits) == 0 {
		for _, name := range weak {
			name()
		}
	}
}

// blameEnd names a rank at which waits end, or returns what names it if nothing
// better is found.
func (v *Verdict) blameEnd(r *Rank) (weak []func()) {
	if c := v.graph.stuck[r.ID]; c != nil {
		v.blame(r.ID, NotFinished, c, c.Where())
		return nil
	}
	if v.graph.open[r.ID] != nil {
		if c := v.graph.lags(r); c != nil {
			v.blame(r.ID, NotFinished, c, c.Where())
		}
		return nil
	}
	w, strong := v.graph.against(r.ID)
	if w == nil || r.now != nil || r.unsure() {
		return nil // it is in a call itself, or may be, of which it is not known for whom it waits
	}
	name := func() { v.blame(r.ID, NeverCalled, v.missed(r, w), whereLast(r)) }
	if !strong {
		return []func(){name}
	}
	name()
	return nil
}

// blameCycle names the ranks of a cycle. Where one waits for the end of a
// transfer that the other has made, but for something before, the cycle may be
// of the recording alone: then nobody is named.
func (v *Verdict) blameCycle(set []int) {
	inner := map[int]*wait{}
	for _, id := range set {
		for i, w := range v.graph.waits[id] {
			if _, inside := slices.BinarySearch(set, w.to); !inside {
				continue
			}
			if w.call.P2P && w.why == behind {
				return
			}
			if inner[id] == nil || w.call.Record < inner[id].call.Record {
				inner[id] = &v.graph.waits[id][i]
			}
		}
	}
	for _, id := range set {
		c := inner[id].call
		v.blame(id, Cycle, c, c.Where())
	}
}

func whereLast(r *Rank) string {
	if c := r.lastOf(); c != nil {
		return c.Where()
	}
	return ""
}

// against returns the earliest wait for a rank that has not made a call, and
// whether that is a call of a whole group.
func (g *graph) against(id int) (first *wait, strong bool) {
	for _, from := range g.job.ids() {
		for _, w := range g.out(from) {
			if w.to != id || w.why != notMade && w.why != notPosted {
				continue
			}
			isStrong := w.why == notMade
			if first == nil || isStrong && !strong || isStrong == strong && w.call.Time < first.call.Time {
				first, strong = &w, isStrong
			}
		}
	}
	return first, strong
}

// missed returns the first call of w's group that peers made and r did not.
func (v *Verdict) missed(r *Rank, w *wait) *Call {
	if w.why == notPosted {
		return w.call
	}
	at, _ := r.made(w.call.Group)
	first := w.call
	for _, c := range v.graph.callsOf(w.call.Group) {
		if c.At.Compare(at) > 0 && c.At.Compare(first.At) < 0 {
			first = c
		}
	}
	return first
}

// lags returns a pending call of r that a peer has finished, or nil.
func (g *graph) lags(r *Rank) *Call {
	for _, c := range r.Calls {
		if c.Done != Pending || c.P2P || c != r.firstPending(c.Group) {
			continue
		}
		for _, id := range c.Group.Members {
			if p := g.job.Ranks[id]; p != nil && id != r.ID && g.progress(p, c) == past {
				return c
			}
		}
	}
	return nil
}
