package schedule

// allReduceRooted leaves the reduction of every In[0] in Out[0] of every member, for
// blocks of many members that are not worth cutting.
//
// Member 0 adds all blocks in rank order, and the sum goes to the others. Both go by way of
// leaders, each of whom stands for the members up to the next: so no member hears from more
// than about 2 sqrt(P) others. For S bytes on P members it takes four steps and 3P messages
// in all, where allReduceGather has P(P-1); a member that leads nobody sends S bytes,
// and a leader at most 2S sqrt(P).
//
// Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication:
// theory, practice, and experience", Concurrency and Computation 19(13), 2007, for a
// reduction and a broadcast in place of an all-gather.
func allReduceRooted(s Position) []Step {
	span := leadsOf(s.Size)
	leader := s.Rank / span * span
	if s.Rank != leader {
		return []Step{sendStep(leader, s.Rank, s.In(0)), recvStep(s.Out(0), leader, 0)}
	}
	own := membersBehind(s, leader, span)
	if s.Rank != 0 {
		steps := []Step{sendStep(0, s.Rank, s.In(0))}
		for _, m := range own {
			steps = append(steps, recvStep(s.Slot(m), m, m))
		}
		for _, m := range own {
			steps = append(steps, sendStep(0, m, s.Slot(m)))
		}
		return append(append(steps, recvStep(s.Out(0), 0, 0)), sendAll(s, own)...)
	}
	src := []Part{s.In(0)}
	steps := make([]Step, 0, 2*s.Size)
	for m := 1; m < s.Size; m++ {
		src = append(src, s.Slot(m))
		from := m / span * span
		if from == 0 {
			from = m
		}
		steps = append(steps, recvStep(s.Slot(m), from, m))
	}
	steps = append(steps, Step{Do: DoReduce, Dst: []Part{s.Out(0)}, Src: src})
	for leader := span; leader < s.Size; leader += span { // before its own, since they have others to tell
		steps = append(steps, sendStep(leader, 0, s.Out(0)))
	}
	return append(steps, sendAll(s, own)...)
}

// leadsOf returns for how many members a leader stands, with itself: the least number whose
// square is size.
func leadsOf(size int) int {
	n := 1
	for n*n < size {
		n++
	}
	return n
}

// membersBehind lists the members for which a leader stands, but for itself.
func membersBehind(s Position, leader, span int) (members []int) {
	for m := leader + 1; m < min(leader+span, s.Size); m++ {
		members = append(members, m)
	}
	return members
}

// sendAll lists the steps that send the result to members.
func sendAll(s Position, members []int) (steps []Step) {
	for _, m := range members {
		steps = append(steps, sendStep(m, 0, s.Out(0)))
	}
	return steps
}

func allReduceRootedWire(s Position, in []Block, _, _ int) int {
	span := leadsOf(s.Size)
	leader := s.Rank / span * span
	messages := 1
	if s.Rank == leader {
		own := len(membersBehind(s, leader, span))
		messages = 2*own + 1
		if s.Rank == 0 {
			messages = own + (s.Size-1)/span
		}
	}
	return messages * in[0].Len()
}
