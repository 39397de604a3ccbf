package hang

import "slices"

// waitForUnknown returns the waits in calls of a group of which not all members
// are known, and which all that are known have made: some other rank is in it.
func (g *graph) waitForUnknown(grp *Group) (out []wait) {
	if grp.Exact {
		return nil
	}
	for _, id := range grp.Members {
		r := g.job.Ranks[id]
		if r == nil {
			continue
		}
		c := r.now
		if c == nil || c.P2P || c.Group != grp || slices.ContainsFunc(g.waits[id], func(w wait) bool { return w.call == c }) {
			continue
		}
		to, ok := g.guess(grp, id)
		if !ok {
			g.lost, to = append(g.lost, c), nil
		}
		for _, from := range append(g.gaveUp(grp, c), id) {
			for _, other := range to {
				why := notMade
				if g.job.Ranks[other] == nil {
					why = noWord
				}
				out = append(out, wait{from, other, c, why})
			}
		}
		delete(g.open, id)
	}
	return out
}

// gaveUp returns the members of grp whose last call is c's, which others still
// wait in, and that is over without a word of how: gloo's is, too, when a peer's
// process has gone. Where no member finishes before all have done their part,
// theirs failed, and they wait for whom c waits.
func (g *graph) gaveUp(grp *Group, c *Call) (ids []int) {
	for _, id := range grp.Members {
		r := g.job.Ranks[id]
		if r == nil || r.now != nil || !joint[c.Op] {
			continue
		}
		if own := r.lastOf(); own != nil && own == r.find(grp, c.At) && own.Done == Done && !own.Sure {
			ids = append(ids, id)
		}
	}
	return ids
}

// guess returns the ranks for which a rank can wait in a group of which they
// are not known to be members; ok is false where the evidence leaves a choice.
//
// A rank that already waits for this one has its own reason to be late. Of the
// others, one that waits for nobody is late without a reason; if there is just
// one such, it is the one. If there is none, all are part of a cycle.
func (g *graph) guess(grp *Group, id int) (to []int, ok bool) {
	if grp.Several {
		return nil, false
	}
	var all, free, idle []int
	outsiders := g.job.outsiders(grp)
	for other := range g.job.World {
		_, member := slices.BinarySearch(grp.Members, other)
		if _, outside := slices.BinarySearch(outsiders, other); member || outside {
			continue
		}
		all = append(all, other)
		if slices.ContainsFunc(g.waits[other], func(w wait) bool { return w.to == id }) {
			continue
		}
		free = append(free, other)
		r := g.job.Ranks[other]
		if r != nil && (r.unsure() || r.now != nil && g.mayWait(r.now, id)) {
			return nil, false
		}
		if r == nil || r.now == nil {
			idle = append(idle, other)
		}
	}
	switch {
	case len(all) == 0:
		return nil, false
	case len(free) == 0:
		return all, len(all) == 1 && len(grp.Members) == 1
	case len(idle) == 1:
		return idle, true
	case len(idle) == 0:
		return free, true
	}
	return nil, false
}

// mayWait reports whether it is not known if the call c waits for a rank.
func (g *graph) mayWait(c *Call, id int) bool {
	if _, member := slices.BinarySearch(c.Group.Members, id); !member || c.P2P {
		return false
	}
	_, known := g.job.Ranks[id].made(c.Group)
	return !known
}
