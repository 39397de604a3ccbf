package comm

// reduceSplit leaves the reduction of every In[0] in Out[0] of the root, for
// large blocks: member r reads chunk r of every block, adds them in rank order,
// and writes the sum to the root's Out. It takes one meeting more than
// reduceDirect, before the members write to it.
func reduceSplit(s position) []step {
	dst := []part{s.out(0).of(s.root).chunk(s.rank, s.size)}
	return []step{meetStep, reduceInPlace(s, dst, s.in(0).chunk(s.rank, s.size)), meetStep}
}
