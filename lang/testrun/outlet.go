package testrun

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
)

// An outlet passes on the news of tests, up to the first error. at is the test that
// it is told of.
type outlet struct {
	w  io.Writer
	at string

	mu  sync.Mutex
	err error
}

func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	if err != nil {
		o.err = err
	}
	return n, err
}

// lost reports whether something could not be told, and returns the error to
// tell of it: nil if nobody reads any more.
func (o *outlet) lost() (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err == nil:
		return false, nil
	case errors.Is(o.err, syscall.EPIPE):
		return true, nil
	case o.at == "":
		return true, o.err
	}
	return true, fmt.Errorf("%w; it was about %s", o.err, o.at)
}

// explain replaces the error by err, which says more of it.
func (o *outlet) explain(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil && errors.Is(err, o.err) {
		o.err = err
	}
}

// An outlet is a teller, before all others, that notes the test that they tell of.
func (o *outlet) begin(c *testCase)    { o.tell(c.label() + " of " + c.path) }
func (o *outlet) test(c *testCase)     { o.begin(c) }
func (o *outlet) file(res *fileResult) { o.tell(res.path) }
func (o *outlet) end(totals) error     { return nil }

// tell notes the test that is told of, unless nothing more will be.
func (o *outlet) tell(at string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.at = at
	}
}
