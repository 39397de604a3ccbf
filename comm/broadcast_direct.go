package comm

// broadcastDirect leaves In[0] of the root in Out[0] of every member, which
// copies it.
func broadcastDirect(s position) []step {
	return []step{copyStep(s.out(0), s.in(0).of(s.root)), meetStep}
}
