package comm

// reduceFlat leaves the reduction of every In[0] in Out[0] of the root, for
// small blocks.
//
// Every member sends its block to the root, which adds them in rank order. It
// takes one step; every member but the root sends S bytes.
//
// Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication:
// theory, practice, and experience", Concurrency and Computation 19(13), 2007.
func reduceFlat(s position) []step {
	if s.rank != s.root {
		return []step{sendStep(s.root, 0, s.in(0))}
	}
	return gatherReduce(s, 0, s.in(0), s.out(0))
}

func reduceFlatWire(s position, in []Block, _, _ int) int {
	if s.rank == s.root {
		return 0
	}
	return in[0].Len()
}
