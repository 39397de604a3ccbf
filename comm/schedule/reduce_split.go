package schedule

// reduceSplit leaves the reduction of every In[0] in Out[0] of the root, for
// large blocks: member r reads chunk r of every block, adds them in rank order,
// and writes the sum to the root's Out. It takes one meeting more than
// reduceDirect, before the members write to it.
func reduceSplit(s Position) []Step {
	dst := []Part{s.Out(0).Of(s.Root).Chunk(s.Rank, s.Size)}
	return []Step{meetStep, reduceInPlace(s, dst, s.In(0).Chunk(s.Rank, s.Size)), meetStep}
}
