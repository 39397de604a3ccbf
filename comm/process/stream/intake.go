package stream

import (
	"sync"
	"time"

	"tpsh/comm/bootstrap"
	"tpsh/comm/wire"
)

// An Intake takes in the messages of a peer from a stream that can be read without
// waiting. Several goroutines may try; one at a time does.
type Intake struct {
	host  Host
	peer  int
	heard *bootstrap.HeardReader
	from  func(b []byte) (int, error) // returns wire.ErrAgain if nothing is there

	mu    sync.Mutex
	in    *wire.Reader
	short bool        // whether the last read has emptied the stream
	held  *wire.Frame // of a generation that has not come; nil if there is none
	err   error       // after which nothing is read
	told  bool        // whether the host knows of err
	deaf  bool        // whether nothing is to be taken in now, of which onDeaf knows

	// onDeaf, if set, is called with mu held when nothing is to be taken in any more,
	// or not now, and when there is again.
	onDeaf func(deaf bool)
}

// NewIntake returns an Intake of a peer's messages, which in makes of the bytes that
// from reads. from does not wait, and returns wire.ErrAgain if nothing is there.
func NewIntake(h Host, peer int, heard *bootstrap.HeardReader, in *wire.Reader, from func([]byte) (int, error)) *Intake {
	return &Intake{host: h, peer: peer, heard: heard, in: in, from: from}
}

// OnDeaf has fn called, which must not wait, when nothing of the peer is to be taken in any
// more or not before another generation, and when there is again. It is called before
// anything is taken in.
func (t *Intake) OnDeaf(fn func(deaf bool)) { t.onDeaf = fn }

// Peer returns the rank from which messages come.
func (t *Intake) Peer() int { return t.peer }

// Silent returns for how long nothing was heard of the peer.
func (t *Intake) Silent() time.Duration { return t.heard.Silent() }

// Take takes in the messages that are there, unless somebody else does just now, or
// if brief is true at most one contract or piece of data. It reports whether there
// were some, and whether somebody else was at it. If a brief take leaves messages that are
// read already, it calls ahead, which must not wait: the system no longer tells of them.
func (t *Intake) Take(brief bool, ahead func()) (came, busy bool) {
	if !t.mu.TryLock() {
		return false, true
	}
	if t.err != nil || t.held != nil {
		t.mu.Unlock()
		return false, false
	}
	before := t.in.Progress()
	t.takeAll(brief)
	if brief && t.in.HasAhead() {
		ahead()
	}
	came = t.in.Progress() != before
	t.unlock()
	return came, false
}

// takeAll takes in the messages that are there, or if brief is true until one contract or piece of
// data was. It reports false if there may be more later. The caller holds mu.
func (t *Intake) takeAll(brief bool) (over bool) {
	t.short = false
	for t.err == nil && t.held == nil {
		f, err := t.in.Pull(t.read)
		if err == wire.ErrAgain {
			return false
		}
		if t.err = err; err == nil {
			t.hand(f)
			if brief && (f.Type == wire.FrameContract || f.Type == wire.FrameData) {
				return false
			}
		}
	}
	return true
}

// read reads for in.
func (t *Intake) read(b []byte) (int, error) {
	if t.short {
		t.short = false
		return 0, wire.ErrAgain
	}
	n, err := t.from(b)
	if n > 0 {
		t.short = n < len(b)
		t.heard.Resume()
	}
	return n, err
}

// hand gives a message to the host, or holds it.
func (t *Intake) hand(f *wire.Frame) {
	switch come, err := t.host.Accept(t.peer, f); {
	case !come:
		t.held = f
	case err != nil:
		t.err = err
	}
}

// unlock unlocks mu when something was taken in, and tells the host if that was
// the end. Silence means nothing while a message is held: nobody listens.
func (t *Intake) unlock() {
	if t.held != nil {
		t.heard.Pause()
	}
	if deaf := t.held != nil || t.err != nil; deaf != t.deaf && t.onDeaf != nil {
		t.deaf = deaf
		t.onDeaf(deaf)
	}
	lost := t.err
	if t.told {
		lost = nil
	}
	t.told = t.told || lost != nil
	t.mu.Unlock()
	if lost != nil && t.host.Context().Err() == nil {
		t.host.Lose(t.peer, lost)
	}
}

// TakeHeld takes in the message that was held for the generation that has come.
func (t *Intake) TakeHeld() {
	t.mu.Lock()
	if held := t.held; held != nil {
		t.held = nil
		t.heard.Resume()
		t.hand(held)
	}
	t.unlock()
}

// Open reports whether messages may still come that can be taken in, and whether
// some of them are read already: a brief take leaves bytes that it has read ahead, of
// which the system no longer tells.
func (t *Intake) Open() (open, ahead bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	open = t.err == nil && t.held == nil
	return open, open && t.in.HasAhead()
}

// Look is Open for who does not wait for a goroutine that takes in: then no more can be
// taken in.
func (t *Intake) Look() (open, ahead bool) {
	if !t.mu.TryLock() {
		return false, false
	}
	defer t.mu.Unlock()
	open = t.err == nil && t.held == nil
	return open, open && t.in.HasAhead()
}

// Abandon makes sure that nothing is read to memory that a message of a call was to
// go to, when the call has ended before all of it had come.
func (t *Intake) Abandon(memory []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil { // otherwise nothing is read
		t.in.AbandonBuffer(memory)
	}
}

// Shut lets nothing be read any more, because of cause, of which the host knows. It
// calls release when nobody reads.
func (t *Intake) Shut(cause error, release func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err, t.told = cause, true
	release()
}
