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
)

var kindNames = [...]string{"recv_forward", "forward", "send_forward", "recv_backward", "backward", "send_backward"}

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
}

// orders gives each schedule its order of computations on a stage, without
// the exchanges between.
var orders = map[string]func(s *Schedule, stage int) []Action{
	"gpipe":       gpipe,
	"1f1b":        oneForwardOneBackward,
	"interleaved": interleaved,
}

// Names returns the names of the schedules.
func Names() []string { return []string{"gpipe", "1f1b", "interleaved"} }

// New returns the schedule called name. It panics unless there is one of that
// name, stages, micro and chunks are positive, and chunks is 1 and micro
// arbitrary or, for "interleaved", micro a multiple of stages.
func New(name string, stages, micro, chunks int) *Schedule {
	order := orders[name]
	s := &Schedule{Name: name, Stages: stages, Micro: micro, Chunks: chunks}
	if order == nil || stages < 1 || micro < 1 || chunks < 1 || name != "interleaved" && chunks > 1 || name == "interleaved" && micro%stages != 0 {
		panic("pipeline: no schedule " + s.Title())
	}
	for stage := range stages {
		s.Actions = append(s.Actions, s.exchanges(stage, order(s, stage)))
	}
	return s
}

// Filling returns how many micro-batches hold as much at a time as those of s do on every
// stage, and come and go as they do, with so many more beyond them: all of s if it has no
// more. Of an interleaved schedule these are whole laps.
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

// Title names the schedule and its sizes.
func (s *Schedule) Title() string {
	title := fmt.Sprintf("%s: stages %d, micro-batches %d", s.Name, s.Stages, s.Micro)
	if s.Chunks > 1 {
		title += fmt.Sprintf(", chunks %d", s.Chunks)
	}
	return title
}

// Bubble returns the part of the time in which a stage idles, if a backward
// pass takes a fixed multiple of a forward pass and messages take no time:
// (S-1)/(vM+S-1).
//
// Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
// Clusters Using Megatron-LM", SC 2021, section 2.2, as a part of the whole
// time.
func (s *Schedule) Bubble() float64 {
	idle := s.Stages - 1
	return float64(idle) / float64(s.Chunks*s.Micro+idle)
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
		recv, send := RecvForward, SendForward
		if a.Do == Backward {
			recv, send = RecvBackward, SendBackward
		}
		for _, do := range []Kind{recv, a.Do, send} {
			b := Action{do, a.Micro, a.Chunk}
			if _, _, ok := s.Peer(stage, b); ok || do == a.Do {
				actions = append(actions, b)
			}
		}
	}
	return actions
}

// Position returns the place of a stage's chunk in the model, from 0.
func (s *Schedule) Position(stage, chunk int) int { return chunk*s.Stages + stage }

// Peer returns the stage and its chunk at the other end of the exchange a of
// stage; not ok if the model ends there, or a is no exchange.
func (s *Schedule) Peer(stage int, a Action) (peer, chunk int, ok bool) {
	at := s.Position(stage, a.Chunk)
	switch a.Do {
	case RecvForward, SendBackward:
		at--
	case SendForward, RecvBackward:
		at++
	default:
		return 0, 0, false
	}
	if at < 0 || at >= s.Stages*s.Chunks {
		return 0, 0, false
	}
	return at % s.Stages, at / s.Stages, true
}

// InFlight returns the most micro-batches, counted once for each chunk, whose
// forward pass a stage has done and whose backward pass it has not.
func (s *Schedule) InFlight(stage int) int {
	most, now := 0, 0
	for _, a := range s.Actions[stage] {
		switch a.Do {
		case Forward:
			now++
		case Backward:
			now--
		}
		most = max(most, now)
	}
	return most
}
