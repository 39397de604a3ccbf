package comm

import (
	"maps"
	"slices"
)

// Idle says that the rank makes no call until Resume. Until then, those who
// wait for it wait as for a rank that has ended. It is called when the rank is
// in no call; asynchronous ones go on.
func (e *Endpoint) Idle() { e.transport.idle() }

// Resume ends a Rest. All ranks rest when it is called, and none makes a call
// before it has returned on all.
func (e *Endpoint) Resume() { e.transport.resume() }

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
		g.transport = e.transport.joinGroup(g)
	}
	e.groups[g.key] = g
}

func (p *inprocRank) idle() { p.transport.monitor.setIdle(p.endpoint.rank, true) }

func (p *inprocRank) resume() { p.transport.monitor.setIdle(p.endpoint.rank, false) }

// setIdle notes that a rank rests, or does so no more.
func (mo *monitor) setIdle(rank int, rests bool) {
	mo.mu.Lock()
	defer mo.mu.Unlock()
	mo.idle[rank] = rests
	if rests {
		mo.check()
	}
}

func (wr *wireRank) idle() { wr.report(&report{kind: reportIdle, sent: wr.sent}) }

// resume returns when the supervisor knows: a rank that waits for this one is
// not in a deadlock.
func (wr *wireRank) resume() {
	wr.report(&report{kind: reportResumes})
	select {
	case <-wr.awake:
	case <-wr.fabric.ctx.Done():
	}
}
