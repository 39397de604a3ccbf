package mesh

import "slices"

// A search finds the cheapest path from one layout to another, by Dijkstra's
// algorithm on tuples of placements.
type search struct {
	mesh     *Mesh
	src, dst *Placed // dst is Partial only where src is
	itemSize int
	goal     *state // of dst
	bound    []int  // by position: the most bytes that a rank may receive
	states   []*state
	with     func([]Placement) *Placed // makes a layout of a tuple

	// What traffic works with.
	line           []int
	from, to       crowd
	sent, received []int // by position
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
	s := &search{mesh: src.mesh, src: src, dst: dst, itemSize: itemSize, with: with}
	s.state(dst.placements)
	start := s.state(src.placements)
	start.best = &path{at: start, received: make([]int, s.mesh.Size())}
	s.bound = s.bounds(start)
	return s
}

// run goes on until the target's cheapest path is known, or if all is set that
// of every state. It calls arrived with every path to the target that it finds.
func (s *search) run(all bool, arrived func(*path)) *path {
	goal := s.goal
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
			if to := s.state(m.to); to.done && to != goal {
				continue // the way there is no cheaper
			}
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
	if s.goal == nil { // newSearch asks for the target first
		s.goal = st
	}
	for pos := range st.lacks {
		st.lacks[pos] = lacks(st.view.boxes[pos], s.goal.view.boxes[pos])
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
	n, dims := l.mesh.Size(), len(l.shape)
	ints := make([]int, 2*n+2*n*dims)
	v, boxes := &view{make([][]Box, n), ints[:n:n], ints[n : 2*n : 2*n]}, make([]Box, n)
	edges := ints[2*n:]
	for pos := range n {
		b := Box{Lo: edges[:dims:dims], Hi: edges[dims : 2*dims : 2*dims]}
		edges = edges[2*dims:]
		l.fill(b, pos)
		boxes[pos] = b
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
		s.addReduceBytes(bound, start.view, run)
		for _, i := range run {
			at[i] = Replicate()
		}
	}
	return bound
}

// addReduceBytes adds to bytes what each rank sends, and receives, in an all-reduce
// along dims of what it holds in v.
func (s *search) addReduceBytes(bytes []int, v *view, dims []int) {
	for pos := range bytes {
		if !s.mesh.first(pos, dims) {
			continue
		}
		s.line = s.mesh.lineIn(s.line, pos, dims)
		for i, pos := range s.line {
			bytes[pos] += AllReduceBytes(total(v.boxes[pos])*s.itemSize, s.itemSize, len(s.line), i)
		}
	}
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
	next := &path{to, p, step, p.steps + 1, p.seconds + step.Seconds, make([]int, len(received))}
	for pos, n := range received {
		next.received[pos] = p.received[pos] + n
	}
	return next
}

// traffic returns the bytes that each rank sends and receives when it goes from
// one state to another by m. It reports false if m cannot be taken. The next call
// overwrites them.
func (s *search) traffic(from, to *state, m move) (sent, received []int, ok bool) {
	if s.sent == nil {
		s.sent, s.received = make([]int, s.mesh.Size()), make([]int, s.mesh.Size())
	}
	clear(s.sent)
	clear(s.received)
	if m.op == AllReduce {
		s.addReduceBytes(s.received, from.view, m.dims)
		return s.received, s.received, true
	}
	for pos := range s.sent {
		if !s.mesh.first(pos, m.dims) {
			continue
		}
		s.line = s.mesh.lineIn(s.line, pos, m.dims)
		s.from.gather(from.Placed, from.view, s.line, m.dims, false)
		s.to.gather(to.Placed, to.view, s.line, m.dims, false)
		if !s.tally(&s.from, &s.to, s.sent, s.received) {
			return nil, nil, false
		}
	}
	return s.sent, s.received, true
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
