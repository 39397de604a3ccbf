package schedule

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
func broadcastScatter(s Position) []Step {
	n := s.Size - 1
	var steps []Step
	if s.Rank == s.Root {
		for _, r := range s.Others() {
			steps = append(steps, sendStep(r, 0, s.In(0).Chunk(chunkFromRoot(s, r), n)))
		}
		return append(steps, copyStep(s.Out(0), s.In(0)))
	}
	mine := s.Out(0).Chunk(chunkFromRoot(s, s.Rank), n)
	steps = append(steps, recvStep(mine, s.Root, 0))
	for _, r := range s.Others() {
		if r != s.Root {
			steps = append(steps, sendStep(r, 1, mine))
		}
	}
	for _, r := range s.Others() {
		if r != s.Root {
			steps = append(steps, recvStep(s.Out(0).Chunk(chunkFromRoot(s, r), n), r, 1))
		}
	}
	return steps
}

// chunkFromRoot returns the chunk that the root sends to member r: the members
// other than the root take the chunks in rank order.
func chunkFromRoot(s Position, r int) int {
	if r < s.Root {
		return r
	}
	return r - 1
}

func broadcastScatterWire(s Position, _ []Block, bytes, align int) int {
	if s.Rank == s.Root {
		return bytes
	}
	return (s.Size - 2) * ChunkLen(bytes, align, chunkFromRoot(s, s.Rank), s.Size-1)
}
