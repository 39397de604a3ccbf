package schedule

// allGatherDirect leaves In[0] of member r in Out[r] of every member.
//
// Every member copies the blocks of all. For blocks of S bytes on P members,
// each reads SP bytes and writes as many.
func allGatherDirect(s Position) []Step {
	steps := []Step{copyStep(s.Out(s.Rank), s.In(0))}
	for _, r := range s.Others() {
		steps = append(steps, copyStep(s.Out(r), s.In(0).Of(r)))
	}
	return append(steps, meetStep)
}
