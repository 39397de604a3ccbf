package schedule

// allReduceGather leaves the reduction of every In[0] in Out[0] of every
// member, for small blocks.
//
// Every member sends its block to every other and adds them all itself, in
// rank order. For S bytes on P members it takes one step, and each member
// sends S(P-1) bytes.
//
// Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication:
// theory, practice, and experience", Concurrency and Computation 19(13), 2007.
func allReduceGather(s Position) []Step {
	return collect(s, 0, func(int) Part { return s.In(0) }, s.Out(0))
}

func allReduceGatherWire(s Position, in []Block, _, _ int) int {
	return (s.Size - 1) * in[0].Len()
}
