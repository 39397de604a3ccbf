package comm

// reduceDirect leaves the reduction of every In[0] in Out[0] of the root, for
// small blocks: the root reads the blocks of all and adds them.
func reduceDirect(s position) []step {
	if s.rank != s.root {
		return []step{meetStep}
	}
	return allReduceDirect(s)
}
