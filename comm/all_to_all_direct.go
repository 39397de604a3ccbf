package comm

// allToAllDirect leaves In[r] of member s in Out[s] of member r, which copies
// it.
func allToAllDirect(s position) []step {
	steps := []step{copyStep(s.out(s.rank), s.in(s.rank))}
	for _, r := range s.others() {
		steps = append(steps, copyStep(s.out(r), s.in(s.rank).of(r)))
	}
	return append(steps, meetStep)
}
