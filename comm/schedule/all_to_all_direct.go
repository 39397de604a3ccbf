package schedule

// allToAllDirect leaves In[r] of member s in Out[s] of member r, which copies
// it.
func allToAllDirect(s Position) []Step {
	steps := []Step{copyStep(s.Out(s.Rank), s.In(s.Rank))}
	for _, r := range s.Others() {
		steps = append(steps, copyStep(s.Out(r), s.In(s.Rank).Of(r)))
	}
	return append(steps, meetStep)
}
