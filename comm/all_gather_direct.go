package comm

// allGatherDirect leaves In[0] of member r in Out[r] of every member.
//
// Every member copies the blocks of all. For blocks of S bytes on P members,
// each reads SP bytes and writes as many.
func allGatherDirect(s position) []step {
	steps := []step{copyStep(s.out(s.rank), s.in(0))}
	for _, r := range s.others() {
		steps = append(steps, copyStep(s.out(r), s.in(0).of(r)))
	}
	return append(steps, meetStep)
}
