package process

import (
	"context"
	"io"
	"sync"

	"tpsh/comm/wire"
)

// An asyncWriter is a sender that never waits for its stream: its messages stay in
// memory until the stream takes them.
type asyncWriter struct {
	source int
	stream io.WriteCloser
	ready  chan struct{} // holds an element when there is something to write

	mu     sync.Mutex
	buf    []byte
	number uint32 // of the next frame
	closed bool
}

func newAsyncWriter(source int, stream io.WriteCloser) *asyncWriter {
	return &asyncWriter{source: source, stream: stream, ready: make(chan struct{}, 1)}
}

func (q *asyncWriter) Send(f wire.Frame, head, body []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	f.Source = q.source
	payload := wire.Parts{Head: head, Body: body}
	for first := true; first || payload.Len() > 0; first = false {
		q.buf = wire.AppendNext(q.buf, &f, &payload, &q.number)
	}
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// Stop drops the messages in q, and all later ones.
func (q *asyncWriter) Stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.buf = true, nil
}

// run writes to the stream until ctx ends or the stream takes no more.
func (q *asyncWriter) run(ctx context.Context) {
	var spent []byte
	for {
		q.mu.Lock()
		taken := q.buf
		q.buf = spent[:0]
		q.mu.Unlock()
		if len(taken) == 0 {
			select {
			case <-q.ready:
			case <-ctx.Done():
				return
			}
		} else if _, err := q.stream.Write(taken); err != nil {
			q.Stop()
			return
		}
		spent = taken
	}
}
