package schedule

// broadcastDirect leaves In[0] of the root in Out[0] of every member, which
// copies it.
func broadcastDirect(s Position) []Step {
	return []Step{copyStep(s.Out(0), s.In(0).Of(s.Root)), meetStep}
}
