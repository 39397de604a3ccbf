package pipeline

// dualPipe is DualPipe: there are two copies of the model, and one half of the micro-batches goes
// through the stages in order, the other in reverse. A stage overlaps the forward pass of a micro-batch in one
// copy with the backward pass of another in the other copy, so that messages of the one overlap with
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

// dualPipeV is DualPipe with one copy of the model. DualPipe's stages s and S-1-s hold the same two parts, so
// half of the stages are enough; each holds one part of either arm of a V.
//
// Sea AI Lab, "Cut-in-half", 2025.
func dualPipeV(s *Schedule, stage int) []Action {
	return dual(s.Stages, stage, s.Micro, 0, 0)
}

// dual is the order of computations of a stage of one arm, which has so many stages: micro micro-batches come
// from its outer end through chunk near, and micro from the middle through the other chunk. Those of chunk 1 are
// numbered from second on.
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
