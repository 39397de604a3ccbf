package comm

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"sync"
	"time"
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
	runs   [][]byte
}

func (o *outlet) send(f frame, head, body []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f.source = o.source
	payload := parts{head, body}
	for first := true; first || payload.len() > 0; first = false {
		if err := o.sendNext(&f, &payload); err != nil {
			return
		}
	}
}

// largeWrite is the length from which a payload is written from where it is.
const largeWrite = 16 << 10

// sendNext writes a frame with the next of a payload.
func (o *outlet) sendNext(f *frame, payload *parts) error {
	conn, ok := o.stream.(*net.TCPConn)
	if !ok || payload.len() < largeWrite {
		o.buf = appendNext(o.buf[:0], f, payload, &o.number)
		_, err := o.stream.Write(o.buf)
		return err
	}
	n := f.next(payload, &o.number)
	o.buf = appendHeader(o.buf[:0], f, n)
	sum := crc32.Checksum(o.buf[:checkedBytes], castagnoli)
	o.runs = append(o.runs[:0], o.buf)
	for n > 0 {
		run := payload.next(n)
		sum = crc32.Update(sum, castagnoli, run)
		o.runs = append(o.runs, run)
		n -= len(run)
	}
	binary.LittleEndian.PutUint32(o.buf[checkedBytes:], sum)
	vector := net.Buffers(o.runs)
	_, err := vector.WriteTo(conn)
	clear(o.runs)
	return err
}

// appendNext appends a frame with the next of a payload, and counts it.
func appendNext(buf []byte, f *frame, payload *parts, number *uint32) []byte {
	n := f.next(payload, number)
	at := len(buf)
	buf = appendHeader(buf, f, n)
	for n > 0 {
		run := payload.next(n)
		buf = append(buf, run...)
		n -= len(run)
	}
	return seal(buf, at)
}

// next makes f the frame with the next of a payload, counts it, and returns how
// much that is.
func (f *frame) next(payload *parts, number *uint32) int {
	n := min(payload.len(), maxPayload)
	f.rest, f.more, f.number = payload.len(), payload.len() > n, *number
	*number++
	return n
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

func (o *outlet) cut() {
	if c, ok := o.stream.(net.Conn); ok {
		c.SetWriteDeadline(time.Unix(1, 0)) // closing would wait for who reads
		return
	}
	o.stream.Close()
}

// An inlet reads what outlets write: whole messages from one participant.
type inlet struct {
	frames frameReader
	source int         // the rank that must have sent every frame
	number uint32      // that the next frame must have
	whole  *frame      // a message of which more is to come, nil if there is none
	spare  *bufferPool // for long data, nil if there is none
}

// next returns the next message as one frame, however long its payload, which
// may be lent. The error is io.EOF at the end of the stream.
func (in *inlet) next() (*frame, error) { return in.pull(in.frames.stream.Read) }

// pull is next for what read gives. It can be called again after errAgain.
func (in *inlet) pull(read func([]byte) (int, error)) (*frame, error) {
	for {
		in.frames.into = nil
		if in.whole != nil {
			in.frames.into = in.whole.payload[len(in.whole.payload):cap(in.whole.payload)]
		}
		f, err := in.frames.pull(read)
		if err == io.EOF && in.whole != nil {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		if err := in.check(f); err != nil {
			return nil, err
		}
		if f.typ == frameHeartbeat {
			continue
		}
		if in.whole == nil && !f.more {
			return f, nil
		}
		if err := in.gather(f); err != nil {
			return nil, err
		}
		if !f.more {
			whole := in.whole
			in.whole, whole.more = nil, false
			return whole, nil
		}
	}
}

// check checks that f is from the source, and that no frame is missing, comes
// twice or comes out of its order.
func (in *inlet) check(f *frame) error {
	if f.number != in.number {
		return &FrameError{"number", fmt.Sprint(f.number), fmt.Sprint(in.number)}
	}
	in.number++
	if f.source != in.source {
		return &FrameError{"alien", rankList([]int{f.source}), rankList([]int{in.source})}
	}
	return nil
}

// gather adds f to the message in progress, or begins one.
func (in *inlet) gather(f *frame) error {
	if in.whole == nil {
		whole := *f
		whole.lent, whole.payload = false, in.spare.get(f.rest)
		in.whole = &whole
	}
	whole := in.whole
	if !continues(f, whole) || f.rest != whole.rest-len(whole.payload) {
		return &FrameError{"alien", "a frame of another message", "the rest of one"}
	}
	if f.lent {
		whole.payload = append(whole.payload, f.payload...)
	} else { // it is there
		whole.payload = whole.payload[:len(whole.payload)+len(f.payload)]
	}
	return nil
}

// continues reports whether f can be a later part of the message of first.
func continues(f, first *frame) bool {
	return f.typ == first.typ && f.source == first.source && f.group == first.group &&
		f.call == first.call && f.step == first.step && f.tag == first.tag && f.generation == first.generation
}
