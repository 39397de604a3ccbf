package comm

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
func allReducePairwise(s position) []step {
	mine := s.out(0).chunk(s.rank, s.size)
	steps := collect(s, 0, func(r int) part { return s.in(0).chunk(r, s.size) }, mine)
	for _, r := range s.others() {
		steps = append(steps, sendStep(r, 1, mine))
	}
	for _, r := range s.others() {
		steps = append(steps, recvStep(s.out(0).chunk(r, s.size), r, 1))
	}
	return steps
}

func allReducePairwiseWire(s position, _ []Block, bytes, align int) int {
	mine := chunkLen(bytes, align, s.rank, s.size)
	return bytes - mine + (s.size-1)*mine
}
