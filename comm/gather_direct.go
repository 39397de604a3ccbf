package comm

// gatherDirect leaves In[0] of member r in Out[r] of the root, which copies the
// blocks of all.
func gatherDirect(s position) []step {
	if s.rank != s.root {
		return []step{meetStep}
	}
	return allGatherDirect(s)
}
