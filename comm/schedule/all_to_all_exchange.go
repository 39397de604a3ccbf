package schedule

// allToAllExchange leaves In[r] of member s in Out[s] of member r.
//
// Every member sends every other the block that is for it. For S bytes a
// member on P members it takes one step, and each sends S(P-1)/P bytes, the
// least any algorithm can. Blocks may differ in length.
//
// Thakur, Rabenseifner and Gropp, "Optimization of collective communication
// operations in MPICH", IJHPCA 19(1), 2005.
func allToAllExchange(s Position) []Step {
	steps := make([]Step, 0, 2*s.Size-1)
	for _, r := range s.Others() {
		steps = append(steps, sendStep(r, 0, s.In(r)))
	}
	steps = append(steps, copyStep(s.Out(s.Rank), s.In(s.Rank)))
	for _, r := range s.Others() {
		steps = append(steps, recvStep(s.Out(r), r, 0))
	}
	return steps
}

func allToAllExchangeWire(s Position, in []Block, _, _ int) int { return lenOthers(s, in) }
