package pipeline

import "fmt"

// A route is where messages travel in the order sent: from one stage to
// another, and into one chunk there.
type route struct {
	from, to, chunk int
	back            bool
}

// A parcel is a message under way.
type parcel struct {
	micro int
	at    int // the time at which it was sent
}

// A pass is a computation of a stage in time.
type pass struct {
	Action
	start, length int
}

// A run carries out a schedule without tensors. A pass takes one unit of time and a message none;
// in a schedule that splits backward passes, one that is not split takes two.
type run struct {
	s      *Schedule
	next   []int // by stage, its next action
	clock  []int // by stage
	mail   map[route][]parcel
	seen   [][]bool // by stage, which actions it has done, by number
	passes [][]pass // by stage
}

// Check returns nil if the schedule can be carried out: no stage waits for
// ever, every message is received, by the action that it is meant for, and
// every stage takes every micro-batch through every chunk once forward and then
// once backward. The backward passes of a chunk come in the order of the
// micro-batches, and so do those that add to the gradients of its weights: a pass
// for weights comes after that for inputs, which it needs.
func (s *Schedule) Check() error {
	_, err := s.run()
	return err
}

// run carries out the schedule. The error is the first fault found.
func (s *Schedule) run() (*run, error) {
	r := &run{s: s, next: make([]int, s.Stages), clock: make([]int, s.Stages), mail: map[route][]parcel{}, passes: make([][]pass, s.Stages)}
	for range s.Stages {
		r.seen = append(r.seen, make([]bool, len(kindNames)*s.Micro*s.Chunks))
	}
	for moved := true; moved; {
		moved = false
		for stage := range s.Stages {
			n, err := r.advance(stage)
			if err != nil {
				return nil, fmt.Errorf("pipeline: %s: stage %d: %w", s.Title(), stage, err)
			}
			moved = moved || n > 0
		}
	}
	if err := r.complete(); err != nil {
		return nil, fmt.Errorf("pipeline: %s: %w", s.Title(), err)
	}
	return r, nil
}

// advance lets a stage act until it waits or has ended, and returns how many
// actions it did.
func (r *run) advance(stage int) (n int, err error) {
	for r.next[stage] < len(r.s.Actions[stage]) {
		a := r.s.Actions[stage][r.next[stage]]
		ok, err := r.act(stage, a)
		if err != nil || !ok {
			return n, err
		}
		if r.did(stage, a) {
			return n, fmt.Errorf("%v comes twice", a)
		}
		r.seen[stage][r.number(a)] = true
		r.next[stage]++
		n++
	}
	return n, nil
}

// number tells actions of a stage apart.
func (r *run) number(a Action) int { return (int(a.Do)*r.s.Micro+a.Micro)*r.s.Chunks + a.Chunk }

// did reports whether stage has done a.
func (r *run) did(stage int, a Action) bool { return r.seen[stage][r.number(a)] }

// act does a, and reports false if it has to wait.
func (r *run) act(stage int, a Action) (bool, error) {
	done := func(k Kind) bool { return r.did(stage, Action{k, a.Micro, a.Chunk}) }
	_, _, far := r.s.Peer(stage, a)
	switch a.Do {
	case RecvForward, RecvBackward:
		return r.receive(stage, a)
	case SendForward, SendBackward:
		if !far || !done(a.Do-1) && !(a.Do == SendBackward && done(BackwardInput)) {
			return false, fmt.Errorf("%v has nothing to send", a)
		}
		r.send(stage, a)
		return true, nil
	}
	if err := r.ordered(stage, a, done); err != nil {
		return false, err
	}
	length := 1
	if a.Do == Backward && r.s.family.split {
		length = 2
	}
	r.passes[stage] = append(r.passes[stage], pass{a, r.clock[stage], length})
	r.clock[stage] += length
	return true, nil
}

