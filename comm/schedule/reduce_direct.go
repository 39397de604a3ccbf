package schedule

// reduceDirect leaves the reduction of every In[0] in Out[0] of the root, for
// small blocks: the root reads the blocks of all and adds them.
func reduceDirect(s Position) []Step {
	if s.Rank != s.Root {
		return []Step{meetStep}
	}
	return allReduceDirect(s)
}
