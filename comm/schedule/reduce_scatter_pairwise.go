package schedule

// reduceScatterPairwise leaves the reduction of every In[r] in Out[0] of
// member r.
//
// Every member sends In[r] straight to member r, which adds the parts that it receives
// in rank order: the same bits at every message size, on every transport. For
// S bytes a member on P members it takes one step, and each sends S(P-1)/P
// bytes, the least any algorithm can.
//
// Thakur, Rabenseifner and Gropp, "Optimization of collective communication
// operations in MPICH", IJHPCA 19(1), 2005.
func reduceScatterPairwise(s Position) []Step {
	return collect(s, 0, s.In, s.Out(0))
}

func reduceScatterPairwiseWire(s Position, in []Block, _, _ int) int { return lenOthers(s, in) }
