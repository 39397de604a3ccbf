package mesh

import "slices"

// maxSubsetDims is the most mesh dims that are not at their targets of which
// every subset is tried; of more, each alone and all together.
const maxSubsetDims = 6

// moves returns the steps that may be taken from a tuple, in a fixed order.
func (s *search) moves(at []Placement) []move {
	run, more := s.reducible(at)
	moves := s.reductions(at, run)
	var values []int
	for i, p := range at {
		if p != s.dst.placements[i] && p.kind != partial {
			values = append(values, i)
		}
	}
	for _, dims := range subsets(values) {
		if op, ok := s.collective(at, dims); ok {
			moves = s.add(moves, op, dims, s.toward(at, dims))
		}
	}
	if !more {
		dims := slices.Concat(run, values)
		slices.Sort(dims)
		moves = append(moves, move{Direct, dims, s.dst.placements})
	}
	return moves
}

// add appends a move to a tuple, if that is one of a layout: a StridedShard is none where
// the dims that cut before it do not, a RaggedShard none of rows that its units do not divide.
func (s *search) add(moves []move, op Op, dims []int, to []Placement) []move {
	if _, bad := CutOrder(s.mesh.shape, to); bad >= 0 || checkUnits(s.mesh, s.src.shape, to) != nil {
		return moves
	}
	return append(moves, move{op, dims, to})
}

// toward returns at with dims at their targets.
func (s *search) toward(at []Placement, dims []int) []Placement {
	to := slices.Clone(at)
	for _, i := range dims {
		to[i] = s.dst.placements[i]
	}
	return to
}

// collective returns the operation that takes dims, none of them Partial, to
// their targets if it is the same for all.
func (s *search) collective(at []Placement, dims []int) (op Op, ok bool) {
	for k, i := range dims {
		one := AllToAll
		switch {
		case at[i].kind == replicate:
			one = Slice
		case s.dst.placements[i].kind == replicate:
			one = AllGather
		}
		if k > 0 && one != op {
			return 0, false
		}
		op = one
	}
	return op, true
}

// reducible returns the mesh dims to reduce next: the run of one operation that
// is innermost of those that are Partial and not to stay so. more says that
// another operation applies after it.
func (s *search) reducible(at []Placement) (run []int, more bool) {
	for i, p := range slices.Backward(at) {
		if p.kind != partial || p == s.dst.placements[i] {
			continue
		}
		if run != nil && p != at[run[0]] {
			more = true
			break
		}
		run = append(run, i)
	}
	slices.Reverse(run)
	return run, more
}

// reductions returns the ways to reduce a run: to Replicate, or to Shards if
// some target is one. Dims whose target is Replicate are then Shards of any dim,
// the same for all, which are gathered later.
func (s *search) reductions(at []Placement, run []int) []move {
	if run == nil {
		return nil
	}
	toward := s.toward(at, run)
	whole := slices.Clone(at)
	var gathered []int // of run, the dims whose targets are Replicate
	for _, i := range run {
		whole[i] = Replicate()
		if toward[i].kind == replicate {
			gathered = append(gathered, i)
		}
	}
	moves := []move{{AllReduce, run, whole}}
	switch len(gathered) {
	case 0:
		return s.add(moves, ReduceScatter, run, toward)
	case len(run):
		return moves
	}
	for d := range s.dst.shape {
		to := slices.Clone(toward)
		for _, i := range gathered {
			to[i] = Shard(d)
		}
		moves = s.add(moves, ReduceScatter, run, to)
	}
	return moves
}

// subsets returns the subsets of dims that are tried, without the empty one.
func subsets(dims []int) [][]int {
	var out [][]int
	if len(dims) > maxSubsetDims {
		for _, i := range dims {
			out = append(out, []int{i})
		}
		return append(out, dims)
	}
	for mask := 1; mask < 1<<len(dims); mask++ {
		var subset []int
		for k, i := range dims {
			if mask>>k&1 == 1 {
				subset = append(subset, i)
			}
		}
		out = append(out, subset)
	}
	return out
}
