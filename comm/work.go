package comm

import "context"

// CallWork is a Work whose call goes on in a goroutine of its own.
type CallWork struct {
	endpoint *Endpoint
	block    func(ctx context.Context, done <-chan struct{}) error
	done     chan struct{}
	result   Result // set before done is closed, as is err
	err      error
}

// NewWork returns the work of a call of e. block waits, as the rank itself,
// until done is closed, which is nil, or ctx ends.
func NewWork(e *Endpoint, block func(ctx context.Context, done <-chan struct{}) error) *CallWork {
	return &CallWork{endpoint: e, block: block, done: make(chan struct{})}
}

// End says how the call has ended.
func (w *CallWork) End(result Result, err error) {
	w.result, w.err = result, err
	close(w.done)
}

// Done implements Work.
func (w *CallWork) Done() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// Wait implements Work.
func (w *CallWork) Wait(ctx context.Context) (Result, error) {
	if !w.Done() {
		if err := w.block(ctx, w.done); err != nil {
			return Result{}, err
		}
	}
	if w.err != nil {
		w.endpoint.observe(w.err, nil)
	}
	return w.result, w.err
}
