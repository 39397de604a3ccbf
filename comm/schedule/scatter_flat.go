package schedule

// scatterFlat leaves In[r] of the root in Out[0] of member r.
//
// The root sends every other member its block, in one step. The others send
// nothing. Blocks may differ in length.
//
// Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication:
// theory, practice, and experience", Concurrency and Computation 19(13), 2007.
func scatterFlat(s Position) []Step {
	if s.Rank != s.Root {
		return []Step{recvStep(s.Out(0), s.Root, 0)}
	}
	var steps []Step
	for _, r := range s.Others() {
		steps = append(steps, sendStep(r, 0, s.In(r)))
	}
	return append(steps, copyStep(s.Out(0), s.In(s.Rank)))
}

func scatterFlatWire(s Position, in []Block, _, _ int) int {
	if s.Rank != s.Root {
		return 0
	}
	return lenOthers(s, in)
}
