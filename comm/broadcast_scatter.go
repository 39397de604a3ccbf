package comm

// broadcastScatter leaves In[0] of the root in Out[0] of every member, for
// large blocks and at least two members.
//
// The root scatters its block to the others, which then all-gather the chunks
// among themselves. For S bytes on P members it takes two steps; the root
// sends S bytes and every other member S(P-2)/(P-1), where broadcastFlat makes
// the root send S(P-1).
//
// Barnett, Shuler, van de Geijn, Gupta, Payne and Watts, "Interprocessor
// collective communication library (InterCom)", SHPCC 1994.
func broadcastScatter(s position) []step {
	n := s.size - 1
	var steps []step
	if s.rank == s.root {
		for _, r := range s.others() {
			steps = append(steps, sendStep(r, 0, s.in(0).chunk(chunkFromRoot(s, r), n)))
		}
		return append(steps, copyStep(s.out(0), s.in(0)))
	}
	mine := s.out(0).chunk(chunkFromRoot(s, s.rank), n)
	steps = append(steps, recvStep(mine, s.root, 0))
	for _, r := range s.others() {
		if r != s.root {
			steps = append(steps, sendStep(r, 1, mine))
		}
	}
	for _, r := range s.others() {
		if r != s.root {
			steps = append(steps, recvStep(s.out(0).chunk(chunkFromRoot(s, r), n), r, 1))
		}
	}
	return steps
}

// chunkFromRoot returns the chunk that the root sends to member r: the members
// other than the root take the chunks in rank order.
func chunkFromRoot(s position, r int) int {
	if r < s.root {
		return r
	}
	return r - 1
}

func broadcastScatterWire(s position, _ []Block, bytes, align int) int {
	if s.rank == s.root {
		return bytes
	}
	return (s.size - 2) * chunkLen(bytes, align, chunkFromRoot(s, s.rank), s.size-1)
}
