package mpi

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// A streamKey names a stream of this rank.
type streamKey struct{ peer, channel int }

// A Stream carries bytes between two ranks in both directions, in order. Read
// and Write may go on at once. It is a stream.PollStream.
type Stream struct {
	world *World
	key   streamKey
	twin  *Stream // the other end, if both are of this rank

	writing sync.Mutex // held to write
	flying  int        // bytes on their way; guarded by world.mu

	mu     sync.Mutex
	come   sync.Cond     // something has changed; its lock is mu
	inbox  [][]byte      // taken in and, from read on, not read
	read   int           // of inbox
	at     int           // bytes of inbox[read] that were read
	over   bool          // whether the other end has closed
	err    error         // after which nothing can be read
	shut   chan struct{} // closed by Close
	notify func()        // nil if nobody minds

	ready atomic.Bool // whether something has come since Ready
}

const (
	// flyingMost is how many bytes may be on their way before a Write waits.
	flyingMost = 1 << 20
	// messageMost is the longest message. MPI counts its bytes in 32 bits.
	messageMost = 1 << 30
)

// Stream returns the stream to a rank on a channel, the same at every call;
// both ends need not ask for it at the same time. Of the streams of this rank
// to itself the calls return one end and the other by turns. Stream panics
// unless 0 <= peer < Size and channel is one of 0..16384.
func (w *World) Stream(peer, channel int) io.ReadWriteCloser {
	if peer < 0 || peer >= w.size || channel < 0 || channel > maxChannel {
		panic(fmt.Sprintf("mpi: stream to rank %d of %d, channel %d", peer, w.size, channel))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stream(streamKey{peer, channel})
	if peer != w.rank {
		return s
	}
	end := pipeEnd{s}
	w.streams[s.key] = s.twin // whose turn it is next
	return end
}

// stream returns the stream of a key. The caller holds mu.
func (w *World) stream(key streamKey) *Stream {
	if s := w.streams[key]; s != nil {
		return s
	}
	s := newStream(w, key)
	if key.peer == w.rank {
		s.twin = newStream(w, key)
		s.twin.twin = s
	}
	w.streams[key] = s
	return s
}

func newStream(w *World, key streamKey) *Stream {
	s := &Stream{world: w, key: key, shut: make(chan struct{})}
	s.come.L = &s.mu
	s.err = w.err
	return s
}

// closed reports whether Close was called.
func (s *Stream) closed() bool {
	select {
	case <-s.shut:
		return true
	default:
		return false
	}
}

// Write sends b. It may return before b has arrived; b is the caller's again.
func (s *Stream) Write(b []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	for n := 0; n < len(b); {
		if s.closed() {
			return n, errStream
		}
		piece := b[n:min(n+smallBytes, len(b))]
		if err := s.write(piece); err != nil {
			return n, err
		}
		n += len(piece)
	}
	return len(b), nil
}

// write sends a message of at most smallBytes.
func (s *Stream) write(b []byte) error {
	w := s.world
	m := w.memory.get(len(b))
	copy(m, b)
	if s.twin != nil {
		s.twin.deliver(m, true)
		return nil
	}
	w.mu.Lock()
	err := w.fly(s, m)
	many := s.flying > flyingMost
	w.mu.Unlock()
	for many && !s.closed() {
		w.moveUntil(func() bool { return s.closed() || !s.crowded() })
		if many = s.crowded(); many {
			w.bell.ring()
			time.Sleep(longestSleep)
		}
	}
	return err
}

// crowded reports whether more is on its way than may be.
func (s *Stream) crowded() bool {
	w := s.world
	w.mu.Lock()
	defer w.mu.Unlock()
	w.land(len(w.flights))
	return s.flying > flyingMost && w.err == nil && !w.draining
}

// send begins to send a message from where it is. wait returns when that is done.
func (s *Stream) send(in circle, b []byte) (wait func() error) {
	w := s.world
	o := &operation{wake: make(chan struct{})}
	o.hold(b)
	w.mu.Lock()
	w.submit(o, func() (request, error) { return w.engine.send(in, s.key.peer, s.key.channel, b) })
	w.mu.Unlock()
	return func() error { return s.await(o) }
}

// await waits for an operation.
func (s *Stream) await(o *operation) error {
	s.world.wait(o, s.shut)
	if !o.over.Load() {
		return errStream
	}
	return o.err
}

// WriteBlock begins to pass b to the other end's next BeginBlock. b is the
// caller's again when wait has returned. Bytes that were written before arrive before.
func (s *Stream) WriteBlock(b []byte) (wait func() error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed() {
		return func() error { return errStream }
	}
	var waits []func() error
	for first := true; first || len(b) > 0; first = false {
		piece := b[:min(messageMost, len(b))]
		waits = append(waits, s.send(bulk, piece))
		b = b[len(piece):]
	}
	return func() (err error) {
		for _, wait := range waits {
			err = errors.Join(err, wait())
		}
		return err
	}
}

// BeginBlock begins to fill b with the next block of the other end, which has
// len(b) bytes. The result tells whether that is done. Whoever is told by
// Notify is told when it is.
func (s *Stream) BeginBlock(b []byte) (done func() (bool, error)) {
	var pieces []*operation
	w := s.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for first := true; first || len(b) > 0; first = false {
		piece := b[:min(messageMost, len(b))]
		o := &operation{posted: true}
		o.hold(piece)
		o.check = func(n int) error {
			if n == len(piece) || w.draining {
				return nil
			}
			return fmt.Errorf("mpi: got a block of %d bytes of rank %d, want %d", n, s.key.peer, len(piece))
		}
		o.then = func() { s.tell(!w.muted) }
		w.submit(o, func() (request, error) { return w.engine.receive(bulk, s.key.peer, s.key.channel, piece) })
		pieces = append(pieces, o)
		b = b[len(piece):]
	}
	return func() (bool, error) {
		for _, o := range pieces {
			if !o.over.Load() {
				return false, nil
			}
			if o.err != nil {
				return true, o.err
			}
		}
		return true, nil
	}
}

// Read returns bytes that have come, for which it waits. At the end of the stream it
// returns io.EOF.
func (s *Stream) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if n, err := s.take(b); n > 0 || err != nil || len(b) == 0 {
			return n, err
		}
		s.come.Wait()
	}
}

