package schedule

// gatherFlat leaves In[0] of member r in Out[r] of the root.
//
// Every member sends its block to the root. It takes one step; the root sends
// nothing, every other member its block. Blocks may differ in length.
//
// Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication:
// theory, practice, and experience", Concurrency and Computation 19(13), 2007.
func gatherFlat(s Position) []Step {
	if s.Rank != s.Root {
		return []Step{sendStep(s.Root, 0, s.In(0))}
	}
	steps := []Step{copyStep(s.Out(s.Rank), s.In(0))}
	for _, r := range s.Others() {
		steps = append(steps, recvStep(s.Out(r), r, 0))
	}
	return steps
}

func gatherFlatWire(s Position, in []Block, _, _ int) int {
	if s.Rank == s.Root {
		return 0
	}
	return in[0].Len()
}
