package comm

// allGatherExchange leaves In[0] of member r in Out[r] of every member.
//
// Every member sends its block to every other. For blocks of S bytes on P
// members it takes one step, and each member sends S(P-1) bytes, as any
// algorithm must on average. Blocks may differ in length.
//
// Thakur, Rabenseifner and Gropp, "Optimization of collective communication
// operations in MPICH", IJHPCA 19(1), 2005.
func allGatherExchange(s position) []step {
	var steps []step
	for _, r := range s.others() {
		steps = append(steps, sendStep(r, 0, s.in(0)))
	}
	steps = append(steps, copyStep(s.out(s.rank), s.in(0)))
	for _, r := range s.others() {
		steps = append(steps, recvStep(s.out(r), r, 0))
	}
	return steps
}

func allGatherExchangeWire(s position, in []Block, _, _ int) int {
	return (s.size - 1) * in[0].Len()
}
