package schedule

// broadcastFlat leaves In[0] of the root in Out[0] of every member, for small
// blocks.
//
// The root sends its block to every other member. For S bytes on P members it
// takes one step; the root sends S(P-1) bytes and the others nothing.
//
// Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication:
// theory, practice, and experience", Concurrency and Computation 19(13), 2007.
func broadcastFlat(s Position) []Step {
	if s.Rank != s.Root {
		return []Step{recvStep(s.Out(0), s.Root, 0)}
	}
	var steps []Step
	for _, r := range s.Others() {
		steps = append(steps, sendStep(r, 0, s.In(0)))
	}
	return append(steps, copyStep(s.Out(0), s.In(0)))
}

func broadcastFlatWire(s Position, _ []Block, bytes, _ int) int {
	if s.Rank != s.Root {
		return 0
	}
	return (s.Size - 1) * bytes
}
