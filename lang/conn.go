package lang

import (
	"context"
	"io"
	"sync"
)

// Conn is one end of a control connection to a rank. It carries whole
// messages in order. One goroutine may receive while others send.
type Conn interface {
	// Send never blocks. It does not keep msg.
	Send(msg []byte) error
	// Recv returns the next message; io.EOF when the other end has closed and
	// all its messages have been received.
	Recv(ctx context.Context) ([]byte, error)
}

// A PipeConn is one end of a Pipe.
type PipeConn struct {
	in, out *queue
}

// Pipe returns the two ends of a connection in memory. Messages are copied:
// the ends share nothing.
func Pipe() (front, rank *PipeConn) {
	a, b := newQueue(), newQueue()
	return &PipeConn{a, b}, &PipeConn{b, a}
}

// Send queues a copy of msg for the other end. It returns io.ErrClosedPipe if
// either end has closed.
func (c *PipeConn) Send(msg []byte) error { return c.out.put(append([]byte{}, msg...)) }

// Recv waits for a message, for the other end to close, or for ctx.
func (c *PipeConn) Recv(ctx context.Context) ([]byte, error) { return c.in.take(ctx) }

// Close closes both directions. Messages that have been sent can still be received.
func (c *PipeConn) Close() error {
	c.out.end(nil)
	c.in.end(nil)
	return nil
}

// A queue is an unbounded sequence of messages from one side to the other.
type queue struct {
	wake chan struct{} // holds a token when there may be something to take

	mu     sync.Mutex
	msgs   [][]byte
	closed bool
	why    error // the error at the end; nil for io.EOF
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

func (q *queue) put(msg []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return io.ErrClosedPipe
	}
	q.msgs = append(q.msgs, msg)
	q.signal()
	return nil
}

// end lets no more messages in. why is the error of take behind the last; only
// the first counts.
func (q *queue) end(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed, q.why = true, why
	}
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) take(ctx context.Context) ([]byte, error) {
	for {
		msg, err := q.poll()
		if msg != nil || err != nil {
			return msg, err
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// poll returns the next message, why there are no more, or neither if there is
// nothing yet.
func (q *queue) poll() ([]byte, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.msgs) > 0 {
		msg := q.msgs[0]
		q.msgs[0] = nil
		q.msgs = q.msgs[1:]
		return msg, nil
	}
	if q.closed {
		q.signal() // for the next call
		if q.why != nil {
			return nil, q.why
		}
		return nil, io.EOF
	}
	return nil, nil
}
