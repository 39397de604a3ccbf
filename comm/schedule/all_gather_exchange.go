package schedule

// allGatherExchange leaves In[0] of member r in Out[r] of every member.
//
// Every member sends its block to every other. For blocks of S bytes on P
// members it takes one step, and each member sends S(P-1) bytes, as any
// algorithm must on average. Blocks may differ in length.
//
// Thakur, Rabenseifner and Gropp, "Optimization of collective communication
// operations in MPICH", IJHPCA 19(1), 2005.
func allGatherExchange(s Position) []Step {
	steps := make([]Step, 0, 2*s.Size-1)
	for _, r := range s.Others() {
		steps = append(steps, sendStep(r, 0, s.In(0)))
	}
	steps = append(steps, copyStep(s.Out(s.Rank), s.In(0)))
	for _, r := range s.Others() {
		steps = append(steps, recvStep(s.Out(r), r, 0))
	}
	return steps
}

func allGatherExchangeWire(s Position, in []Block, _, _ int) int {
	return (s.Size - 1) * in[0].Len()
}
