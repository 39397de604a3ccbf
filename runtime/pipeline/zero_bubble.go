package pipeline

// zeroBubble1 is ZB-H1, also called ZB1P: 1F1B whose backward passes of weights are put off, on
// stage s those of the first s micro-batches, so that gradients of inputs go up the stages
// sooner and the weights' fill what was idle at the end. No stage holds more than S
// micro-batches, as the first one does in 1F1B. Its bubble is a third of 1F1B's.
//
// Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 2.
func zeroBubble1(s *Schedule, stage int) []Action {
	return putOff(s, s.Stages-stage, stage)
}

// zeroBubble2 is ZB-H2, also called ZB2P: it takes so many more micro-batches forward
// before the first goes backward that the first stage never waits for a gradient. No
// stage holds more than 2S-1, and none has a bubble.
//
// Qi et al., section 2.
func zeroBubble2(s *Schedule, stage int) []Action {
	return putOff(s, 2*(s.Stages-stage)-1, 2*stage)
}

// putOff does first forward passes, and then by turns a backward pass of inputs, one of weights and a
// forward pass; the weights' are late micro-batches behind.
func putOff(s *Schedule, first, late int) []Action {
	var order []Action
	for i := range min(first, s.Micro) {
		order = append(order, Action{Forward, i, 0})
	}
	weights := 0
	for i := range s.Micro {
		order = append(order, Action{BackwardInput, i, 0})
		if i >= late {
			order = append(order, Action{BackwardWeight, weights, 0})
			weights++
		}
		if i+first < s.Micro {
			order = append(order, Action{Forward, i + first, 0})
		}
	}
	for ; weights < s.Micro; weights++ {
		order = append(order, Action{BackwardWeight, weights, 0})
	}
	return order
}

// A tally makes the order of a stage of two chunks, each of whose passes takes
// the micro-batches in turn.
type tally struct {
	order []Action
	next  [2][BackwardWeight + 1]int // by chunk and kind, the micro-batch that is next
}

// do appends the next pass of a kind through chunk.
func (t *tally) do(k Kind, chunk int) {
	t.order = append(t.order, Action{k, t.next[chunk][k], chunk})
	t.next[chunk][k]++
}

// zeroBubbleV is ZB-V: the stages in the shape of a V, so that the first one
// computes the loss and its gradients come back at once. It has no bubble, and
// no stage holds more than the first one does in 1F1B: 2S halves.
//
// Qi et al., section 6. Fewer than 2S-1 micro-batches do as so many, without those that are not there.
func zeroBubbleV(s *Schedule, stage int) []Action {
	micro := max(2*s.Stages-1, s.Micro)
	t := &tally{}
	for range 2*(s.Stages-stage) - 1 {
		t.do(Forward, 0)
	}
	for range stage {
		t.do(Forward, 1)
		t.do(Forward, 0)
	}
	for range s.Stages - stage {
		t.do(Forward, 1)
		t.do(BackwardInput, 1)
		t.do(BackwardWeight, 1)
	}
	for t.next[1][Forward] < t.next[0][Forward] || t.next[0][Forward] < micro {
		if t.next[0][Forward] < micro {
			t.do(Forward, 0)
		}
		t.do(BackwardInput, 0)
		t.do(BackwardWeight, 0)
		t.do(Forward, 1)
		t.do(BackwardInput, 1)
		t.do(BackwardWeight, 1)
	}
	for range stage {
		t.do(BackwardInput, 0)
		t.do(BackwardInput, 1)
	}
	for range s.Stages - stage {
		t.do(BackwardInput, 0)
		t.do(BackwardWeight, 0)
	}
	for _, chunk := range []int{1, 0} {
		for t.next[chunk][BackwardWeight] < micro {
			t.do(BackwardWeight, chunk)
		}
	}
	var order []Action
	for _, a := range t.order {
		if a.Micro < s.Micro {
			order = append(order, a)
		}
	}
	return order
}
