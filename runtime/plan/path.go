package plan

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// A Path is the critical path of a step: from its end back to its beginning, always
// on the rank for which the one before waited. What is on it makes the step longer;
// what is not, as far as it waits, does not.
type Path struct {
	Ranks    []Stretch  // the longest first
	Messages float64    // seconds between a send and its arrival
	Changes  []Crossing // the most first
}

// A Stretch is what a path is on one rank, and on those that do the same at the same
// times.
type Stretch struct {
	Rank    int
	Alike   int // how many ranks there are of which it is one
	Seconds float64
}

// A Crossing is a call in which a path goes from one rank to another.
type Crossing struct {
	Op    string
	Where string
	Times int
}

// A late is a call that another player has kept waiting.
type late struct {
	until float64 // when it went on
	since float64 // when the other was there, or sent
	other int32   // that player
	event int32
}

// keepsWaiting notes that a player goes on with an event when another lets it.
func (pl *player) keepsWaiting(event int, until, since float64, other int32) {
	pl.lates = append(pl.lates, late{until, since, other, int32(event)})
}

// path returns the critical path of step n from 1, or of all if n is 0.
func (g *game) path(n int) Path {
	last, end, start := int32(0), math.Inf(-1), 0.0
	for i, pl := range g.players {
		at := max(pl.device, pl.host)
		if n > 0 {
			at = pl.marks[n-1]
		}
		if at > end {
			last, end = int32(i), at
		}
		if n > 1 {
			start = max(start, pl.marks[n-2])
		}
	}
	on, crossings := make([]float64, len(g.players)), map[Crossing]int{}
	on[last] = g.m.Step // the loop around the step
	p := Path{Ranks: []Stretch{}, Changes: []Crossing{}}
	for at, t := last, end; t > start; {
		pl := g.players[at]
		i := sort.Search(len(pl.lates), func(i int) bool { return pl.lates[i].until > t }) - 1
		if i < 0 || pl.lates[i].until <= start {
			on[at] += t - start
			break
		}
		wait := &pl.lates[i]
		on[at] += t - wait.until
		if e := &pl.kind.Events[wait.event]; wait.other != at { // or else nobody but the call itself was waited for
			crossings[Crossing{Op: e.name(g.p), Where: g.p.Lines[e.Line]}]++
		}
		p.Messages += wait.until - max(wait.since, start)
		at, t = wait.other, min(wait.since, math.Nextafter(t, start)) // it never stands still
	}
	for i, s := range on {
		if pl := g.players[i]; s > 0 {
			p.Ranks = append(p.Ranks, Stretch{pl.rank, pl.ranks, s})
		}
	}
	slices.SortFunc(p.Ranks, func(a, b Stretch) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Rank, b.Rank))
	})
	for c, times := range crossings {
		c.Times = times
		p.Changes = append(p.Changes, c)
	}
	slices.SortFunc(p.Changes, func(a, b Crossing) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Where, b.Where), cmp.Compare(a.Op, b.Op))
	})
	return p
}

// name returns what an event calls.
func (e *Event) name(p *Program) string {
	if e.Do == Recv {
		return "recv"
	}
	return p.Calls[e.Index].Op
}
