package comm

// permuteFlat leaves In[0] of the first member of each pair in Out[0] of the
// second. No two pairs have the same second member.
//
// It takes one step, and a member sends its block once for each pair that it
// is the first of and the second of which is another.
func permuteFlat(s position) []step {
	var steps []step
	for _, p := range s.pairs {
		if p[0] == s.rank && p[1] != s.rank {
			steps = append(steps, sendStep(p[1], 0, s.in(0)))
		}
	}
	for _, p := range s.pairs {
		switch {
		case p[1] != s.rank:
		case p[0] == s.rank:
			steps = append(steps, copyStep(s.out(0), s.in(0)))
		default:
			steps = append(steps, recvStep(s.out(0), p[0], 0))
		}
	}
	return steps
}

func permuteFlatWire(s position, in []Block, _, _ int) int {
	sum := 0
	for _, p := range s.pairs {
		if p[0] == s.rank && p[1] != s.rank {
			sum += in[0].Len()
		}
	}
	return sum
}