// Look moves on the operations of all streams of the world, and reports
// whether something has come for any. Of that nobody is told but Ready.
func (s *Stream) Look() (came bool) {
	w := s.world
	w.looks.Add(1)
	if w.mu.TryLock() {
		w.muted = true
		came = w.advance()
		w.muted = false
		w.mu.Unlock()
	}
	return came
}

// Ready reports whether something has come since the last call: bytes, a block
// or the end.
func (s *Stream) Ready() bool { return s.ready.Load() && s.ready.Swap(false) }

// Doze lets some ten microseconds pass, in which other processes run.
func (s *Stream) Doze() { s.world.bell.doze() }

// TryRead is Read that does not wait: it returns 0 and nil if nothing has come.
func (s *Stream) TryRead(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(b)
}

// take returns the bytes that have come, 0 and nil if none have. The caller holds
// mu.
func (s *Stream) take(b []byte) (int, error) {
	if s.closed() {
		return 0, errStream
	}
	n := 0
	for n < len(b) && s.read < len(s.inbox) {
		first := s.inbox[s.read]
		k := copy(b[n:], first[s.at:])
		n += k
		if s.at += k; s.at == len(first) {
			s.world.memory.put(first)
			s.inbox[s.read], s.at = nil, 0
			s.read++
		}
	}
	if s.read == len(s.inbox) {
		s.inbox, s.read = s.inbox[:0], 0
	}
	switch {
	case n > 0:
		return n, nil
	case s.err != nil:
		return 0, s.err
	case s.over:
		return 0, io.EOF
	}
	return 0, nil
}

// Notify has f called whenever there may be more to read or a block has come,
// unless it was Look that has brought it about. f must not wait.
func (s *Stream) Notify(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = f
}

// tell wakes the readers that wait, and if aloud is true also calls the function of
// Notify.
func (s *Stream) tell(aloud bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake(aloud)
}

// wake is tell for callers that hold mu.
func (s *Stream) wake(aloud bool) {
	s.ready.Store(true)
	s.come.Broadcast()
	if aloud && s.notify != nil {
		s.notify()
	}
}

// deliver takes in a message, which Notify's functions hear of if
// aloud is true. One of no bytes is the end.
func (s *Stream) deliver(b []byte, aloud bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(b) == 0:
		s.over = true
		s.world.memory.put(b)
	case s.closed():
		s.world.memory.put(b)
	default:
		s.inbox = append(s.inbox, b)
	}
	s.wake(aloud)
}

// lose ends the stream because of an error.
func (s *Stream) lose(err error) {
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	s.wake(true)
	s.mu.Unlock()
	if s.twin != nil && s.twin.err == nil {
		s.twin.lose(err)
	}
}

// Close ends the stream here, and for the other end after all that was written.
// Whoever waits in one of its methods stops doing so.
func (s *Stream) Close() error {
	s.mu.Lock()
	if s.closed() {
		s.mu.Unlock()
		return nil
	}
	close(s.shut)
	s.inbox, s.read = nil, 0
	s.wake(true)
	s.mu.Unlock()
	w := s.world
	if s.twin != nil {
		s.twin.deliver(w.memory.get(0), true)
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fly(s, w.memory.get(0)) // a peer that does not get it does not listen
	return nil
}

// A pipeEnd is an end of a stream of which both are of one rank.
type pipeEnd struct{ s *Stream }

func (p pipeEnd) Read(b []byte) (int, error)  { return p.s.Read(b) }
func (p pipeEnd) Write(b []byte) (int, error) { return p.s.Write(b) }
func (p pipeEnd) Close() error                { return p.s.Close() }
