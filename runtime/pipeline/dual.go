package pipeline

// dualPipe is DualPipe: the model is there twice, and half of the micro-batches
// go down the stages and half up. A stage takes one forward in one copy as it takes
// another backward in the other, so that the messages of one go beside the
// arithmetic of the other. No stage holds more than S+1 micro-batches.
//
// DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, section 3.2.1.
func dualPipe(s *Schedule, stage int) []Action {
	half := s.Stages / 2
	if stage < half {
		return dual(half, stage, s.Micro/2, 0, s.Micro/2)
	}
	return dual(half, s.Stages-1-stage, s.Micro/2, 1, s.Micro/2)
}

// dualPipeV is DualPipe of a model that is there once: of the stages that two copies mirror
// in each other one half is left, and holds both ends of the V.
//
// Sea AI Lab, "Cut-in-half", 2025.
func dualPipeV(s *Schedule, stage int) []Action {
	return dual(s.Stages, stage, s.Micro, 0, 0)
}

// dual is the order of stage s of those on one side of the middle, of which there are stages: micro
// micro-batches go in through chunk near, and as many come back through the other one. Those through chunk 1
// are numbered from second on.
func dual(stages, stage, micro, near, second int) []Action {
	far, behind := 1-near, stages-1-stage
	t := &tally{}
	for k := range t.next[1] {
		t.next[1][k] = second
	}
	weights, split := []Action(nil), false // those put off, the oldest first; whether passes are being split
	backward := func(chunk int) {
		if !split {
			t.next[chunk][BackwardInput]++
			t.next[chunk][BackwardWeight]++
			t.order = append(t.order, Action{Backward, t.next[chunk][BackwardInput] - 1, chunk})
			return
		}
		weights = append(weights, Action{BackwardWeight, t.next[chunk][BackwardInput], chunk})
		t.do(BackwardInput, chunk)
	}
	weight := func() {
		if len(weights) > 0 {
			t.order, weights = append(t.order, weights[0]), weights[1:]
		}
	}
	for range 2 * behind {
		t.do(Forward, near)
	}
	for range stage + 1 {
		t.do(Forward, near)
		t.do(Forward, far)
	}
	split = true
	for range behind {
		backward(far)
		weight()
		t.do(Forward, far)
	}
	split = false
	for range micro - 2*stages + stage + 1 {
		t.do(Forward, near)
		backward(far)
		t.do(Forward, far)
		backward(near)
	}
	for range behind {
		backward(far)
		t.do(Forward, far)
		backward(near)
	}
	for i := range stage + 1 { // the second half of the passes is split
		middle := i == (stage+1)/2
		split = split || middle && stage%2 == 1
		backward(far)
		split = split || middle && stage%2 == 0
		backward(near)
	}
	for range behind {
		weight()
		backward(near)
	}
	for len(weights) > 0 {
		weight()
	}
	return t.order
}
