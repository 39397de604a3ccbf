package pipeline

import "fmt"

// A Kind is what an Action does.
type Kind uint8

const (
	// RecvForward waits for the output of the position before.
	RecvForward Kind = iota
	// Forward computes the output of a micro-batch.
	Forward
	// SendForward sends it to the position after.
	SendForward
	// RecvBackward waits for the gradient of that output.
	RecvBackward
	// Backward computes the gradients of a micro-batch.
	Backward
	// SendBackward sends that of the input to the position before.
	SendBackward
	// BackwardInput computes the gradient of the input alone, and leaves those of the
	// weights to a BackwardWeight.
	BackwardInput
	// BackwardWeight computes the gradients of the weights that BackwardInput has left.
	BackwardWeight
)

var kindNames = [...]string{"recv_forward", "forward", "send_forward", "recv_backward", "backward", "send_backward", "backward_input", "backward_weight"}

func (k Kind) String() string { return kindNames[k] }

// An Action is one thing that a stage does with micro-batch Micro in chunk
// Chunk of its own.
type Action struct {
	Do           Kind
	Micro, Chunk int
}

func (a Action) String() string {
	return fmt.Sprintf("%v of micro-batch %d in chunk %d", a.Do, a.Micro, a.Chunk)
}

// A Schedule says what every stage does, in order. Sends never wait.
type Schedule struct {
	Name                  string
	Stages, Micro, Chunks int
	Actions               [][]Action // by stage

	family *family
	idle   int // units of time in which the busiest stage idles: see Bubble
}

// New returns the schedule called name, one of Names or another name of it. It panics
// unless Misfits has nothing to say.
func New(name string, stages, micro, chunks int) *Schedule {
	f := familyOf(name)
	if f == nil || Misfits(name, stages, micro, chunks) != nil {
		panic(fmt.Sprintf("pipeline: no schedule %s of stages %d, micro-batches %d, chunks %d", name, stages, micro, chunks))
	}
	s := &Schedule{Name: f.name, Stages: stages, Micro: micro, Chunks: chunks, family: f}
	for stage, order := range f.orders(s) {
		s.Actions = append(s.Actions, s.exchanges(stage, order))
	}
	s.idle = stages - 1 // of gpipe, 1f1b and interleaved, in forward and backward passes of a chunk
	if f.split {
		r, err := s.run()
		if err != nil {
			panic(err) // the tests make every schedule
		}
		s.idle = r.idle()
	}
	return s
}

// Filling returns how many micro-batches are enough to see what s does: with so many, every
// stage holds as much at a time as it ever does in s, and more further ones come and go as they
// do in the middle of s. It is no more than s has, and whole laps of an interleaved schedule.
func (s *Schedule) Filling(more int) (micro int) {
	micro = s.Micro
	switch s.Name {
	case "1f1b":
		micro = s.Stages + 1 + more // a stage holds s.Stages at most, and then takes turns
	case "interleaved":
		micro = (3 + (more+s.Stages-1)/s.Stages) * s.Stages // two groups are under way at most, and one follows
	}
	return min(micro, s.Micro)
}

// Lap returns how many micro-batches a lap has: one, or one for each stage of an
// interleaved schedule, whose stages take turns by groups of as many.
func (s *Schedule) Lap() (micro int) {
	if s.Name == "interleaved" {
		return s.Stages
	}
	return 1
}

// Least returns how few micro-batches a schedule with the name, stages and chunks of s can have.
func (s *Schedule) Least() (micro int) {
	for micro = s.Lap(); Misfits(s.Name, s.Stages, micro, s.Chunks) != nil; micro++ {
	}
	return micro
}

// Title names the schedule and its sizes.
func (s *Schedule) Title() string {
	title := fmt.Sprintf("%s: stages %d, micro-batches %d", s.Name, s.Stages, s.Micro)
	if s.Chunks > 1 {
		title += fmt.Sprintf(", chunks %d", s.Chunks)
	}
	return title
}

