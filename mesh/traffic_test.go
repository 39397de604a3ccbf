package mesh

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What ranks send and receive by intervals is what they do by the pieces of the exchange
// on every line, or both say that it cannot be done.
func TestTrafficIsThatOfExchanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src, dst := drawPair(t)
		s := newSearch(src, valueTarget(src, dst, src.with), rapid.IntRange(1, 8).Draw(t, "itemSize"), src.with)
		s.run(true, func(*path) {})
		for _, from := range slices.Clone(s.states) {
			for _, m := range s.moves(from.placements) {
				checkTally(t, s, from, m)
			}
		}
	})
}

// checkTally compares the traffic of a move with that of exchanges.
func checkTally(t fataler, s *search, from *state, m move) {
	t.Helper()
	if m.op == AllReduce {
		return
	}
	to := s.state(m.to)
	sent, received := make([]int, s.mesh.Size()), make([]int, s.mesh.Size())
	all := true
	for _, line := range s.mesh.lines(m.dims) {
		pieces, ok := match(from.view, to.view, line)
		all = all && ok
		for i, list := range pieces {
			for _, p := range list {
				for _, place := range p.From {
					if place != line[i] {
						received[line[i]] += p.Box.Numel() * s.itemSize
						sent[place] += p.Box.Numel() * s.itemSize
					}
				}
			}
		}
	}
	gotSent, gotReceived, ok := s.traffic(from, to, m)
	if ok != all || ok && (!slices.Equal(gotSent, sent) || !slices.Equal(gotReceived, received)) {
		t.Fatalf("%v along %v from %v to %v: got %v sent, %v received, %v, want %v, %v, %v", m.op, m.dims, from, to, gotSent, gotReceived, ok, sent, received, all)
	}
}

// A Sizer tells apart exactly the ranks that exchange boxes of other sizes; where more
// than two dims of a mesh take part perhaps some more.
func TestSizer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src, dst := drawPair(t)
		plan, err := NewPlan(src, dst, 4)
		if err != nil {
			t.Skip("no plan")
		}
		steps := plan.Steps
		all := make([]int, src.mesh.NDim())
		for i := range all {
			all[i] = i
		}
		if !src.IsPartial() && !dst.IsPartial() { // also where there is something better
			steps = append(steps, Step{Op: Direct, Dims: all, Src: src, Dst: dst}, Step{Op: AllToAll, Dims: all, Src: src, Dst: dst})
		}
		for i := range steps {
			if steps[i].Op != MakePartial {
				checkSizer(t, &steps[i])
			}
		}
	})
}

// checkSizer compares a Sizer with the boxes that each rank exchanges with each.
func checkSizer(t fataler, s *Step) {
	t.Helper()
	z := NewSizer(s)
	texts, ranks := map[string]string{}, map[string]string{}
	for _, rank := range s.Src.Ranks() {
		text, want := z.Of(rank), sizesOneByOne(s, rank)
		if known, ok := texts[text]; ok && known != want {
			t.Fatalf("%v along %v from %v to %v: rank %d is one with another that exchanges %s, want %s", s.Op, s.Dims, s.Src, s.Dst, rank, known, want)
		}
		if known, ok := ranks[want]; ok && known != text && len(s.Dims) <= 2 {
			t.Fatalf("%v along %v from %v to %v: rank %d is told apart from another that exchanges %s, too", s.Op, s.Dims, s.Src, s.Dst, rank, want)
		}
		texts[text], ranks[want] = want, text
	}
}

// sizesOneByOne returns the sizes of what rank holds and exchanges.
func sizesOneByOne(s *Step, rank int) string {
	have, _ := s.Src.Box(rank)
	want, _ := s.Dst.Box(rank)
	text := fmt.Sprint(have.Shape(), want.Shape())
	switch s.Op {
	case AllReduce:
		return text
	case Direct:
		x := s.Exchange(rank)
		for _, other := range x.Ranks() {
			for _, p := range x.Pieces(other) {
				if slices.Contains(p.From, rank) {
					text += fmt.Sprint(" to ", p.Box.Shape())
				}
			}
		}
		for _, other := range x.Ranks() {
			for i, p := range x.Pieces(rank) {
				if slices.Contains(p.From, other) {
					text += fmt.Sprint(" from ", p.Box.Shape(), min(i, (len(p.From)-1)*i))
				}
			}
		}
		return text
	}
	for _, other := range s.Group(rank) {
		needs, _ := s.Dst.Box(other)
		if both, ok := have.Intersect(needs); ok {
			text += fmt.Sprint(" to ", both.Shape())
		}
	}
	for _, other := range s.Group(rank) {
		holds, _ := s.Src.Box(other)
		if both, ok := want.Intersect(holds); ok {
			text += fmt.Sprint(" from ", both.Shape())
		}
	}
	return text
}
