package comm

import (
	"io"
	"sync"
)

// An outlet writes frames to one other participant. Messages that several
// goroutines send do not mix.
type outlet struct {
	source int // the rank of the fabric that writes

	mu     sync.Mutex
	stream io.WriteCloser
	buf    []byte
}

// send writes payload, in as many frames as it takes, with the numbers of f.
// Whether anyone gets it is not for the writer to know: the reader notices
// that a stream has been cut.
func (o *outlet) send(f frame, payload []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f.source = o.source
	for first := true; first || len(payload) > 0; first = false {
		n := min(len(payload), maxPayload)
		f.payload, payload = payload[:n], payload[n:]
		f.more = len(payload) > 0
		o.buf = appendFrame(o.buf[:0], &f)
		if _, err := o.stream.Write(o.buf); err != nil {
			return
		}
	}
}

// An inlet reads what outlets write: whole messages from one participant.
type inlet struct {
	frames frameReader
	source int // the rank that must have sent every frame
}

// next returns the next message as one frame, however long its payload. The
// error is io.EOF at the end of the stream.
func (in *inlet) next() (*frame, error) {
	whole, err := in.frames.next()
	if err != nil {
		return nil, err
	}
	for last := whole; last.more; {
		if last, err = in.frames.next(); err != nil {
			return nil, unexpected(err)
		}
		if !continues(last, whole) {
			return nil, &FrameError{"alien", "a frame of another message", "the rest of one"}
		}
		whole.payload = append(whole.payload, last.payload...)
	}
	whole.more = false
	if whole.source != in.source {
		return nil, &FrameError{"alien", rankList([]int{whole.source}), rankList([]int{in.source})}
	}
	return whole, nil
}

// continues reports whether f can be a later part of the message of first.
func continues(f, first *frame) bool {
	return f.typ == first.typ && f.source == first.source && f.group == first.group &&
		f.call == first.call && f.step == first.step && f.tag == first.tag
}

// unexpected makes of the end of a stream one that comes too early.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
