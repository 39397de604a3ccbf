package schedule

// permuteDirect leaves In[0] of the first member of each pair in Out[0] of the
// second, which copies it. No two pairs have the same second member.
func permuteDirect(s Position) []Step {
	var steps []Step
	for _, p := range s.Pairs {
		if p[1] == s.Rank {
			steps = append(steps, copyStep(s.Out(0), s.In(0).Of(p[0])))
		}
	}
	return append(steps, meetStep)
}
