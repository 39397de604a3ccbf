package schedule

// reduceFlat leaves the reduction of every In[0] in Out[0] of the root, for
// small blocks.
//
// Every member sends its block to the root, which adds them in rank order. It
// takes one step; every member but the root sends S bytes.
//
// Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication:
// theory, practice, and experience", Concurrency and Computation 19(13), 2007.
func reduceFlat(s Position) []Step {
	if s.Rank != s.Root {
		return []Step{sendStep(s.Root, 0, s.In(0))}
	}
	return gatherReduce(s, 0, s.In(0), s.Out(0))
}

func reduceFlatWire(s Position, in []Block, _, _ int) int {
	if s.Rank == s.Root {
		return 0
	}
	return in[0].Len()
}
