package plan

import (
	"hash/maphash"
	"slices"
	"sort"
)

// Merge makes one kind of all ranks that have done the same: the same events, in
// groups of the same size and dims, with the same memory. It notes the lines at which
// kinds part from each other. Ranks have been added by
// themselves or by kinds, by their first ranks.
func (p *Program) Merge() {
	seed := maphash.MakeSeed()
	byHash := map[uint64][]*Kind{}
	var kinds []*Kind
	for _, k := range p.Kinds {
		h := k.hash(seed)
		i := slices.IndexFunc(byHash[h], func(of *Kind) bool { return of.alike(k) && p.sendsFit(of, k) })
		if i < 0 {
			byHash[h] = append(byHash[h], k)
			kinds = append(kinds, k)
			continue
		}
		p.joinSends(byHash[h][i], k)
		byHash[h][i].join(k)
	}
	p.Kinds = kinds
	for i, k := range kinds {
		for _, rank := range k.Ranks {
			p.KindOf[rank] = int32(i)
		}
	}
	p.tellApart()
}

func (k *Kind) hash(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	maphash.WriteComparable(&h, k.Memory)
	for i := range k.Events {
		maphash.WriteComparable(&h, k.Events[i].alike())
	}
	return h.Sum64()
}

// alike returns e without what ranks of one kind may not have alike.
func (e *Event) alike() Event {
	a := *e
	a.Views, a.Script, a.Manner = 0, 0, Manner{}
	a.Wire, a.Unlike = 0, false
	return a
}

// same reports whether ranks of one kind may do a and b.
func same(a, b Event) bool { return a.alike() == b.alike() }

// alike reports whether k and other do the same.
func (k *Kind) alike(other *Kind) bool {
	if k.Memory != other.Memory || len(k.Groups) != len(other.Groups) || !slices.EqualFunc(k.Channels, other.Channels, channelsAlike) || !slices.EqualFunc(k.Events, other.Events, same) {
		return false
	}
	for i := range k.Groups {
		g, o := &k.Groups[i], &other.Groups[i]
		if g.named != o.named || g.Cost != o.Cost || g.Dims != o.Dims && g.named || g.instance() != o.instance() || len(g.Of(int(k.Ranks[0]))) != len(o.Of(int(other.Ranks[0]))) {
			return false
		}
	}
	return true
}

// sendsAlike reports whether members of a and b send as many bytes.
func sendsAlike(a, b *Event) bool { return a.Wire == b.Wire && a.Unlike == b.Unlike }

// sendsFit reports whether one list can say for each event what ranks of k and other send, by
// their places: if they have the same place in two groups, they send as much.
func (p *Program) sendsFit(k, other *Kind) bool {
	for i := range k.Events {
		a, b := &k.Events[i], &other.Events[i]
		if sendsAlike(a, b) {
			continue
		}
		mine, others := k.Groups[a.Group].Of, other.Groups[b.Group].Of
		taken := map[int]bool{}
		for _, r := range k.Ranks {
			if list := mine(int(r)); len(list) < p.Ranks {
				taken[slices.Index(list, int(r))] = true
			}
		}
		for _, r := range other.Ranks {
			place := slices.Index(others(int(r)), int(r))
			if taken[place] && p.Wire(a, place) != p.Wire(b, place) {
				return false
			}
		}
	}
	return true
}

// joinSends has the events of k say what ranks of other send, too.
func (p *Program) joinSends(k, other *Kind) {
	for i := range k.Events {
		a, b := &k.Events[i], &other.Events[i]
		if sendsAlike(a, b) {
			continue
		}
		others := other.Groups[b.Group].Of
		var sent []int
		for place := range others(int(other.Ranks[0])) {
			sent = append(sent, int(p.Wire(a, place)))
		}
		for _, r := range other.Ranks {
			place := slices.Index(others(int(r)), int(r))
			sent[place] = int(p.Wire(b, place))
		}
		a.Wire, a.Unlike = p.unlikeList(sent), true
	}
}

// join adds the ranks of other, which does the same.
func (k *Kind) join(other *Kind) {
	for i := range k.Groups {
		mine, others := k.Groups[i].Of, other.Groups[i].Of
		ranks := map[int]bool{}
		for _, r := range other.Ranks {
			ranks[int(r)] = true
		}
		k.Groups[i].Of = k.Groups[i].add(mine, others, ranks)
	}
	for i := range k.Channels {
		k.Channels[i].join(&other.Channels[i], other.Ranks)
	}
	k.Ranks = append(k.Ranks, other.Ranks...)
}

// add has the group's members of some ranks be those of others.
func (g *Group) add(mine, others func(int) []int, ranks map[int]bool) func(int) []int {
	if g.tables == nil {
		g.tables, g.rest = map[int][]int{}, mine
	}
	for r := range ranks {
		g.tables[r] = others(r)
	}
	return func(rank int) []int {
		if list, ok := g.tables[rank]; ok {
			return list
		}
		return g.rest(rank)
	}
}

// tellApart notes the lines at which kinds part from each other.
func (p *Program) tellApart() {
	lines := map[string]bool{}
	p.part(p.Kinds, 0, lines)
	p.ToldApart = []string{}
	for at := range lines {
		p.ToldApart = append(p.ToldApart, at)
	}
	sort.Strings(p.ToldApart)
}

// part notes the lines at which kinds part that are alike in all events before from.
func (p *Program) part(kinds []*Kind, from int, lines map[string]bool) {
	at, end := from, 0
	for _, k := range kinds {
		end = max(end, len(k.Events))
	}
	for at < end && !slices.ContainsFunc(kinds, func(k *Kind) bool { return !alikeAt(kinds[0], k, at) }) {
		at++
	}
	if at >= end {
		p.partBySize(kinds, lines)
		return
	}
	classes := classesAt(kinds, at)
	for _, class := range classes[1:] {
		does := class[0]
		if at >= len(does.Events) {
			does = kinds[0] // which goes on
		}
		lines[p.Lines[does.Events[at].Line]] = true
	}
	for _, class := range classes {
		p.part(class, at+1, lines)
	}
}

// alikeAt reports whether an event of a and b is the same, or both have none.
func alikeAt(a, b *Kind, at int) bool {
	if at >= len(a.Events) || at >= len(b.Events) {
		return at >= len(a.Events) && at >= len(b.Events)
	}
	return same(a.Events[at], b.Events[at])
}

// classesAt returns the kinds by their event at.
func classesAt(kinds []*Kind, at int) (classes [][]*Kind) {
	for _, k := range kinds {
		i := slices.IndexFunc(classes, func(class []*Kind) bool { return alikeAt(class[0], k, at) })
		if i < 0 {
			i, classes = len(classes), append(classes, nil)
		}
		classes[i] = append(classes[i], k)
	}
	return classes
}

// partBySize notes the lines that call groups which have another size in the first of
// kinds of the same events.
func (p *Program) partBySize(kinds []*Kind, lines map[string]bool) {
	for _, k := range kinds[min(1, len(kinds)):] {
		for i := range k.Groups {
			if len(kinds[0].Groups) <= i || len(kinds[0].Groups[i].Of(int(kinds[0].Ranks[0]))) == len(k.Groups[i].Of(int(k.Ranks[0]))) {
				continue
			}
			if at := slices.IndexFunc(k.Events, func(e Event) bool { return e.calls() && int(e.Group) == i }); at >= 0 {
				lines[p.Lines[k.Events[at].Line]] = true
				break
			}
		}
	}
}
