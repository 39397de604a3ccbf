package stream

import (
	"tpsh/comm/bootstrap"
	"tpsh/comm/wire"
)

// A Reader reads a PollStream. Its listener sleeps until something comes; but whoever
// waits for that may look, and take it in at once, which spares waking another thread.
type Reader struct {
	*Intake
	stream PollStream
	come   chan struct{} // holds an element when the listener is to look
}

// NewReader returns a reader of the messages that a peer sends through p, which in
// makes of the bytes.
func NewReader(h Host, peer int, p PollStream, heard *bootstrap.HeardReader, in *wire.Reader) *Reader {
	r := &Reader{stream: p, come: make(chan struct{}, 1)}
	r.Intake = NewIntake(h, peer, heard, in, r.tryRead)
	p.Notify(r.kick)
	return r
}

// kick has the listener look.
func (r *Reader) kick() {
	select {
	case r.come <- struct{}{}:
	default:
	}
}

// tryRead reads the bytes that are there, and returns wire.ErrAgain if none are.
func (r *Reader) tryRead(b []byte) (int, error) {
	n, err := r.stream.TryRead(b)
	if n == 0 && err == nil {
		err = wire.ErrAgain
	}
	return n, err
}

// poll takes in the messages that are there, unless another goroutine does just now.
func (r *Reader) poll() {
	if !r.stream.Ready() {
		return
	}
	if !r.mu.TryLock() {
		r.kick() // whoever is at it may be past the last message
		return
	}
	defer r.mu.Unlock()
	if r.err == nil && r.held == nil {
		r.takeAll(false)
	}
	if r.err != nil || r.held != nil {
		r.kick() // the rest is the listener's
	}
}

// listen takes in messages until the host is closed or the stream is no good.
func (r *Reader) listen() {
	for {
		for !r.takeLocked() {
			<-r.come
		}
		if r.host.Context().Err() != nil {
			return
		}
		if err := r.wait(); err != nil {
			r.host.Lose(r.peer, err)
			return
		}
	}
}

// takeLocked is takeAll with mu held.
func (r *Reader) takeLocked() (over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.takeAll(false)
}

// wait waits until the generation has come of which r holds a message, and takes that
// in. It returns the error of r.
func (r *Reader) wait() error {
	r.mu.Lock()
	held := r.held
	r.mu.Unlock()
	if held != nil {
		r.heard.Pause()
		r.host.AwaitGeneration(held.Generation)
		r.heard.Resume()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held != nil {
		r.held = nil
		r.hand(held)
	}
	return r.err
}

// fills reports whether a block is being read to memory. One that has come, and
// that nobody has been given, goes elsewhere.
func (r *Reader) fills(memory []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.in.Fills(memory)
}
