package comm

// allReduceGather leaves the reduction of every In[0] in Out[0] of every
// member, for small blocks.
//
// Every member sends its block to every other and adds them all itself, in
// rank order. For S bytes on P members it takes one step, and each member
// sends S(P-1) bytes.
//
// Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication:
// theory, practice, and experience", Concurrency and Computation 19(13), 2007.
func allReduceGather(s position) []step {
	return collect(s, 0, func(int) part { return s.in(0) }, s.out(0))
}

func allReduceGatherWire(s position, in []Block, _, _ int) int {
	return (s.size - 1) * in[0].Len()
}
