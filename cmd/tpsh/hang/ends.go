package hang

import "slices"

// ends returns the sets of ranks at which chains of waits end: each waits for
// nobody outside the set. Ranks for which nobody waits, and that wait for
// nobody, are not among them.
func (g *graph) ends() [][]int {
	waited := map[int]bool{}
	for from, ws := range g.waits {
		if g.stuck[from] == nil {
			for _, w := range ws {
				waited[w.to] = true
			}
		}
	}
	var out [][]int
	for _, set := range g.components() {
		leaves := slices.ContainsFunc(set, func(id int) bool {
			return slices.ContainsFunc(g.out(id), func(w wait) bool { _, inside := slices.BinarySearch(set, w.to); return !inside })
		})
		if !leaves && (len(set) > 1 || waited[set[0]] || g.stuck[set[0]] != nil) {
			out = append(out, set)
		}
	}
	slices.SortFunc(out, func(a, b []int) int { return a[0] - b[0] })
	return out
}

// out returns the waits of a rank. One that is stuck waits for nobody.
func (g *graph) out(id int) []wait {
	if g.stuck[id] != nil {
		return nil
	}
	return g.waits[id]
}

// components returns the strongly connected sets of the ranks, each ascending
// (Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput.
// 1(2), 1972), without recursion: a chain of waits may be long.
func (g *graph) components() [][]int {
	t := &tarjan{g: g, index: map[int]int{}, low: map[int]int{}, on: map[int]bool{}}
	nodes := g.job.ids()
	for from := range g.waits {
		for _, w := range g.waits[from] {
			nodes = append(nodes, w.to)
		}
	}
	for _, id := range sortedSet(nodes) {
		if _, seen := t.index[id]; !seen {
			t.visit(id)
		}
	}
	return t.sets
}

type tarjan struct {
	g          *graph
	index, low map[int]int
	on         map[int]bool
	stack      []int
	sets       [][]int
}

// A step is a node on the way, and the next of its waits.
type step struct{ id, next int }

func (t *tarjan) enter(id int) step {
	t.index[id] = len(t.index)
	t.low[id] = t.index[id]
	t.stack = append(t.stack, id)
	t.on[id] = true
	return step{id: id}
}

func (t *tarjan) visit(id int) {
	way := []step{t.enter(id)}
	for len(way) > 0 {
		s := &way[len(way)-1]
		if out := t.g.out(s.id); s.next < len(out) {
			to := out[s.next].to
			s.next++
			if _, seen := t.index[to]; !seen {
				way = append(way, t.enter(to))
			} else if t.on[to] {
				t.low[s.id] = min(t.low[s.id], t.index[to])
			}
			continue
		}
		done := *s
		way = way[:len(way)-1]
		if len(way) > 0 {
			up := way[len(way)-1].id
			t.low[up] = min(t.low[up], t.low[done.id])
		}
		if t.low[done.id] == t.index[done.id] {
			t.leave(done.id)
		}
	}
}

// leave takes the set whose first node is id off the stack.
func (t *tarjan) leave(id int) {
	at := slices.Index(t.stack, id)
	set := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	for _, n := range set {
		t.on[n] = false
	}
	slices.Sort(set)
	t.sets = append(t.sets, set)
}
