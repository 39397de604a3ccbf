package schedule

// permuteFlat leaves In[0] of the first member of each pair in Out[0] of the
// second. No two pairs have the same second member.
//
// It takes one step, and a member sends its block once for each pair that it
// is the first of and the second of which is another.
func permuteFlat(s Position) []Step {
	var steps []Step
	for _, p := range s.Pairs {
		if p[0] == s.Rank && p[1] != s.Rank {
			steps = append(steps, sendStep(p[1], 0, s.In(0)))
		}
	}
	for _, p := range s.Pairs {
		switch {
		case p[1] != s.Rank:
		case p[0] == s.Rank:
			steps = append(steps, copyStep(s.Out(0), s.In(0)))
		default:
			steps = append(steps, recvStep(s.Out(0), p[0], 0))
		}
	}
	return steps
}

func permuteFlatWire(s Position, in []Block, _, _ int) int {
	sum := 0
	for _, p := range s.Pairs {
		if p[0] == s.Rank && p[1] != s.Rank {
			sum += in[0].Len()
		}
	}
	return sum
}
