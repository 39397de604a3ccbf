package comm

// permuteDirect leaves In[0] of the first member of each pair in Out[0] of the
// second, which copies it. No two pairs have the same second member.
func permuteDirect(s position) []step {
	var steps []step
	for _, p := range s.pairs {
		if p[1] == s.rank {
			steps = append(steps, copyStep(s.out(0), s.in(0).of(p[0])))
		}
	}
	return append(steps, meetStep)
}
