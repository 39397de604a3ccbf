package comm

// scatterDirect leaves In[r] of the root in Out[0] of member r, which copies
// it.
func scatterDirect(s position) []step {
	return []step{copyStep(s.out(0), s.in(s.rank).of(s.root)), meetStep}
}
