package mesh

import (
	"fmt"
	"slices"
)

// A Piece is a box of a target that comes from one place: from the rank in
// From, or as the sum of what the ranks in From hold of it, added in that
// order. The rank that the piece is for may be one of them.
type Piece struct {
	Box    Box
	From   []int
	SrcBox int // the index among the boxes of each of From that holds it
	DstBox int // the index among the boxes of the target that it goes to
}

// A Send is a box that one rank sends to another.
type Send struct {
	To     int
	Box    Box
	SrcBox int // the index among the sender's boxes that holds it
}

// An Exchange says how ranks that hold a tensor in one layout come to hold it
// in another. Each receives exactly the elements that it lacks, each from one
// rank; where the source is a sum, one of each term that it lacks.
//
// What a rank holds it uses. Where n ranks hold the same and K others need it,
// the k-th of these asks number k*n/K of those, both from 0 in the order of the
// ranks given: the n are asked equally often, to within one.
type Exchange struct {
	ranks  []int
	places map[int]int
	pieces [][]Piece // by the target's place in ranks
	sends  [][]Send  // by the sender's place in ranks
}

// NewExchange returns the exchange from src to dst among ranks, which must hold
// in src all that they hold in dst. nil stands for all ranks of both. It
// returns an error if the shapes differ, if an element is missing, or if the
// ranks hold different terms in dst.
func NewExchange(src, dst Layout, among []int) (*Exchange, error) {
	if !slices.Equal(src.Shape(), dst.Shape()) {
		return nil, &Error{"shape", Tuple(dst.Shape()), Tuple(src.Shape()), "an exchange keeps the shape"}
	}
	if among == nil {
		among = union(src.Ranks(), dst.Ranks())
	}
	line := make([]int, len(among))
	places := make(map[int]int, len(among))
	for i, r := range among {
		line[i], places[r] = i, i
	}
	to := viewOf(dst, among)
	if len(to.terms(line)) > 1 {
		return nil, fmt.Errorf("ranks %v would hold different terms of a sum", among)
	}
	pieces, ok := match(viewOf(src, among), to, line)
	if !ok {
		return nil, fmt.Errorf("ranks %v do not hold all that they need", among)
	}
	return newExchange(among, places, pieces), nil
}

// union returns a, and what b has besides.
func union(a, b []int) []int {
	all, seen := slices.Clone(a), make(map[int]bool, len(a))
	for _, r := range a {
		seen[r] = true
	}
	for _, r := range b {
		if !seen[r] {
			all = append(all, r)
		}
	}
	return all
}

// newExchange returns the exchange of pieces that name places in ranks.
func newExchange(ranks []int, places map[int]int, pieces [][]Piece) *Exchange {
	sends := make([][]Send, len(ranks))
	for to, list := range pieces {
		for i := range list {
			p := &list[i]
			from := make([]int, len(p.From))
			for k, place := range p.From {
				from[k] = ranks[place]
				if place != to {
					sends[place] = append(sends[place], Send{ranks[to], p.Box, p.SrcBox})
				}
			}
			p.From = from
		}
	}
	return &Exchange{ranks, places, pieces, sends}
}

// Ranks returns those that take part, in order.
func (x *Exchange) Ranks() []int { return x.ranks }

// Place returns where in Ranks rank is, if it takes part.
func (x *Exchange) Place(rank int) (place int, ok bool) {
	place, ok = x.places[rank]
	return place, ok
}

// Pieces returns what makes up the boxes of rank in the target. A rank that
// sends rank several pieces sends them in this order.
func (x *Exchange) Pieces(rank int) []Piece {
	if i, ok := x.places[rank]; ok {
		return x.pieces[i]
	}
	return nil
}

// Sends returns what rank sends to others, by receiver in the order of Ranks.
func (x *Exchange) Sends(rank int) []Send {
	if i, ok := x.places[rank]; ok {
		return x.sends[i]
	}
	return nil
}

// Traffic returns the elements that rank sends to others and receives from
// them.
func (x *Exchange) Traffic(rank int) (sent, received int) {
	for _, s := range x.Sends(rank) {
		sent += s.Box.Numel()
	}
	for _, p := range x.Pieces(rank) {
		for _, r := range p.From {
			if r != rank {
				received += p.Box.Numel()
			}
		}
	}
	return sent, received
}

// Sent returns the elements that each rank sends to others, in the order of Ranks.
func (x *Exchange) Sent() []int {
	sent := make([]int, len(x.ranks))
	for place, list := range x.sends {
		for _, s := range list {
			sent[place] += s.Box.Numel()
		}
	}
	return sent
}

