package schedule

// allReducePairwise leaves the reduction of every In[0] in Out[0] of every
// member, for large blocks.
//
// It is a pairwise reduce-scatter, after which member r has chunk r of the
// result, and an all-gather of the chunks. Member r adds the contributions to
// its chunk in rank order: the same bits as allReduceGather. For S bytes on P
// members it takes two steps, and each member sends 2S(P-1)/P bytes, the least
// any algorithm can.
//
// Thakur, Rabenseifner and Gropp, "Optimization of collective communication
// operations in MPICH", IJHPCA 19(1), 2005.
func allReducePairwise(s Position) []Step {
	mine := s.Out(0).Chunk(s.Rank, s.Size)
	steps := collect(s, 0, func(r int) Part { return s.In(0).Chunk(r, s.Size) }, mine)
	for _, r := range s.Others() {
		steps = append(steps, sendStep(r, 1, mine))
	}
	for _, r := range s.Others() {
		steps = append(steps, recvStep(s.Out(0).Chunk(r, s.Size), r, 1))
	}
	return steps
}

func allReducePairwiseWire(s Position, _ []Block, bytes, align int) int {
	mine := ChunkLen(bytes, align, s.Rank, s.Size)
	return bytes - mine + (s.Size-1)*mine
}
