package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// layouts say on which host each of size members is.
var layouts = map[string]func(size int) []int{
	"two":         func(size int) []int { return placed(size, func(m int) int { return 2 * m / size }) },
	"of two":      func(size int) []int { return placed(size, func(m int) int { return m / 2 }) },
	"of four":     func(size int) []int { return placed(size, func(m int) int { return m / 4 }) },
	"interleaved": func(size int) []int { return placed(size, func(m int) int { return m % 3 }) },
	"first alone": func(size int) []int { return placed(size, func(m int) int { return min(m, 1) }) },
	"half alone":  func(size int) []int { return placed(size, func(m int) int { return max(0, m-size/2) }) },
	"in between":  func(size int) []int { return placed(size, func(m int) int { return m / 2 % 2 }) },
}

func placed(size int, host func(m int) int) []int {
	of := make([]int, size)
	for m := range of {
		of[m] = host(m)
	}
	return of
}

// longBlocks say who of the members of an AllGather offers a long block.
var longBlocks = map[string]func(m int) bool{
	"all long": func(int) bool { return true },
	"odd long": func(m int) bool { return m%2 == 1 },
	"one long": func(m int) bool { return m == 2 },
}

// onHosts returns the algorithm of a kind for several hosts as one for each layout, none if
// there is none. In groups that gain nothing by their layout each member is on a host.
func onHosts(kind Kind) (list []algorithm) {
	a := kindRows[kind].hosts
	if a == nil {
		return nil
	}
	for layout, of := range layouts {
		for mask, long := range longBlocks {
			if kind != AllGather && mask != "all long" || kind.Reduces() && !slices.IsSorted(of(16)) {
				continue
			}
			steps := func(p Position) []Step {
				if p.Hosts = NewHosts(of(p.Size)); p.Hosts == nil {
					p.Hosts = &Hosts{of: firstRanks(p.Size), place: make([]int, p.Size), members: singly(p.Size), chains: 1}
				}
				for m := range p.Size {
					p.Long = append(p.Long, long(m))
				}
				return a.steps(p)
			}
			list = append(list, algorithm{layout + " " + mask, nil, steps, sendsNothing})
		}
	}
	return list
}

// singly returns the members of hosts that have one each.
func singly(size int) [][]int {
	hosts := make([][]int, size)
	for m := range hosts {
		hosts[m] = []int{m}
	}
	return hosts
}

// Hosts are numbered as their first members are; where nothing can be spared there are none.
func TestNewHosts(t *testing.T) {
	h := NewHosts([]int{7, 3, 7, 3, 5})
	if got, want := fmt.Sprint(h.of, h.place, h.members), "[0 1 0 1 2] [0 0 1 1 0] [[0 2] [1 3] [4]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, of := range [][]int{nil, {1}, {1, 1, 1}, {2, 0, 1}} {
		if got := NewHosts(of); got != nil {
			t.Errorf("%v: got %+v, want nothing", of, got)
		}
	}
}

// crossing returns how many cells of a call cross from one host to another.
func (c simCase) crossing(a *algorithm, of []int) (cells int, err error) {
	members := c.members(a, func(int) bool { return false })
	sent := func(from, to, n int) {
		if of[from] != of[to] {
			cells += n
		}
	}
	err = runWatched(members, rand.New(rand.NewPCG(1, 1)), sent)
	return cells, err
}

// What crosses from host to host is the least that can: of all gathers and broadcasts each
// block once for each host but its own; of a sum in the order of members the fold once to
// each host but the first, and the result to each other host that is to have it.
func TestHostsCrossOnce(t *testing.T) {
	for name, layout := range layouts {
		for size := 2; size <= 16; size++ {
			of := layout(size)
			hosts := NewHosts(of)
			if hosts == nil {
				continue
			}
			for _, kind := range []Kind{AllGather, Broadcast, AllReduce, Reduce, ReduceScatter} {
				if kind.Reduces() && !hosts.ordered() {
					continue
				}
				for _, c := range simCases(kind, size) {
					a := algorithm{wire: sendsNothing, steps: func(p Position) []Step {
						p.Hosts, p.Long = hosts, slices.Repeat([]bool{true}, size)
						return kindRows[kind].hosts.steps(p)
					}}
					want := c.leastCrossing(hosts)
					if got, err := c.crossing(&a, of); err != nil || got != want {
						t.Errorf("%s, %+v: got %d cells and %v, want %d", name, c, got, err, want)
					}
				}
			}
		}
	}
}

// leastCrossing returns how many cells must cross, if sums are in the order of members.
func (c simCase) leastCrossing(h *Hosts) (cells int) {
	others := len(h.members) - 1
	there := func(member int) int { // 1 if a result must leave the last host for a member
		if h.of[member] == others {
			return 0
		}
		return 1
	}
	for m := range c.size {
		switch c.kind {
		case AllGather, Broadcast:
			cells += max(0, c.inCells(m, 0)) * others
		case ReduceScatter:
			cells += c.inCells(0, m) * (others + there(m))
		}
	}
	switch c.kind {
	case AllReduce:
		cells = 2 * c.cells * others
	case Reduce:
		cells = c.cells * (others + there(c.root))
	}
	return cells
}

