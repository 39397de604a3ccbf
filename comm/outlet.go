package comm

import (
	"fmt"
	"io"
	"sync"
)

// A sender passes messages on to one other participant. Messages that several
// goroutines send do not mix. Whether anyone gets them is not for the sender
// to know: the receiver notices that a stream has been cut.
type sender interface {
	// send sends head and then body as one message with the numbers of f. It
	// is done with both when it returns.
	send(f frame, head, body []byte)
	// cut ends what is being sent, and lets nothing be sent any more.
	cut()
}

// An outlet is a sender that writes frames to a stream.
type outlet struct {
	source int // the rank of the fabric that writes

	mu     sync.Mutex
	stream io.WriteCloser
	number uint32 // of the next frame
	buf    []byte
}

func (o *outlet) send(f frame, head, body []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f.source = o.source
	payload := parts{head, body}
	for first := true; first || payload.len() > 0; first = false {
		o.buf = appendNext(o.buf[:0], &f, &payload, &o.number)
		if _, err := o.stream.Write(o.buf); err != nil {
			return
		}
	}
}

// appendNext appends a frame with the next of a payload, and counts it.
func appendNext(buf []byte, f *frame, payload *parts, number *uint32) []byte {
	n := min(payload.len(), maxPayload)
	f.more, f.number = payload.len() > n, *number
	*number++
	at := len(buf)
	buf = appendHeader(buf, f, n)
	for n > 0 {
		run := payload.next(n)
		buf = append(buf, run...)
		n -= len(run)
	}
	return seal(buf, at)
}

// parts is what is left of a message in two parts.
type parts struct{ head, body []byte }

func (p *parts) len() int { return len(p.head) + len(p.body) }

// next takes at most n bytes from the front, all of one part.
func (p *parts) next(n int) (run []byte) {
	if len(p.head) == 0 {
		p.head, p.body = p.body, nil
	}
	n = min(n, len(p.head))
	run, p.head = p.head[:n], p.head[n:]
	return run
}

func (o *outlet) cut() { o.stream.Close() }

// An inlet reads what outlets write: whole messages from one participant.
type inlet struct {
	frames frameReader
	source int    // the rank that must have sent every frame
	number uint32 // that the next frame must have
}

// next returns the next message as one frame, however long its payload. The
// error is io.EOF at the end of the stream.
func (in *inlet) next() (*frame, error) {
	whole, err := in.frame()
	if err != nil {
		return nil, err
	}
	for last := whole; last.more; {
		if last, err = in.frame(); err != nil {
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

// frame returns the next frame that is no heartbeat. None may be missing, come
// twice or come out of its order.
func (in *inlet) frame() (*frame, error) {
	for {
		f, err := in.frames.next()
		if err != nil {
			return nil, err
		}
		if f.number != in.number {
			return nil, &FrameError{"number", fmt.Sprint(f.number), fmt.Sprint(in.number)}
		}
		in.number++
		if f.typ != frameHeartbeat {
			return f, nil
		}
	}
}

// continues reports whether f can be a later part of the message of first.
func continues(f, first *frame) bool {
	return f.typ == first.typ && f.source == first.source && f.group == first.group &&
		f.call == first.call && f.step == first.step && f.tag == first.tag && f.generation == first.generation
}

// unexpected makes of the end of a stream one that comes too early.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
