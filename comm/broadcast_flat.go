package comm

// broadcastFlat leaves In[0] of the root in Out[0] of every member, for small
// blocks.
//
// The root sends its block to every other member. For S bytes on P members it
// takes one step; the root sends S(P-1) bytes and the others nothing.
//
// Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication:
// theory, practice, and experience", Concurrency and Computation 19(13), 2007.
func broadcastFlat(s position) []step {
	if s.rank != s.root {
		return []step{recvStep(s.out(0), s.root, 0)}
	}
	var steps []step
	for _, r := range s.others() {
		steps = append(steps, sendStep(r, 0, s.in(0)))
	}
	return append(steps, copyStep(s.out(0), s.in(0)))
}

func broadcastFlatWire(s position, _ []Block, bytes, _ int) int {
	if s.rank != s.root {
		return 0
	}
	return (s.size - 1) * bytes
}
