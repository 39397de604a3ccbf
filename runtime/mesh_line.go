package runtime

import (
	"fmt"

	"tpsh/comm"
	"tpsh/mesh"
)

// Where the ranks of a group lie in the meshes that the rank has made: traces name the dims, and
// predict by the costs that were given to them.

// DimsOf returns the names of the mesh dims along which the ranks of g lie: those
// of the first mesh of the rank that has such a line. A dim without a name has its
// number.
func (r *Rank) DimsOf(g *comm.Group) []string { return r.lineOf(g).names }

// A meshLine is the ranks of a group as a mesh has them.
type meshLine struct {
	names []string // of the dims; nil for no mesh
	cost  Cost     // that was given to the dims; zero for none
}

// lineOf returns where the ranks of g lie in a mesh.
func (r *Rank) lineOf(g *comm.Group) meshLine {
	meshes := r.layouts.Meshes()
	if n := len(meshes); r.lines == nil || r.dimsOf != n {
		r.lines, r.dimsOf = map[*comm.Group]meshLine{}, n
	}
	l, ok := r.lines[g]
	if !ok {
		if m, dims := lineThrough(meshes, r.id, g.Ranks()); m != nil {
			l.names = dimNames(m, dims)
			if alpha, beta, given := m.Costs(dims...); given {
				l.cost = Cost{alpha, beta}
			}
		}
		r.lines[g] = l
	}
	return l
}

// costOf returns the expected cost of calls on g: that given with the mesh, by
// which its moves are planned too, or that of the job.
func (r *Rank) costOf(g *comm.Group) Cost {
	if l := r.lineOf(g); l.cost != (Cost{}) {
		return l.cost
	}
	return r.job.cfg.Cost
}

// lineThrough returns the first mesh, and the fewest dims of it, in which ranks are
// the line through rank; nil if there is none.
func lineThrough(meshes []*mesh.Mesh, rank int, ranks []int) (*mesh.Mesh, []int) {
	for count := 1; ; count++ {
		some := false
		for _, m := range meshes {
			if m.NDim() < count {
				continue
			}
			some = true
			for _, dims := range choose(m.NDim(), count) {
				if _, in := m.Position(rank); in && sameRanks(m.Line(rank, dims...), ranks) {
					return m, dims
				}
			}
		}
		if !some {
			return nil, nil
		}
	}
}

// choose returns the ways to take k of 0 to n-1, in order.
func choose(n, k int) [][]int {
	if k == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for last := k - 1; last < n; last++ {
		for _, rest := range choose(last, k-1) {
			all = append(all, append(rest[:len(rest):len(rest)], last))
		}
	}
	return all
}

// sameRanks reports whether a and b hold the same ranks, in whatever order.
func sameRanks(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	in := make(map[int]bool, len(a))
	for _, rank := range a {
		in[rank] = true
	}
	for _, rank := range b {
		if !in[rank] {
			return false
		}
	}
	return true
}

// dimNames returns the names of dims of m; of those without one, the numbers.
func dimNames(m *mesh.Mesh, dims []int) []string {
	names := make([]string, len(dims))
	for i, d := range dims {
		if names[i] = fmt.Sprint(d); d < len(m.Names()) && m.Names()[d] != "" {
			names[i] = m.Names()[d]
		}
	}
	return names
}
