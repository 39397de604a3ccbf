package plan

import (
	"fmt"
	"strings"

	"tpsh/runtime/hardware"
)

// instance returns what sets the group apart from others of the same ranks.
func (g *Group) instance() string { return instanceOf(g.Name) }

// instanceOf returns the part of a group's name that is not its ranks.
func instanceOf(name string) string {
	if i := strings.IndexByte(name, '"'); i >= 0 {
		return name[i:]
	}
	return ""
}

// refine returns which ranks do the same at the same times, as numbers from 0 by
// first rank: ranks of a kind whose groups have the same shapes on m, and members in
// the same places that do so, too.
func refine(p *Program, m *hardware.Machine) []int32 {
	of := append([]int32(nil), p.KindOf...)
	if len(p.Kinds) == p.Ranks {
		return of
	}
	messages := make([]map[int32]bool, len(p.Kinds)) // the groups in which kinds send and receive
	for i, k := range p.Kinds {
		messages[i] = map[int32]bool{}
		for _, e := range k.Events {
			if e.Do == Send || e.Do == Recv {
				messages[i][e.Group] = true
			}
		}
	}
	type key struct {
		was  int32
		text string
	}
	for n := 0; ; {
		ids := map[key]int32{}
		next := make([]int32, p.Ranks)
		for rank := range p.Ranks {
			var b strings.Builder
			for i := range p.Kinds[p.KindOf[rank]].Groups {
				g := &p.Kinds[p.KindOf[rank]].Groups[i]
				place := -1
				if messages[p.KindOf[rank]][int32(i)] {
					place = rank
				}
				writeGroup(&b, g.Of(rank), place, of, m)
			}
			k := key{of[rank], b.String()}
			id, ok := ids[k]
			if !ok {
				id = int32(len(ids))
				ids[k] = id
			}
			next[rank] = id
		}
		of = next
		if len(ids) == n {
			return of
		}
		n = len(ids)
	}
}

// writeGroup writes what sets a group of rank apart: its shape, its members and its
// place.
func writeGroup(b *strings.Builder, ranks []int, rank int, of []int32, m *hardware.Machine) {
	shape := m.GroupOf(ranks)
	fmt.Fprint(b, shape)
	last, run := int32(-1), 0
	for i, r := range ranks {
		if r == rank {
			fmt.Fprintf(b, "@%d", i)
		}
		if of[r] != last {
			fmt.Fprintf(b, "x%d,%d", run, of[r])
			last, run = of[r], 0
		}
		run++
	}
	fmt.Fprintf(b, "x%d;", run)
}
