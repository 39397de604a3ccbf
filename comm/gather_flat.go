package comm

// gatherFlat leaves In[0] of member r in Out[r] of the root.
//
// Every member sends its block to the root. It takes one step; the root sends
// nothing, every other member its block. Blocks may differ in length.
//
// Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication:
// theory, practice, and experience", Concurrency and Computation 19(13), 2007.
func gatherFlat(s position) []step {
	if s.rank != s.root {
		return []step{sendStep(s.root, 0, s.in(0))}
	}
	steps := []step{copyStep(s.out(s.rank), s.in(0))}
	for _, r := range s.others() {
		steps = append(steps, recvStep(s.out(r), r, 0))
	}
	return steps
}

func gatherFlatWire(s position, in []Block, _, _ int) int {
	if s.rank == s.root {
		return 0
	}
	return in[0].Len()
}
