package comm

import (
	"maps"
	"slices"
)

// Rest says that the rank makes no call until Resume. Until then, those who
// wait for it wait as for a rank that has ended. It is called when the rank is
// in no call; asynchronous ones go on.
func (e *Endpoint) Rest() { e.port.rest() }

// Resume ends a Rest. All ranks rest when it is called, and none makes a call
// before it has returned on all.
func (e *Endpoint) Resume() { e.port.resume() }

// Groups returns the groups of e, in a fixed order.
func (e *Endpoint) Groups() []*Group {
	var groups []*Group
	for _, key := range slices.Sorted(maps.Keys(e.groups)) {
		groups = append(groups, e.groups[key])
	}
	return groups
}

// Adopt makes g, a group of the same rank's endpoint in another fabric of the
// same size, a group of e, with its calls counted from 0. Every rank adopts
// what it had before it makes a call.
func (e *Endpoint) Adopt(g *Group) {
	g.endpoint, g.calls = e, 0
	if g.rank >= 0 {
		g.line = e.port.join(g)
	}
	e.groups[g.key] = g
}

func (p *inprocPort) rest() { p.transport.monitor.rest(p.endpoint.rank, true) }

func (p *inprocPort) resume() { p.transport.monitor.rest(p.endpoint.rank, false) }

// rest notes that a rank rests, or does so no more.
func (mo *monitor) rest(rank int, rests bool) {
	mo.mu.Lock()
	defer mo.mu.Unlock()
	mo.resting[rank] = rests
	if rests {
		mo.check()
	}
}

func (st *station) rest() { st.report(&report{kind: reportRests, sent: st.sent}) }

// resume returns when the supervisor knows: a rank that waits for this one is
// not in a deadlock.
func (st *station) resume() {
	st.report(&report{kind: reportResumes})
	select {
	case <-st.awake:
	case <-st.fabric.ctx.Done():
	}
}
