package comm

// allReduceSplit leaves the reduction of every In[0] in Out[0] of every
// member, for large blocks.
//
// Member r reads chunk r of every block, adds them in rank order, and writes
// the sum to every Out in pieces that are still in its cache. For S bytes on P
// members, each reads S bytes and writes S, and takes one meeting more than
// allReduceDirect, before it writes to the others.
func allReduceSplit(s position) []step {
	mine := s.out(0).chunk(s.rank, s.size)
	dst := []part{mine}
	for _, r := range s.others() {
		dst = append(dst, mine.of(r))
	}
	return []step{meetStep, reduceInPlace(s, dst, s.in(0).chunk(s.rank, s.size)), meetStep}
}
