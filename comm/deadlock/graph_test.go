package deadlock

import (
	"math/bits"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tpsh/comm"
)

func TestClosedSets(t *testing.T) {
	run, end := Node{State: Running}, Node{State: Ended}
	waits := func(ranks ...int) Node { return Node{State: Blocked, Waits: ranks} }
	for _, test := range []struct {
		name  string
		graph Graph
		want  [][]int
	}{
		{"nobody waits", Graph{run, run}, nil},
		{"for one that runs", Graph{waits(1), run}, nil},
		{"for each other", Graph{waits(1), waits(0)}, [][]int{{0, 1}}},
		{"for each other, beside one that runs", Graph{waits(1), waits(0), run}, [][]int{{0, 1}}},
		{"for itself", Graph{waits(0)}, [][]int{{0}}},
		{"for one that has ended", Graph{waits(1), end}, [][]int{{0}}},
		{"for one that has ended and one that runs", Graph{waits(1, 2), end, run}, nil},
		{"a bystander", Graph{waits(1), waits(0), waits(0, 1)}, [][]int{{0, 1}}},
		{"a chain to one that has ended", Graph{waits(1), waits(2), end}, [][]int{{1}}},
		{"two rings", Graph{waits(2), waits(3), waits(0), waits(1)}, [][]int{{0, 2}, {1, 3}}},
		{"a ring that waits for a ring", Graph{waits(1, 2), waits(0), waits(3), waits(2)}, [][]int{{2, 3}}},
		{"a ring that waits for one that runs", Graph{waits(1, 2), waits(0), run}, nil},
	} {
		if got := test.graph.ClosedSets(); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

// Of a closed set those waits end for which the missing ranks have caught an error.
func TestLeftOut(t *testing.T) {
	call := func(name string, clocks []int, ranks ...int) Node {
		return Node{State: Blocked, Waits: ranks, Call: name, Caught: comm.Caught{Clocks: clocks, Last: "no"}}
	}
	for _, test := range []struct {
		name  string
		graph Graph
		want  []int
	}{
		{"nobody has", Graph{call("a", nil, 1), call("b", nil, 0)}, nil},
		{"one has", Graph{call("a", nil, 1), call("b", []int{1, 0}, 0)}, []int{0}},
		{"both have", Graph{call("a", []int{0, 1}, 1), call("b", []int{1, 0}, 0)}, nil},
		{"both have, one twice", Graph{call("a", []int{0, 2}, 1), call("b", []int{1, 0}, 0)}, []int{1}},
		{"one of two that wait has too", Graph{call("a", nil, 2), call("a", []int{0, 0, 1}, 2), call("b", []int{1, 1, 0}, 0, 1)}, nil},
		{"one in the call has left it out itself", Graph{call("a", nil, 2), call("a", []int{1, 0, 1}, 2), call("b", []int{1, 1, 0}, 0, 1)}, []int{0}},
		{"in a chain", Graph{call("a", nil, 1), call("b", []int{1, 0, 0}, 2), call("c", nil, 0)}, []int{0}},
	} {
		set := make([]int, len(test.graph))
		for r := range set {
			set[r] = r
		}
		if got := test.graph.LeftOut(set); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

// TestClosedSetsAreSmallest: ClosedSets finds what the definition says: of all sets of blocked ranks that
// wait for members and ended ranks alone, those that contain no other.
func TestClosedSetsAreSmallest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		graph := make(Graph, rapid.IntRange(1, 6).Draw(t, "size"))
		for r := range graph {
			graph[r].State = State(rapid.IntRange(int(Running), int(Ended)).Draw(t, "state"))
			if graph[r].State == Blocked {
				rank := rapid.IntRange(0, len(graph)-1)
				graph[r].Waits = rapid.SliceOfNDistinct(rank, 1, len(graph), rapid.ID[int]).Draw(t, "waits")
			}
		}
		got, want := graph.ClosedSets(), smallestByDefinition(graph)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v: got %v, want %v", graph, got, want)
		}
	})
}

// smallestByDefinition goes through all sets, as bits, by their size.
func smallestByDefinition(graph Graph) [][]int {
	var all []uint
	for set := uint(1); set < 1<<len(graph); set++ {
		if closedByDefinition(graph, set) {
			all = append(all, set)
		}
	}
	slices.SortStableFunc(all, func(a, b uint) int { return bits.OnesCount(a) - bits.OnesCount(b) })
	var smallest []uint
	for _, set := range all {
		if !slices.ContainsFunc(smallest, func(s uint) bool { return s&set == s }) {
			smallest = append(smallest, set)
		}
	}
	slices.SortFunc(smallest, func(a, b uint) int { return bits.TrailingZeros(a) - bits.TrailingZeros(b) })
	var sets [][]int
	for _, set := range smallest {
		sets = append(sets, members(set))
	}
	return sets
}

func closedByDefinition(graph Graph, set uint) bool {
	for _, r := range members(set) {
		if graph[r].State != Blocked {
			return false
		}
		for _, w := range graph[r].Waits {
			if set&(1<<w) == 0 && graph[w].State != Ended {
				return false
			}
		}
	}
	return true
}

func members(set uint) []int {
	var list []int
	for ; set != 0; set &= set - 1 {
		list = append(list, bits.TrailingZeros(set))
	}
	return list
}