// Bubble returns the part of the time in which a stage idles between its first pass and
// its last, on the stage where that is most. Messages take no time. For gpipe, 1f1b and
// interleaved it is (S-1)/(vM+S-1), if a backward pass takes a fixed multiple of a forward
// pass. In the schedules that split backward passes, a forward pass takes as long as each
// half of a backward pass.
//
// Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
// Clusters Using Megatron-LM", SC 2021, section 2.2, as a part of the whole
// time. Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 2.3: a stage
// that has ended its part goes on with the next batch.
func (s *Schedule) Bubble() float64 {
	return float64(s.idle) / float64(s.work()+s.idle)
}

// work returns the units of time that a stage computes.
func (s *Schedule) work() int {
	passes := s.Chunks * s.Micro / s.family.streams()
	if s.family.split {
		return 3 * passes
	}
	return passes
}

// gpipe does all forward passes and then all backward passes. The latter come
// in the order of the former, so that gradients add up in the order of the
// micro-batches, as they do in the other schedules.
//
// Huang et al., "GPipe: Efficient Training of Giant Neural Networks using
// Pipeline Parallelism", NeurIPS 2019.
func gpipe(s *Schedule, _ int) []Action {
	return alternate(s, s.Micro)
}

// oneForwardOneBackward does as many forward passes as it takes until the
// first gradient comes back, and from then on one backward pass for each
// forward pass: stage s never holds more than S-s micro-batches.
//
// Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN
// Training", SOSP 2019; in this form, with a flush, SC 2021 (see Bubble).
func oneForwardOneBackward(s *Schedule, stage int) []Action {
	return alternate(s, min(s.Stages-1-stage, s.Micro))
}

// interleaved is oneForwardOneBackward of stages that hold several chunks. The
// micro-batches go by groups of S: the group through one chunk, and then
// through the next. A stage begins with the passes of S micro-batches through
// all chunks but the last and, since the pass that a stage waits for lies S
// passes back, two more for each stage after it.
//
// Narayanan et al., SC 2021, section 2.2.2; the order is that of Megatron-LM's
// forward_backward_pipelining_with_interleaving.
func interleaved(s *Schedule, stage int) []Action {
	if s.Chunks == 1 {
		return oneForwardOneBackward(s, stage)
	}
	first := 2*(s.Stages-1-stage) + (s.Chunks-1)*s.Stages
	return alternate(s, min(first, s.Micro*s.Chunks))
}

// alternate does first forward passes, then by turns a forward and a backward
// pass, and then the backward passes that are left.
func alternate(s *Schedule, first int) []Action {
	total := s.Micro * s.Chunks
	var order []Action
	for i := range total + first {
		if i < total {
			micro, chunk := s.pass(i)
			order = append(order, Action{Forward, micro, chunk})
		}
		if i >= first {
			micro, chunk := s.pass(i - first)
			order = append(order, Action{Backward, micro, s.Chunks - 1 - chunk})
		}
	}
	return order
}

// pass returns the micro-batch and the chunk of a stage's i-th forward pass.
// Backward passes take the chunks from the last one.
func (s *Schedule) pass(i int) (micro, chunk int) {
	if s.Chunks == 1 {
		return i, 0
	}
	group := s.Stages * s.Chunks // passes of S micro-batches
	return i/group*s.Stages + i%s.Stages, i % group / s.Stages
}

// exchanges returns order with each computation between the receive and the
// send that it needs.
func (s *Schedule) exchanges(stage int, order []Action) []Action {
	var actions []Action
	for _, a := range order {
		list := []Kind{RecvForward, Forward, SendForward}
		switch a.Do {
		case Backward, BackwardInput:
			list = []Kind{RecvBackward, a.Do, SendBackward}
		case BackwardWeight:
			list = []Kind{a.Do}
		}
		for _, do := range list {
			b := Action{do, a.Micro, a.Chunk}
			if _, _, ok := s.Peer(stage, b); ok || do == a.Do {
				actions = append(actions, b)
			}
		}
	}
	return actions
}

// InFlight returns the most micro-batches, counted once for each chunk, whose
// forward pass a stage has done and whose backward pass, that of the weights too, it has not.
func (s *Schedule) InFlight(stage int) int {
	most, now := 0, 0
	for _, a := range s.Actions[stage] {
		switch a.Do {
		case Forward:
			now++
		case Backward, BackwardWeight:
			now--
		}
		most = max(most, now)
	}
	return most
}
