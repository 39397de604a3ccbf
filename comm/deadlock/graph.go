package deadlock

import (
	"slices"

	"tpsh/comm"
)

// A Graph says, of each rank, whom it waits for.
type Graph []Node

// A Node is one rank of a Graph.
type Node struct {
	State  State
	Waits  []int       // if it is blocked: the ranks whose calls or messages it lacks
	Call   any         // the collective in which it is blocked, nil for a message
	Caught comm.Caught // if it is blocked: the errors that it has caught
}

// A State says whether a rank runs, waits or has ended.
type State uint8

const (
	Running State = iota
	Blocked
	Ended
)

// ClosedSets returns the smallest closed sets of ranks, each ascending, in
// ascending order: sets of blocked ranks each of which waits for members of
// the set and for ended ranks alone, and none of which can be left out. They
// are the strongly connected components of the blocked ranks from which no
// wait leads on to a rank that has not ended.
//
// For example, a rank 0 in recv(src=1) and a rank 1 in recv(src=0) are a closed set, and
// a rank 2 in recv(src=0) is in none.
//
// No rank of such a set can ever go on, whatever the others do; any other
// blocked rank waits, directly or through others, for a running rank or for
// such a set.
func (g Graph) ClosedSets() [][]int {
	reach := make([][]int, len(g))
	running := func(r int) bool { return g[r].State == Running }
	for r, n := range g {
		if n.State == Blocked && !slices.ContainsFunc(n.Waits, running) {
			reach[r] = g.reach(r)
		}
	}
	var sets [][]int
	for r, set := range reach {
		if set != nil && set[0] == r && allReach(reach, set) {
			sets = append(sets, set)
		}
	}
	return sets
}

// LeftOut returns, ascending, the ranks of a closed set that wait for calls that others
// of it have left out; see comm.Caught. Those others may go on as soon as these do.
func (g Graph) LeftOut(set []int) []int {
	var ranks []int
	for _, r := range set {
		if g.leftOut(set, r) {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// Tell completes a report for the ranks that LeftOut has returned: it leaves in e
// the errors of those whose calls or messages they lack, and of no others.
func (g Graph) Tell(e *comm.DeadlockError, ranks []int) {
	e.Told = ranks
	for i := range e.Waits {
		w := &e.Waits[i]
		left := slices.ContainsFunc(ranks, func(r int) bool { return slices.Contains(g[r].Waits, w.Rank) })
		if !left || slices.Contains(ranks, w.Rank) {
			w.Caught.Last = ""
		}
	}
}

// leftOut reports whether the ranks for which a rank of a set waits have left out the call that
// it waits for, with the others that make it.
func (g Graph) leftOut(set []int, rank int) bool {
	for _, r := range set {
		if r != rank && (g[rank].Call == nil || g[r].Call != g[rank].Call || g[r].Caught.LeftOut(r, &g[rank].Caught, rank)) {
			continue
		}
		for _, missing := range g[rank].Waits {
			if g[missing].State == Ended || !g[missing].Caught.LeftOut(missing, &g[r].Caught, r) {
				return false
			}
		}
	}
	return true
}

// allReach reports whether every rank of set reaches all of it.
func allReach(reach [][]int, set []int) bool {
	for _, r := range set {
		if len(reach[r]) != len(set) {
			return false
		}
	}
	return true
}

// reach returns, ascending, r and the blocked ranks for which it waits
// directly or through others, or nil if a running rank is among those.
func (g Graph) reach(r int) []int {
	seen := make([]bool, len(g))
	seen[r] = true
	set := []int{r}
	for i := 0; i < len(set); i++ {
		for _, next := range g[set[i]].Waits {
			if g[next].State == Running {
				return nil
			}
			if g[next].State == Blocked && !seen[next] {
				seen[next] = true
				set = append(set, next)
			}
		}
	}
	slices.Sort(set)
	return set
}

// EndedAmong returns, ascending, the ended ranks for which the ranks of set
// wait.
func (g Graph) EndedAmong(set []int) []int {
	var ranks []int
	for _, r := range set {
		for _, next := range g[r].Waits {
			if g[next].State == Ended && !slices.Contains(ranks, next) {
				ranks = append(ranks, next)
			}
		}
	}
	slices.Sort(ranks)
	return ranks
}

// AllEnded reports whether all of ranks have ended.
func (g Graph) AllEnded(ranks []int) bool {
	return !slices.ContainsFunc(ranks, func(r int) bool { return g[r].State != Ended })
}