// ordered checks that a pass comes after what it needs, done there. Those that make
// gradients of inputs come in the order of micro-batches, and so do those that make gradients of weights.
func (r *run) ordered(stage int, a Action, done func(Kind) bool) error {
	if lo, hi := r.s.Micros(a.Chunk); a.Micro < lo || a.Micro >= hi {
		return fmt.Errorf("%v, which goes another way", a)
	}
	recv := a.Do - 1
	if a.Do == BackwardInput {
		recv = RecvBackward
	}
	if _, _, needs := r.s.Peer(stage, Action{recv, a.Micro, a.Chunk}); needs && a.Do != BackwardWeight && !done(recv) {
		return fmt.Errorf("%v comes before %v", a, recv)
	}
	ok := true
	switch a.Do {
	case Backward:
		ok = done(Forward) && r.follows(stage, a, BackwardInput) && r.follows(stage, a, BackwardWeight)
	case BackwardInput:
		ok = done(Forward) && r.follows(stage, a, a.Do)
	case BackwardWeight:
		ok = done(BackwardInput) && r.follows(stage, a, a.Do)
	}
	if !ok {
		return fmt.Errorf("%v comes too early", a)
	}
	return nil
}

// follows reports whether the pass of half, BackwardInput or BackwardWeight, of the micro-batch before a's has
// been done, alone or with the other half, or a's is the first.
func (r *run) follows(stage int, a Action, half Kind) bool {
	lo, _ := r.s.Micros(a.Chunk)
	return a.Micro == lo || r.did(stage, Action{Backward, a.Micro - 1, a.Chunk}) || r.did(stage, Action{half, a.Micro - 1, a.Chunk})
}

// send puts the message of a on its route.
func (r *run) send(stage int, a Action) {
	to, chunk, _ := r.s.Peer(stage, a)
	key := route{stage, to, chunk, a.Do == SendBackward}
	r.mail[key] = append(r.mail[key], parcel{a.Micro, r.clock[stage]})
}

// receive takes the message for a, and reports false if it is not there.
func (r *run) receive(stage int, a Action) (bool, error) {
	from, _, ok := r.s.Peer(stage, a)
	if !ok {
		return false, fmt.Errorf("%v has nobody to receive from", a)
	}
	key := route{from, stage, a.Chunk, a.Do == RecvBackward}
	if len(r.mail[key]) == 0 {
		return false, nil
	}
	p := r.mail[key][0]
	if p.micro != a.Micro {
		return false, fmt.Errorf("%v gets micro-batch %d from stage %d", a, p.micro, from)
	}
	r.mail[key] = r.mail[key][1:]
	r.clock[stage] = max(r.clock[stage], p.at)
	return true, nil
}

// complete checks that all is done and received.
func (r *run) complete() error {
	for stage, next := range r.next {
		if next < len(r.s.Actions[stage]) {
			return fmt.Errorf("stage %d waits for ever in %v", stage, r.s.Actions[stage][next])
		}
	}
	for stage := range r.s.Stages { // by stage, so that the fault told is always the same
		for key, list := range r.mail {
			if key.from == stage && len(list) > 0 {
				return fmt.Errorf("stage %d sends micro-batch %d, which stage %d does not receive", stage, list[0].micro, key.to)
			}
		}
	}
	for stage := range r.s.Stages {
		if err := r.allPasses(stage); err != nil {
			return fmt.Errorf("stage %d %w", stage, err)
		}
	}
	return nil
}

// allPasses checks that a stage has done every pass. It has done none twice.
func (r *run) allPasses(stage int) error {
	want := 0
	for chunk := range r.s.Chunks {
		lo, hi := r.s.Micros(chunk)
		for micro := lo; micro < hi; micro++ {
			seen := func(k Kind) bool { return r.did(stage, Action{k, micro, chunk}) }
			kinds := []Kind{Forward, Backward}
			if seen(BackwardInput) {
				kinds = []Kind{Forward, BackwardInput, BackwardWeight}
			}
			for _, k := range kinds {
				if !seen(k) {
					return fmt.Errorf("never does %v", Action{k, micro, chunk})
				}
			}
			want += len(kinds)
		}
	}
	if got := len(r.passes[stage]); got != want {
		return fmt.Errorf("does %d passes, want %d", got, want)
	}
	return nil
}

// idle returns for how long a stage waits between its first pass and the end of its last, on the
// stage where that is longest.
func (r *run) idle() int {
	most := 0
	for _, passes := range r.passes {
		last := passes[len(passes)-1]
		busy := 0
		for _, p := range passes {
			busy += p.length
		}
		most = max(most, last.start+last.length-passes[0].start-busy)
	}
	return most
}
