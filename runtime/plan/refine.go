package plan

import (
	"encoding/binary"
	"fmt"
	"slices"
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
// the same places that do so, too, and that receive from ranks that do so.
//
// A group is looked at once for all its members: the time is that of the ranks, times
// the groups of one, for each round. Where that takes mostRounds, as along a chain of ranks that
// wait for each other, no two ranks do the same, as far as is looked into.
func refine(p *Program, m *hardware.Machine) []int32 {
	class := append([]int32(nil), p.KindOf...)
	if len(p.Kinds) == p.Ranks {
		return class
	}
	r := refinement{p: p, m: m, shapes: map[*int]string{}, places: map[*int]map[int]int{}}
	r.findPlaced()
	r.findMessages()
	for n, round := 0, 0; ; round++ {
		if round == mostRounds {
			for rank := range class {
				class[rank] = int32(rank)
			}
			return class
		}
		ids := map[string]int32{}
		next := make([]int32, p.Ranks)
		r.texts, r.number = map[*int]int32{}, map[string]int32{}
		for rank := range p.Ranks {
			k := string(r.key(rank, class))
			id, ok := ids[k]
			if !ok {
				id = int32(len(ids))
				ids[k] = id
			}
			next[rank] = id
		}
		class = next
		if len(ids) == n {
			return class
		}
		n = len(ids)
	}
}

// mostRounds are more than ranks along a ring have on a level of a machine.
const mostRounds = 100

// A refinement tells ranks of a kind apart.
type refinement struct {
	p      *Program
	m      *hardware.Machine
	placed []map[int32]bool     // by kind: the groups in which time hangs on a rank's place: costs that the mesh was given are of what members send, not all as much
	posts  [][]message          // by rank
	links  [][]int32            // likewise, by channel: what tells the shape of the two ranks apart from others
	shapes map[*int]string      // by list of ranks
	places map[*int]map[int]int // likewise: where each rank is in it
	texts  map[*int]int32       // likewise: of this round, what tells it apart
	number map[string]int32     // of texts
	room   []byte
}

func (r *refinement) findPlaced() {
	r.placed = make([]map[int32]bool, len(r.p.Kinds))
	for i, k := range r.p.Kinds {
		r.placed[i] = map[int32]bool{}
		for j := range k.Events {
			if e := &k.Events[j]; e.Unlike && k.Groups[e.Group].Cost != (Cost{}) {
				r.placed[i][e.Group] = true
			}
		}
	}
}

func (r *refinement) findMessages() {
	r.posts, r.links = make([][]message, r.p.Ranks), make([][]int32, r.p.Ranks)
	shapes := map[hardware.Group]int32{}
	for rank := range r.p.Ranks {
		r.posts[rank] = r.p.messages(rank)
		for _, m := range r.posts[rank] {
			shape := r.m.GroupOf([]int{rank, m.other})
			i, ok := shapes[shape]
			if !ok {
				i = int32(len(shapes))
				shapes[shape] = i
			}
			r.links[rank] = append(r.links[rank], i)
		}
	}
}

// key returns what tells rank apart from others of its class, by rank, of the round before.
func (r *refinement) key(rank int, class []int32) []byte {
	b := binary.AppendVarint(r.room[:0], int64(class[rank]))
	kind := r.p.KindOf[rank]
	for i := range r.p.Kinds[kind].Groups {
		ranks := r.p.Kinds[kind].Groups[i].Of(rank)
		b = binary.AppendVarint(b, int64(r.group(ranks, class)))
		if r.placed[kind][int32(i)] {
			b = binary.AppendVarint(b, int64(r.place(ranks, rank)))
		}
	}
	for i, m := range r.posts[rank] {
		b = binary.AppendVarint(b, int64(r.links[rank][i]))
		if m.from >= 0 {
			b = binary.AppendVarint(binary.AppendVarint(b, int64(class[m.other])), int64(m.from))
		}
	}
	r.room = b
	return b
}

// group returns a number for what sets the group of ranks apart in this round: its
// shape, and what its members do, in their places.
func (r *refinement) group(ranks []int, class []int32) int32 {
	id, ok := r.texts[&ranks[0]]
	if ok {
		return id
	}
	shape, ok := r.shapes[&ranks[0]]
	if !ok {
		shape = fmt.Sprint(r.m.GroupOf(ranks))
		r.shapes[&ranks[0]] = shape
	}
	b := []byte(shape)
	last, run := int32(-1), 0
	for _, rank := range ranks {
		if class[rank] != last {
			b = binary.AppendVarint(binary.AppendVarint(b, int64(run)), int64(class[rank]))
			last, run = class[rank], 0
		}
		run++
	}
	text := string(binary.AppendVarint(b, int64(run)))
	if id, ok = r.number[text]; !ok {
		id = int32(len(r.number))
		r.number[text] = id
	}
	r.texts[&ranks[0]] = id
	return id
}

// place returns where in ranks rank is.
func (r *refinement) place(ranks []int, rank int) int {
	if len(ranks) <= 16 {
		return slices.Index(ranks, rank)
	}
	at := r.places[&ranks[0]]
	if at == nil {
		at = make(map[int]int, len(ranks))
		for i, other := range ranks {
			at[other] = i
		}
		r.places[&ranks[0]] = at
	}
	return at[rank]
}