// inPieces returns the steps of a schedule for so many pieces of all blocks, the early part
// of each before the late part of the last one. Every piece has so many blocks of each kind
// of memory, and tags, of its own.
func inPieces(steps []Step, pieces int, blocks map[Memory]int) (all []Step) {
	at, lag := len(steps), 0
	for i, st := range steps {
		if st.Late > 0 && lag == 0 {
			at, lag = i, st.Late
		} else if st.Late != lag {
			panic("late steps are not the last, or not as late as each other")
		}
	}
	for turn := range pieces + lag {
		if turn < pieces {
			all = append(all, ofPiece(steps[:at], turn, blocks)...)
		}
		if turn >= lag {
			all = append(all, ofPiece(steps[at:], turn-lag, blocks)...)
		}
	}
	return all
}

func ofPiece(steps []Step, piece int, blocks map[Memory]int) []Step {
	steps = slices.Clone(steps)
	for i, st := range steps {
		steps[i].Tag += 100 * piece
		for _, parts := range []*[]Part{&steps[i].Src, &steps[i].Dst} {
			*parts = slices.Clone(*parts)
			for at, p := range *parts {
				(*parts)[at].Block += piece * blocks[p.Mem]
			}
		}
		if st.Tag >= 100 {
			panic("a tag of another piece")
		}
	}
	return steps
}

// Schedules for hosts do the same piece by piece, the next while the last is under way.
func TestSchedulesInPieces(t *testing.T) {
	const pieces = 3
	for kind := range Kinds {
		for _, a := range onHosts(kind) {
			for seed := range uint64(40) {
				rng := rand.New(rand.NewPCG(seed, 4))
				cases := simCases(kind, 1+rng.IntN(8))
				c := cases[rng.IntN(len(cases))]
				members := c.members(&a, func(int) bool { return false })
				for _, m := range members {
					m.steps = inPieces(m.steps, pieces, map[Memory]int{MemIn: len(m.in), MemOut: len(m.out), MemSlot: 100})
					m.in, m.out = slices.Repeat(m.in, pieces), repeatBlocks(m.out, pieces)
				}
				if err := runSchedules(members, rng); err != nil {
					t.Fatalf("%s, seed %d, %+v: %v", a.name, seed, c, err)
				}
				for r, m := range members {
					if want := slices.Repeat(c.want(r), pieces); len(want) > 0 && !sameBlocks(m.out, want) {
						t.Fatalf("%s, seed %d, %+v: member %d: got %v, want %v", a.name, seed, c, r, m.out, want)
					}
				}
			}
		}
	}
}

// repeatBlocks returns so many copies of blocks, each with memory of its own.
func repeatBlocks(blocks [][]cell, n int) (all [][]cell) {
	for range n {
		for _, b := range blocks {
			all = append(all, slices.Clone(b))
		}
	}
	return all
}

// A group on several hosts has schedules of its own where they pay: of all gathers if some
// blocks are long, of sums if they are long enough for the chain, and can be folded.
func TestSchedulerAcrossHosts(t *testing.T) {
	s := &Scheduler{Rank: 1, Size: 4, Hosts: NewHosts([]int{0, 0, 1, 1})}
	mixed := &Scheduler{Rank: 1, Size: 4, Hosts: NewHosts([]int{0, 1, 0, 1})}
	all, some := slices.Repeat([]bool{true}, 4), []bool{true, false, false, true}
	for name, c := range map[string]struct {
		s    *Scheduler
		call HostCall
		want bool
	}{
		"long blocks":          {s, HostCall{Kind: AllGather, Root: -1, Long: all}, true},
		"some long blocks":     {mixed, HostCall{Kind: AllGather, Root: -1, Long: some}, true},
		"short blocks":         {s, HostCall{Kind: AllGather, Root: -1, Long: make([]bool, 4)}, false},
		"long broadcast":       {s, HostCall{Kind: Broadcast, Bytes: farBytes}, true},
		"short broadcast":      {s, HostCall{Kind: Broadcast, Bytes: farBytes - 1}, false},
		"all_to_all":           {s, HostCall{Kind: AllToAll, Root: -1, Bytes: 1 << 30}, false},
		"one host":             {&Scheduler{Rank: 1, Size: 4}, HostCall{Kind: Broadcast, Bytes: farBytes}, false},
		"long sum":             {s, HostCall{Kind: AllReduce, Root: -1, Bytes: 192 << 10, Folded: 192 << 10}, true},
		"short sum":            {s, HostCall{Kind: AllReduce, Root: -1, Bytes: 191 << 10, Folded: 191 << 10}, false},
		"sum without a fold":   {s, HostCall{Kind: AllReduce, Root: -1, Bytes: 1 << 20}, false},
		"sum out of order":     {mixed, HostCall{Kind: AllReduce, Root: -1, Bytes: 1 << 20, Folded: 1 << 20}, false},
		"sum to one":           {s, HostCall{Kind: Reduce, Root: 0, Bytes: 1 << 20, Folded: 1 << 20}, true},
		"scattered sum":        {s, HostCall{Kind: ReduceScatter, Root: -1, Bytes: 1 << 20, Folded: 1 << 20}, true},
		"scattered wide folds": {s, HostCall{Kind: ReduceScatter, Root: -1, Bytes: 1 << 20, Folded: 2 << 20}, false},
	} {
		a, b := c.s.AcrossHosts(&c.call), c.s.AcrossHosts(&c.call)
		if got := a != nil; got != c.want {
			t.Errorf("%s: got a schedule for hosts: %v, want %v", name, got, c.want)
		}
		if kept := len(a) > 0 && &a[0] == &b[0]; kept != (c.want && name != "some long blocks") {
			t.Errorf("%s: it is kept: %v", name, kept)
		}
	}
}
