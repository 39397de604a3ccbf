package comm

// reducePairwise leaves the reduction of every In[0] in Out[0] of the root, for
// large blocks.
//
// It is a pairwise reduce-scatter, after which member r has chunk r of the
// result, and a gather of the chunks to the root. For S bytes on P members it
// takes two steps; the root sends and receives about S(P-1)/P bytes in the
// first and receives as many in the second, where reduceFlat makes it receive
// S(P-1). Every other member sends S bytes.
//
// Rabenseifner, "Optimization of collective reduction operations", ICCS 2004.
func reducePairwise(s position) []step {
	mine := s.slot(s.rank)
	if s.rank == s.root {
		mine = s.out(0).chunk(s.rank, s.size)
	}
	steps := collect(s, 0, func(r int) part { return s.in(0).chunk(r, s.size) }, mine)
	if s.rank != s.root {
		return append(steps, sendStep(s.root, 1, mine))
	}
	for _, r := range s.others() {
		steps = append(steps, recvStep(s.out(0).chunk(r, s.size), r, 1))
	}
	return steps
}

func reducePairwiseWire(s position, _ []Block, bytes, align int) int {
	if s.rank == s.root {
		return bytes - chunkLen(bytes, align, s.rank, s.size)
	}
	return bytes
}
