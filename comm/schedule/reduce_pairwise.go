package schedule

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
func reducePairwise(s Position) []Step {
	mine := s.Slot(s.Rank)
	if s.Rank == s.Root {
		mine = s.Out(0).Chunk(s.Rank, s.Size)
	}
	steps := collect(s, 0, func(r int) Part { return s.In(0).Chunk(r, s.Size) }, mine)
	if s.Rank != s.Root {
		return append(steps, sendStep(s.Root, 1, mine))
	}
	for _, r := range s.Others() {
		steps = append(steps, recvStep(s.Out(0).Chunk(r, s.Size), r, 1))
	}
	return steps
}

func reducePairwiseWire(s Position, _ []Block, bytes, align int) int {
	if s.Rank == s.Root {
		return bytes - ChunkLen(bytes, align, s.Rank, s.Size)
	}
	return bytes
}
