package comm

import (
	"maps"
	"slices"
)

// Idle says that the rank makes no call until Resume. Until then, ranks that
// wait for it wait as for a rank that has ended. It is called when the rank is
// in no call; asynchronous ones go on.
func (e *Endpoint) Idle() { e.transport.Idle() }

// Resume ends an Idle. All ranks are idle when it is called, and none makes a call
// before it has returned on all.
func (e *Endpoint) Resume() { e.transport.Resume() }

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
// the groups that it had before it makes a call.
func (e *Endpoint) Adopt(g *Group) {
	g.endpoint, g.calls = e, 0
	if g.rank >= 0 {
		g.transport = e.transport.JoinGroup(g)
	}
	e.groups[g.key] = g
}
