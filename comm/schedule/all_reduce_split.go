package schedule

// allReduceSplit leaves the reduction of every In[0] in Out[0] of every
// member, for large blocks.
//
// Member r reads chunk r of every block, adds them in rank order, and writes
// the sum to every Out in pieces that are still in its cache. For S bytes on P
// members, each reads S bytes and writes S, and takes one meeting more than
// allReduceDirect, before it writes to the others.
func allReduceSplit(s Position) []Step {
	mine := s.Out(0).Chunk(s.Rank, s.Size)
	dst := []Part{mine}
	for _, r := range s.Others() {
		dst = append(dst, mine.Of(r))
	}
	return []Step{meetStep, reduceInPlace(s, dst, s.In(0).Chunk(s.Rank, s.Size)), meetStep}
}
