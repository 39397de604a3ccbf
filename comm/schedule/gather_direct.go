package schedule

// gatherDirect leaves In[0] of member r in Out[r] of the root, which copies the
// blocks of all.
func gatherDirect(s Position) []Step {
	if s.Rank != s.Root {
		return []Step{meetStep}
	}
	return allGatherDirect(s)
}