// Lacks returns the number of elements that rank holds in dst and not in src.
func Lacks(src, dst Layout, rank int) int { return lacks(src.Boxes(rank), dst.Boxes(rank)) }

func lacks(have, need []Box) int {
	n := 0
	for _, b := range need {
		n += b.Numel()
		for _, a := range have {
			n -= a.overlap(b)
		}
	}
	return n
}

// A view is what the ranks of a list hold in a layout, by place in the list.
type view struct {
	boxes      [][]Box
	part, term []int // -1 for a rank that has no boxes
}

// viewOf returns l as ranks see it.
func viewOf(l Layout, ranks []int) *view {
	v := &view{make([][]Box, len(ranks)), make([]int, len(ranks)), make([]int, len(ranks))}
	for i, r := range ranks {
		v.part[i], v.term[i] = -1, -1
		if v.boxes[i] = l.Boxes(r); v.boxes[i] != nil {
			v.part[i], v.term[i] = l.at(r)
		}
	}
	return v
}

// terms lists the terms that those at the places in line hold, in their order.
func (v *view) terms(line []int) []int {
	var terms []int
	seen := map[int]bool{}
	for _, i := range line {
		if e := v.term[i]; e >= 0 && !seen[e] {
			seen[e] = true
			terms = append(terms, e)
		}
	}
	return terms
}

// A source is a part of the layout that an exchange starts from.
type source struct {
	boxes    []Box
	holders  [][]int     // by term: the places of those that hold it
	own      map[int]int // by place of a holder: which term
	complete bool        // somebody holds each of the terms
	needed   []int       // by term: how many others need it
	served   []int       // by term: how many of them have asked
	counted  int         // the place of the last rank that was counted, or -1
	asked    int         // the place of the last rank that asked, or -1
	from     []int       // by term: whom it asked
}

// match returns, for each place in line, the pieces that make its boxes in dst
// out of what the places in line hold in src. It reports false if something is
// missing. From holds places.
func match(src, dst *view, line []int) (pieces [][]Piece, ok bool) {
	sources := sourcesOf(src, line)
	where := newIndex(sources)
	pieces = make([][]Piece, len(line))
	origins := make([][]*source, len(line)) // where each piece comes from
	for i, t := range line {
		if pieces[i], origins[i], ok = where.cut(dst.boxes[t]); !ok {
			return nil, false
		}
		for _, s := range origins[i] {
			s.count(t)
		}
	}
	for i, t := range line {
		for k, s := range origins[i] {
			pieces[i][k].From = s.ask(t)
		}
	}
	return pieces, true
}

// sourcesOf returns the parts that the places in line hold in v, in the order
// of their first holders.
func sourcesOf(v *view, line []int) []*source {
	terms := v.terms(line)
	place := make(map[int]int, len(terms))
	for e, term := range terms {
		place[term] = e
	}
	var sources []*source
	known := map[int]*source{} // by part
	for _, i := range line {
		if total(v.boxes[i]) == 0 {
			continue
		}
		s := known[v.part[i]]
		if s == nil {
			s = &source{boxes: v.boxes[i], holders: make([][]int, len(terms)), own: map[int]int{},
				needed: make([]int, len(terms)), served: make([]int, len(terms)), counted: -1, asked: -1}
			known[v.part[i]] = s
			sources = append(sources, s)
		}
		e := place[v.term[i]]
		s.own[i] = e
		s.holders[e] = append(s.holders[e], i)
	}
	for _, s := range sources {
		s.complete = !slices.ContainsFunc(s.holders, func(h []int) bool { return len(h) == 0 })
	}
	return sources
}

// holds reports whether the rank at place t holds term e of s.
func (s *source) holds(t, e int) bool {
	own, ok := s.own[t]
	return ok && own == e
}

// count notes that the rank at place t needs s.
func (s *source) count(t int) {
	if s.counted == t {
		return
	}
	s.counted = t
	for e := range s.holders {
		if !s.holds(t, e) {
			s.needed[e]++
		}
	}
}

// ask returns the places of those that give their terms of s to the rank at
// place t: itself where it can. All that need s are counted before any asks.
func (s *source) ask(t int) []int {
	if s.asked == t {
		return s.from
	}
	s.asked, s.from = t, make([]int, len(s.holders))
	for e, holders := range s.holders {
		if s.holds(t, e) {
			s.from[e] = t
			continue
		}
		s.from[e] = holders[s.served[e]*len(holders)/s.needed[e]]
		s.served[e]++
	}
	return s.from
}
