package shard

import (
	"tpsh/comm"
	"tpsh/mesh"
	"tpsh/runtime/tensor"
)

// A Pending is the last call of a move, not made yet: for an asynchronous one.
type Pending struct {
	Group *comm.Group
	Op    *comm.Op
	Block *tensor.Tensor // the block that the rank puts in
	Bytes int            // how much of it counts, for traces

	// Finish returns the tensor moved, when the call has ended.
	Finish func() (*tensor.Tensor, error)
}

// Begin carries out Redistribute but for the last call, which it returns. If
// nothing is left to call it returns the result.
func (e *Engine) Begin(fn string, x *tensor.Tensor, l *mesh.Placed) (*Pending, *tensor.Tensor, error) {
	if err := e.checkMove(fn, x, l); err != nil {
		return nil, nil, err
	}
	steps, last := e.lastCall(x, l)
	if last < 0 {
		y, err := e.Redistribute(fn, x, l)
		return nil, y, err
	}
	block := x.Local()
	for i := range last {
		var err error
		if block, err = e.step(&steps[i], block); err != nil {
			return nil, nil, err
		}
	}
	p, err := e.stepPlan(&steps[last])
	if err != nil {
		return nil, nil, err
	}
	r, err := e.newStepRun(p, block)
	if err != nil {
		return nil, nil, err
	}
	seq, record := e.tape.Reserve(), e.tape.Enabled() && x.RequiresGrad()
	finish := func() (*tensor.Tensor, error) {
		block, err := r.finish()
		for i := last + 1; err == nil && i < len(steps); i++ {
			block, err = e.step(&steps[i], block)
		}
		if err != nil {
			return nil, err
		}
		y := tensor.NewPlaced(l, block)
		if record {
			e.tape.ConductAt(seq, "redistribute", []*tensor.Tensor{x}, []*tensor.Tensor{y}, e.movedBack(x.Layout()))
		}
		return y, nil
	}
	return &Pending{Group: p.group, Op: &r.op, Block: r.block, Bytes: r.payload(), Finish: finish}, nil, nil
}

// lastCall returns the steps from x to l, and which of them is the last that
// communicates; -1 if none is, or if the way is not one of steps.
func (e *Engine) lastCall(x *tensor.Tensor, l *mesh.Placed) (steps []mesh.Step, last int) {
	last = -1
	if x.Layout().Mesh() != l.Mesh() || !e.member(l.Mesh()) || x.Local().Buffer() == nil {
		return nil, last
	}
	plan, err := e.host.Layouts().Plan(x.Layout(), l, x.DType().Size())
	if err != nil {
		return nil, last
	}
	for i := range plan.Steps {
		if s := &plan.Steps[i]; s.Communicates() && len(s.Group(e.host.Self())) > 1 {
			last = i
		}
	}
	return plan.Steps, last
}
