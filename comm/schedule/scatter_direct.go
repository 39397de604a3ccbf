package schedule

// scatterDirect leaves In[r] of the root in Out[0] of member r, which copies
// it.
func scatterDirect(s Position) []Step {
	return []Step{copyStep(s.Out(0), s.In(s.Rank).Of(s.Root)), meetStep}
}
