package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tpsh/runtime/hardware"
)

// A Replay is what ranks do, and when, as a program was played on a machine.
type Replay struct {
	Figures *Figures
	Whole   bool // it is all of the script, though that marks steps: messages or calls cross their ends
	game    *game
}

// A Deed is one event of a rank, and when it was. Wait, Read, Mark and Lap take no time of
// their own: they are when the device is done with what came before.
type Deed struct {
	*Event
	Begin, End float64 // seconds since the first deed of all ranks
	Host       float64 // seconds that the device waited for the host before it
	Members    []int   // of a call's group: ranks, in its order
	Instance   string  // what tells that group from others of the same ranks
	Bytes      int64   // that a member of the call puts in, the most of all; that a message has
	Own        int64   // that the rank puts in
	Wire       int64   // that it sends
	To, From   int     // ranks to which and from which a message goes, of a permutation too; -1 for none
	Tag        int32   // of a message
	Of         int     // of a Wait: the deed that it is for, -1 if that was before the first
}

// A span is when an event was, and how long the host kept the device waiting before it.
type span struct{ host, begin, end float64 }

// An eventOf is an event of a player.
type eventOf struct{ player, event int32 }

// Replay plays p on m, and keeps when everything was.
func (p *Program) Replay(m *hardware.Machine) *Replay {
	g := newGame(p, m)
	for _, pl := range g.players {
		pl.spans, pl.sent = make([]span, len(pl.kind.Events)), map[int32]eventOf{}
	}
	g.play()
	r := &Replay{Figures: g.figures(), game: g}
	r.Whole = r.Figures.Steps > 0 && g.crossed(r.Figures.Steps)
	return r
}

// step returns which step is replayed, 0 for the whole script.
func (r *Replay) step() int {
	if r.Whole {
		return 0
	}
	return r.Figures.Steps
}

// Rank returns the deeds of a rank, in order: of the last whole step, or of the whole
// script.
func (r *Replay) Rank(rank int) []Deed {
	g := r.game
	pl := g.players[g.playerOf[rank]]
	lo, hi := pl.part(r.step())
	origin := g.origin(r.step()) - g.m.Step
	calls := pl.callsBefore(lo)
	issued := pl.issuesBefore(lo)
	byIssue := map[int32]int{}
	deeds := make([]Deed, 0, hi-lo)
	for i := lo; i < hi; i++ {
		e := &pl.kind.Events[i]
		d := Deed{Event: e, Begin: pl.spans[i].begin - origin, End: pl.spans[i].end - origin, Host: pl.spans[i].host, To: -1, From: -1, Of: -1}
		switch e.Do {
		case Collective, Issue:
			g.describe(&d, pl, rank)
			d.Bytes = g.mostBytes(pl, e.Group, calls[e.Group])
			calls[e.Group]++
			if e.Do == Issue {
				byIssue[issued] = len(deeds)
				issued++
			}
		case Send, Recv:
			g.describe(&d, pl, rank)
			call := e.Index
			if from, ok := pl.sent[int32(i)]; ok {
				call = g.players[from.player].kind.Events[from.event].Index
			}
			d.Bytes = g.p.Calls[call].Bytes
			d.Tag = pl.kind.Channels[e.Channel].Tag
			if d.To, d.From = d.Members[pl.kind.Channels[e.Channel].At(rank)], -1; e.Do == Recv {
				d.To, d.From = -1, d.To
			}
		case Wait:
			if at, ok := byIssue[e.Index]; ok {
				d.Of = at
			}
		}
		deeds = append(deeds, d)
	}
	if len(deeds) > 0 {
		deeds[0].Host += g.m.Step
	}
	return deeds
}

// describe sets the group of a call, and the other ends of a permutation.
func (g *game) describe(d *Deed, pl *player, rank int) {
	group := &pl.kind.Groups[d.Group]
	d.Members, d.Instance = group.Of(rank), group.instance()
	place := slices.Index(d.Members, rank)
	d.Own, d.Wire = g.p.Calls[d.Index].At(place), g.p.Wire(d.Event, place)
	pairs := g.p.Calls[d.Index].Pairs
	if pairs == "" {
		return
	}
	for _, pair := range strings.Fields(pairs) {
		a, b, _ := strings.Cut(pair, ">")
		from, _ := strconv.Atoi(a)
		to, _ := strconv.Atoi(b)
		if from == place {
			d.To = d.Members[to]
		}
		if to == place {
			d.From = d.Members[from]
		}
	}
}

// part returns the events of step n from 1, or all if n is 0.
func (pl *player) part(n int) (lo, hi int) {
	if n == 0 {
		return 0, len(pl.kind.Events)
	}
	marks := 0
	for i := range pl.kind.Events {
		if pl.kind.Events[i].Do == Mark {
			if marks++; marks == n {
				return lo, i
			}
			lo = i + 1
		}
	}
	return lo, len(pl.kind.Events)
}

// callsBefore counts the collectives of each group before event lo.
func (pl *player) callsBefore(lo int) []int {
	n := make([]int, len(pl.groups))
	for i := range pl.kind.Events[:lo] {
		if e := &pl.kind.Events[i]; e.Do == Collective || e.Do == Issue {
			n[e.Group]++
		}
	}
	return n
}

// issuesBefore counts the Issues before event lo.
func (pl *player) issuesBefore(lo int) (n int32) {
	for i := range pl.kind.Events[:lo] {
		if pl.kind.Events[i].Do == Issue {
			n++
		}
	}
	return n
}

// origin returns when the first rank begins with step n.
func (g *game) origin(n int) float64 {
	if n < 2 {
		return 0
	}
	return slices.MinFunc(g.players, func(a, b *player) int { return cmp.Compare(a.marks[n-2], b.marks[n-2]) }).marks[n-2]
}

// mostBytes returns the most that a member puts into call n of a group of pl.
func (g *game) mostBytes(pl *player, group int32, n int) int64 {
	s := &pl.groups[group]
	if s.most == nil {
		for _, o := range s.others {
			i := 0
			for j := range g.players[o.player].kind.Events {
				e := &g.players[o.player].kind.Events[j]
				if e.Group != o.group || e.Do != Collective && e.Do != Issue {
					continue
				}
				if i == len(s.most) {
					s.most = append(s.most, 0)
				}
				s.most[i] = max(s.most[i], g.p.Calls[e.Index].Bytes)
				i++
			}
		}
	}
	return s.most[n]
}

// crossed reports whether members of a group are not in the same call of it when
// they begin or end step n, or a message of it goes to another.
func (g *game) crossed(n int) bool {
	los, his := make([]int, len(g.players)), make([]int, len(g.players))
	before, after := make([][]int, len(g.players)), make([][]int, len(g.players))
	for i, pl := range g.players {
		los[i], his[i] = pl.part(n)
		before[i], after[i] = pl.callsBefore(los[i]), pl.callsBefore(his[i])
	}
	for i, pl := range g.players {
		for j := range pl.groups {
			for _, o := range pl.groups[j].others {
				if before[o.player][o.group] != before[i][j] || after[o.player][o.group] != after[i][j] {
					return true
				}
			}
		}
		for at, from := range pl.sent {
			here := int(at) >= los[i] && int(at) < his[i]
			there := int(from.event) >= los[from.player] && int(from.event) < his[from.player]
			if here != there {
				return true
			}
		}
	}
	return false
}
