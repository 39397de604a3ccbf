package comm

// scatterFlat leaves In[r] of the root in Out[0] of member r.
//
// The root sends every other member its block, in one step. The others send
// nothing. Blocks may differ in length.
//
// Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication:
// theory, practice, and experience", Concurrency and Computation 19(13), 2007.
func scatterFlat(s position) []step {
	if s.rank != s.root {
		return []step{recvStep(s.out(0), s.root, 0)}
	}
	var steps []step
	for _, r := range s.others() {
		steps = append(steps, sendStep(r, 0, s.in(r)))
	}
	return append(steps, copyStep(s.out(0), s.in(s.rank)))
}

func scatterFlatWire(s position, in []Block, _, _ int) int {
	if s.rank != s.root {
		return 0
	}
	return lenOthers(s, in)
}
