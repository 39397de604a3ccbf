package mesh

import "slices"

// A search finds the cheapest path from one layout to another, by Dijkstra's
// algorithm on tuples of placements.
type search struct {
	mesh     *Mesh
	src, dst *Placed // dst is Partial only where src is
	itemSize int
	goal     *view // of dst
	bound    []int // by position: the most bytes that a rank may receive
	states   []*state
	with     func([]Placement) *Placed // makes a layout of a tuple
}

// A state is a tuple of placements.
type state struct {
	*Placed
	view  *view
	lacks []int // by position: the elements of the target that are missing
	best  *path // the cheapest known
	done  bool  // nothing cheaper can be found
}

// A path leads from the source of a search to a state.
type path struct {
	at       *state
	before   *path // nil at the source
	step     Step  // from before to at
	steps    int
	seconds  float64
	received []int // by position: bytes, in all steps
}

// A move is a step that may be taken from a state.
type move struct {
	op   Op
	dims []int
	to   []Placement // of all dims of the mesh
}

// newSearch prepares a search between layouts of one shape and mesh.
func newSearch(src, dst *Placed, itemSize int, with func([]Placement) *Placed) *search {
	s := &search{mesh: src.mesh, src: src, dst: dst, itemSize: itemSize, goal: dst.view(), with: with}
	start := s.state(src.placements)
	start.best = &path{at: start, received: make([]int, s.mesh.Size())}
	s.bound = s.bounds(start)
	return s
}

// run goes on until the target's cheapest path is known, or if all is set that
// of every state. It calls arrived with every path to the target that it finds.
func (s *search) run(all bool, arrived func(*path)) *path {
	goal := s.state(s.dst.placements)
	for !goal.done || all {
		next := s.nearest()
		if next == nil {
			break
		}
		next.done = true
		if next == goal {
			continue
		}
		for _, m := range s.moves(next.placements) {
			p := s.advance(next.best, m)
			if p == nil || !s.admits(p) {
				continue
			}
			if p.at == goal {
				arrived(p)
			}
			if p.at.best == nil || p.less(p.at.best) {
				p.at.best = p
			}
		}
	}
	return goal.best
}

// nearest returns the state with the cheapest path of those that are not done;
// nil if there is none.
func (s *search) nearest() *state {
	var next *state
	for _, st := range s.states {
		if st.best != nil && !st.done && (next == nil || st.best.less(next.best)) {
			next = st
		}
	}
	return next
}

// less reports whether p is cheaper than q, or as cheap in fewer steps.
func (p *path) less(q *path) bool {
	return p.seconds < q.seconds || p.seconds == q.seconds && p.steps < q.steps
}

// state returns the state of a tuple.
func (s *search) state(placements []Placement) *state {
	for _, st := range s.states {
		if slices.Equal(st.placements, placements) {
			return st
		}
	}
	st := &state{Placed: s.layout(placements), lacks: make([]int, s.mesh.Size())}
	st.view = st.Placed.view()
	for pos := range st.lacks {
		st.lacks[pos] = lacks(st.view.boxes[pos], s.goal.boxes[pos])
	}
	s.states = append(s.states, st)
	return st
}

func (s *search) layout(placements []Placement) *Placed {
	switch {
	case slices.Equal(placements, s.src.placements):
		return s.src
	case slices.Equal(placements, s.dst.placements):
		return s.dst
	}
	return s.with(placements)
}

// view returns l as the positions of its mesh see it.
func (l *Placed) view() *view {
	n := l.mesh.Size()
	v, boxes := &view{make([][]Box, n), make([]int, n), make([]int, n)}, make([]Box, n)
	for pos := range n {
		boxes[pos] = l.box(pos)
		v.boxes[pos] = boxes[pos : pos+1 : pos+1]
		v.part[pos], v.term[pos] = l.atPosition(pos)
	}
	return v
}

// bounds returns the most bytes that each rank may receive: those that it lacks
// and, for each run, those of an all-reduce of what it holds.
func (s *search) bounds(start *state) []int {
	bound := make([]int, s.mesh.Size())
	for pos := range bound {
		bound[pos] = start.lacks[pos] * s.itemSize
	}
	at := slices.Clone(s.src.placements)
	for run, _ := s.reducible(at); run != nil; run, _ = s.reducible(at) {
		for pos, n := range s.reduceBytes(start.view, run) {
			bound[pos] += n
		}
		for _, i := range run {
			at[i] = Replicate()
		}
	}
	return bound
}

// reduceBytes returns what each rank sends, and receives, in an all-reduce along
// dims of what it holds in v.
func (s *search) reduceBytes(v *view, dims []int) []int {
	bytes := make([]int, s.mesh.Size())
	for _, line := range s.mesh.lines(dims) {
		for i, pos := range line {
			bytes[pos] = AllReduceBytes(total(v.boxes[pos])*s.itemSize, s.itemSize, len(line), i)
		}
	}
	return bytes
}

// admits reports whether no rank has received more than it may, or will have
// when it has what it still lacks.
func (s *search) admits(p *path) bool {
	for pos, n := range p.received {
		if n+p.at.lacks[pos]*s.itemSize > s.bound[pos] {
			return false
		}
	}
	return true
}

// advance returns p with the step m after it; nil if the ranks of a line do not
// hold what they need.
func (s *search) advance(p *path, m move) *path {
	to := s.state(m.to)
	sent, received, ok := s.traffic(p.at, to, m)
	if !ok && m.op == Direct {
		m.dims = s.involved(p.at.placements)
		sent, received, ok = s.traffic(p.at, to, m)
	}
	if !ok {
		return nil
	}
	step := Step{Op: m.op, Dims: m.dims, Src: p.at.Placed, Dst: to.Placed, Bytes: slices.Max(received)}
	if step.Bytes == 0 {
		step.Op = Slice
	}
	if step.Communicates() {
		step.Seconds = s.mesh.seconds(step.Op, step.Dims, max(step.Bytes, slices.Max(sent)))
	}
	next := &path{to, p, step, p.steps + 1, p.seconds + step.Seconds, slices.Clone(p.received)}
	for pos, n := range received {
		next.received[pos] += n
	}
	return next
}

// traffic returns the bytes that each rank sends and receives when it goes from
// one state to another by m. It reports false if m cannot be taken.
func (s *search) traffic(from, to *state, m move) (sent, received []int, ok bool) {
	if m.op == AllReduce {
		received = s.reduceBytes(from.view, m.dims)
		return received, received, true
	}
	sent, received = make([]int, s.mesh.Size()), make([]int, s.mesh.Size())
	for _, line := range s.mesh.lines(m.dims) {
		if !s.tally(newCrowd(from.Placed, from.view, line, m.dims), newCrowd(to.Placed, to.view, line, m.dims), sent, received) {
			return nil, nil, false
		}
	}
	return sent, received, true
}

// involved returns the mesh dims along which a tensor may have to move on its
// way to the target: all but those that are Replicate now and then, or stay
// Partial.
func (s *search) involved(at []Placement) []int {
	var dims []int
	for i, p := range at {
		if q := s.dst.placements[i]; p != q || p.cuts() {
			dims = append(dims, i)
		}
	}
	return dims
}
