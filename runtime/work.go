package runtime

import (
	"tpsh/comm"
	"tpsh/runtime/tensor"
)

// A Work is a result of a collective under way that the program goes on
// beside.
type Work struct {
	*issued
	i int // which result it is
}

// An issued is a collective under way.
type issued struct {
	r      *Rank
	inner  comm.Work
	finish func(res comm.Result, err error) ([]*tensor.Tensor, error)
	noted  noted
	out    []*tensor.Tensor
	ended  bool
	err    error
	told   bool // err has been returned
}

// Issue starts the collective c on x and returns at once. The result is to be
// had from the Work. Until it is done, an in-place change of x waits for it.
func (r *Rank) Issue(g *comm.Group, c Collective, x *tensor.Tensor) (*Work, error) {
	k, err := r.newTensorCall(g, c, x, true)
	if err != nil {
		return nil, err
	}
	w := k.issue(func() ([]*tensor.Tensor, error) { return []*tensor.Tensor{k.finish()}, nil })
	w.hold(x, k.x)
	return &Work{w, 0}, nil
}

// IssueExchange is Exchange as Issue has it. It returns one Work for each
// result; they all end together, and an error is returned by one of them.
func (r *Rank) IssueExchange(g *comm.Group, xs []*tensor.Tensor) ([]*Work, error) {
	k, err := r.newExchange(g, xs, true)
	if err != nil {
		return nil, err
	}
	w := k.issue(func() ([]*tensor.Tensor, error) { return k.finish(), nil })
	works := make([]*Work, len(xs))
	for i, x := range xs {
		w.hold(x, k.in[i])
		works[i] = &Work{w, i}
	}
	return works, nil
}

// hold makes in-place changes of x wait for the call, if that reads the
// storage of x and not that of a copy.
func (w *issued) hold(x, read *tensor.Tensor) {
	if read.Buffer() == x.Buffer() {
		x.Buffer().Hold(w.settle)
	}
}

// Wait returns the result when the call has ended, or its error. An error is
// returned once: after that Wait returns a nil result.
func (w *Work) Wait() (*tensor.Tensor, error) {
	if err := w.wait(); err != nil || w.err != nil {
		return nil, err
	}
	return w.out[w.i], nil
}

// wait waits until the call has ended, and returns its error once.
func (w *issued) wait() error {
	if err := w.settle(); err != nil {
		return err
	}
	if w.err != nil && !w.told {
		w.told = true
		return w.err
	}
	return nil
}

// Failed returns the error that Wait has already returned, or nil.
func (w *issued) Failed() error {
	if w.told {
		return w.err
	}
	return nil
}

// Done reports whether the call has ended.
func (w *issued) Done() bool { return w.ended || w.inner.Done() }

// settle waits until the call has ended. It fails only if the program is
// stopped; how the call ended is for Wait to tell.
func (w *issued) settle() error {
	if w.ended {
		return nil
	}
	r := w.r
	if w.noted.to != nil {
		w.noted.to.Wait(w.noted.issue, r.phaseOf(), r.Line())
	}
	over := r.waiting(text("wait()"), false)
	res, err := w.inner.Wait(r.ctx)
	over()
	if err != nil && r.ctx.Err() != nil && !w.inner.Done() {
		return err
	}
	w.ended = true
	w.out, w.err = w.finish(res, err)
	for i, other := range r.works {
		if other == w {
			r.works = append(r.works[:i], r.works[i+1:]...)
			break
		}
	}
	return nil
}

// waitAll waits for the works that nobody waited for, in the order they were
// issued, and returns the first error.
func (r *Rank) waitAll() error {
	var first error
	for len(r.works) > 0 {
		if err := r.works[0].wait(); err != nil {
			if first == nil {
				first = err
			}
			if r.ctx.Err() != nil {
				return first
			}
		}
	}
	return first
}

// Completed returns the Work of a call that has ended with the result y.
func (r *Rank) Completed(y *tensor.Tensor) *Work {
	return &Work{&issued{r: r, out: []*tensor.Tensor{y}, ended: true}, 0}
}
