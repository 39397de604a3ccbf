package runtime

import (
	"encoding/binary"
	"fmt"

	"tpsh/comm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/pipeline"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A Pipeline is one batch on its way through the stages of a model, as one of
// them computes it.
type Pipeline struct {
	Schedule *pipeline.Schedule
	// Stage is that of the rank.
	Stage Stage
	// Forget says that the outputs of the last stage are not wanted.
	Forget bool
	// Chunks compute the outputs of this stage's chunks.
	Chunks []func(x *tensor.Tensor) (*tensor.Tensor, error)
	// Inputs are the micro-batches, on the first stage.
	Inputs []*tensor.Tensor
	// Loss returns the loss of micro-batch m, of one element, whose output is
	// y. The last stage calls it.
	Loss func(y *tensor.Tensor, m int) (*tensor.Tensor, error)
}

// pipelineFunc is the function by which scripts call a Pipeline, for errors.
const pipelineFunc = "pipeline_schedule"

// A flight is a micro-batch in a chunk.
type flight struct {
	x, y *tensor.Tensor // input and output; the loss, in place of the last output
	dy   *tensor.Tensor // the gradient of y; nil if there is none
	half *grad.Split    // a backward pass whose weights' half is to be done; nil if there is none
}

// A pipelineRun is a Pipeline under way on its stage.
type pipelineRun struct {
	*Pipeline
	r       *Rank
	g       *comm.Group // the schedule's own
	stage   int
	call    uint64 // its number on this rank
	flights [][]flight
	losses  []*tensor.Tensor
	outputs []*tensor.Tensor
}

// Schedule is pipeline.New, of a schedule that all ranks of the job share, to be read
// only.
func (r *Rank) Schedule(name string, stages, micro, chunks int) *pipeline.Schedule {
	return r.job.schedules.Schedule(name, stages, micro, chunks)
}

// RunPipeline carries out p on every stage of the rank's pipeline. Gradients
// of the mean of the losses are added to those of the leaves that the chunks
// use, in the order of the micro-batches. On the schedule's home, the stage that ends the
// model, it returns that mean and the outputs, cut off from the record; elsewhere nil.
func (r *Rank) RunPipeline(p *Pipeline) (loss *tensor.Tensor, outputs []*tensor.Tensor, err error) {
	if err := r.enter(pipelineFunc); err != nil {
		return nil, nil, err
	}
	p = r.shortened(p)
	if err := r.job.schedules.Check(p.Schedule); err != nil {
		return nil, nil, err
	}
	g, err := r.groupLike(p.Stage.Ranks, scheduleRoute, p.Stage.lines)
	if err != nil {
		return nil, nil, err
	}
	r.pipelines++
	run := &pipelineRun{Pipeline: p, r: r, g: g, stage: p.Stage.Index, call: r.pipelines}
	for range p.Chunks {
		run.flights = append(run.flights, make([]flight, p.Schedule.Micro))
	}
	defer func() { r.inPass = "" }()
	for _, a := range p.Schedule.Actions[run.stage] {
		if r.timed != nil {
			r.inPass = p.Schedule.Cell(a)
		}
		if err := run.act(a); err != nil {
			return nil, nil, blame(pipelineFunc, err)
		}
	}
	if err := run.bringHome(); err != nil {
		return nil, nil, blame(pipelineFunc, err)
	}
	loss, err = run.meanLoss()
	return loss, run.outputs, err
}

// shortened returns p with no more micro-batches than fill the pipeline and a plan asks
// for, where nothing is kept of those that are done.
func (r *Rank) shortened(p *Pipeline) *Pipeline {
	if r.recorder == nil || r.job.cfg.Plan.Laps == 0 || !p.Forget {
		return p
	}
	short, s := *p, p.Schedule
	if r.pipelines == 0 && r.recorder.Brief() {
		short.Schedule = r.Schedule(s.Name, s.Stages, s.Least(), s.Chunks)
		return &short
	}
	micro := s.Filling(r.job.cfg.Plan.Laps - 1)
	short.Schedule = r.Schedule(s.Name, s.Stages, micro, s.Chunks)
	r.recorder.Shortened(micro, s.Micro, s.Lap())
	return &short
}

// act does a.
func (p *pipelineRun) act(a pipeline.Action) (err error) {
	f := &p.flights[a.Chunk][a.Micro]
	switch a.Do {
	case pipeline.RecvForward:
		if p.own(a) {
			return nil // the chunk before has left it
		}
		x, err := p.recv(a)
		if err == nil {
			f.take(x)
		}
		return err
	case pipeline.Forward:
		return p.forward(a, f)
	case pipeline.SendForward:
		if to := p.neighbour(a); to != nil {
			to.take(f.y.Detach())
			return nil
		}
		return p.send(a, f.y)
	case pipeline.RecvBackward:
		if !p.own(a) {
			f.dy, err = p.recv(a)
		}
		return err
	case pipeline.Backward, pipeline.BackwardInput:
		return p.backward(a, f)
	case pipeline.BackwardWeight:
		half := f.half
		*f = flight{}
		if half == nil {
			return nil
		}
		return half.Weights()
	default: // SendBackward
		x := f.x
		*f = flight{half: f.half}
		var dx *tensor.Tensor
		if x.Auto != nil {
			dx = x.Auto.Grad
		}
		if to := p.neighbour(a); to != nil {
			to.dy = dx
			return nil
		}
		return p.send(a, dx)
	}
}

// take has x be the input, of which a gradient is wanted.
func (f *flight) take(x *tensor.Tensor) {
	if f.x = x; x != nil && x.DType().IsFloat() {
		x.Auto = &tensor.Auto{Requires: true, Passing: true}
	}
}

// own reports whether the exchange a is with a chunk of this stage.
func (p *pipelineRun) own(a pipeline.Action) bool {
	peer, _, _ := p.Schedule.Peer(p.stage, a)
	return peer == p.stage
}

// neighbour returns the micro-batch of a where it goes to, if that is a chunk of this stage, else nil.
func (p *pipelineRun) neighbour(a pipeline.Action) *flight {
	peer, chunk, _ := p.Schedule.Peer(p.stage, a)
	if peer != p.stage {
		return nil
	}
	return &p.flights[chunk][a.Micro]
}

// last reports whether a is in the last position of the model.
func (p *pipelineRun) last(a pipeline.Action) bool {
	return p.Schedule.Position(p.stage, a.Chunk) == p.Schedule.Positions()-1
}

// forward computes an output, and in the last position the loss.
func (p *pipelineRun) forward(a pipeline.Action, f *flight) (err error) {
	if p.Schedule.Position(p.stage, a.Chunk) == 0 {
		f.x = p.Inputs[a.Micro]
	}
	if f.y, err = p.Chunks[a.Chunk](f.x); err != nil || !p.last(a) {
		return err
	}
	if !p.Forget {
		p.outputs = append(p.outputs, f.y.Detach())
	}
	loss, err := p.Loss(f.y, a.Micro)
	if err != nil {
		return err
	}
	p.losses = append(p.losses, loss.Detach())
	f.y, err = p.r.Do("div", []*tensor.Tensor{loss, tensor.Number(float64(p.Schedule.Micro))})
	return err
}

// backward computes the gradients of a micro-batch, if it has any: for BackwardInput that of the input, and what
// is left to BackwardWeight.
func (p *pipelineRun) backward(a pipeline.Action, f *flight) error {
	y, dy := f.y, f.dy
	f.y, f.dy = nil, nil
	p.r.Tape.Refresh(y)
	if !y.RequiresGrad() || dy == nil && !p.last(a) {
		return nil
	}
	if dy != nil && (dy.DType() != y.DType() || !dy.Shape().Equal(y.Shape())) {
		from, _, _ := p.Schedule.Peer(p.stage, pipeline.Action{Do: pipeline.RecvBackward, Micro: a.Micro, Chunk: a.Chunk})
		return &op.ArgError{Func: pipelineFunc, Got: fmt.Sprintf("a gradient %s from rank %d", op.Describe(dy), p.g.Ranks()[from]),
			Want: op.Describe(y), Rule: fmt.Sprintf("the output of micro-batch %d", a.Micro)}
	}
	var err error
	if a.Do == pipeline.BackwardInput {
		if f.half, err = p.r.Tape.BackwardInput(y, dy, f.x); err == nil && p.r.recorder != nil {
			p.r.recorder.Joint(f.half.Whole())
		}
	} else {
		err = p.r.Tape.Backward(y, dy, false)
	}
	if err != nil {
		return err
	}
	if p.last(a) && p.r.recorder != nil {
		p.r.recorder.Lap()
	}
	return nil
}

// bringHome sends the losses and outputs of micro-batches that end elsewhere to the schedule's home, behind its own.
func (p *pipelineRun) bringHome() error {
	home, far := p.Schedule.Home(), 0
	if _, two := p.Schedule.Last(far); !two || far == home {
		return nil
	}
	tag := 2 * p.Schedule.Stages * p.Schedule.Chunks
	lo, hi := p.Schedule.Micros(1)
	switch p.stage {
	case far:
		for _, x := range append(p.losses, p.outputs...) {
			if err := p.sendTo(home, tag, x); err != nil {
				return err
			}
		}
		p.losses, p.outputs = nil, nil
	case home:
		lists := []*[]*tensor.Tensor{&p.losses, &p.outputs}
		if p.Forget {
			lists = lists[:1]
		}
		for _, list := range lists {
			for range hi - lo {
				x, err := p.recvFrom(far, tag)
				if err != nil {
					return err
				}
				*list = append(*list, x)
			}
		}
	}
	return nil
}

// meanLoss returns the mean of the losses, or nil if there are none.
func (p *pipelineRun) meanLoss() (*tensor.Tensor, error) {
	if len(p.losses) == 0 {
		return nil, nil
	}
	defer p.r.Tape.SetEnabled(false)()
	sum := p.losses[0]
	for _, l := range p.losses[1:] {
		var err error
		if sum, err = p.r.Do("add", []*tensor.Tensor{sum, l}); err != nil {
			return nil, err
		}
	}
	return p.r.Do("div", []*tensor.Tensor{sum, tensor.Number(float64(len(p.losses)))})
}

// A message of a schedule says beside its tensor which call on the sender it
// belongs to, whether it holds no gradient, and which schedule runs there.

// tag tells the messages into one chunk from those into others, and
// activations from gradients.
func (p *pipelineRun) tag(stage int, a pipeline.Action) int {
	if a.Do == pipeline.SendForward || a.Do == pipeline.SendBackward {
		to, chunk, _ := p.Schedule.Peer(stage, a)
		stage, a.Chunk = to, chunk
	}
	tag := 2 * (a.Chunk*p.Schedule.Stages + stage)
	if a.Do >= pipeline.RecvBackward {
		tag++
	}
	return tag
}

// send sends x to where a says; nil says that there is no gradient.
func (p *pipelineRun) send(a pipeline.Action, x *tensor.Tensor) error {
	to, _, _ := p.Schedule.Peer(p.stage, a)
	return p.sendTo(to, p.tag(p.stage, a), x)
}

func (p *pipelineRun) sendTo(to, tag int, x *tensor.Tensor) error {
	note := binary.AppendUvarint(nil, p.call)
	if x != nil {
		note = append(note, 1)
	} else {
		note = append(note, 0)
		var err error
		if x, err = op.FromInts(&p.r.ops, dtype.Uint8, shape.Shape{0}, nil); err != nil {
			return err
		}
	}
	return p.r.post(p.g, x, to, tag, append(note, p.Schedule.Title()...))
}

// recv returns the tensor that was sent for a, or nil if there is no gradient. It passes
// over messages of earlier calls, which have failed here.
func (p *pipelineRun) recv(a pipeline.Action) (*tensor.Tensor, error) {
	from, _, _ := p.Schedule.Peer(p.stage, a)
	return p.recvFrom(from, p.tag(p.stage, a))
}

func (p *pipelineRun) recvFrom(from, tag int) (*tensor.Tensor, error) {
	for {
		x, note, err := p.r.fetch(p.g, from, tag)
		if err != nil {
			return nil, err
		}
		call, k := binary.Uvarint(note)
		if k <= 0 || k == len(note) {
			return nil, errMeta
		}
		if call < p.call {
			continue
		}
		if title := string(note[k+1:]); call > p.call || title != p.Schedule.Title() {
			return nil, &op.ArgError{Func: pipelineFunc, Got: fmt.Sprintf("%q in call %d on rank %d", title, call, p.g.Ranks()[from]),
				Want: fmt.Sprintf("%q in call %d", p.Schedule.Title(), p.call), Rule: "the stages of a pipeline run one schedule"}
		}
		if note[k] == 0 {
			return nil, nil
		}
		return x, nil
	}
}
