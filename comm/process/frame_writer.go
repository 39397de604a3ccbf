package process

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"tpsh/comm"
	"tpsh/comm/schedule"
)

// A messageWriter passes messages on to one other participant. Messages that several
// goroutines send do not mix. Whether anyone gets them is not for the sender
// to know: the receiver notices that a stream has been cut.
type messageWriter interface {
	// send sends head and then body as one message with the numbers of f. It
	// is done with both when it returns.
	send(f frame, head, body []byte)
	// stop ends what is being sent, and lets nothing be sent any more.
	stop()
}

// A frameWriter is a sender that writes frames to a stream.
type frameWriter struct {
	source int // the rank of the fabric that writes

	mu     sync.Mutex
	stream io.WriteCloser
	beside PollStream // that is stream, if blocks go beside it; otherwise nil
	number uint32     // of the next frame
	buf    []byte
	runs   [][]byte
}

func (o *frameWriter) send(f frame, head, body []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f.source = o.source
	if len(body) == 0 {
		head, body = nil, head
	}
	if o.beside != nil && len(body) >= blockBytes && len(head) <= maxPayload {
		o.sendBeside(&f, head, body)()
		return
	}
	payload := parts{head, body}
	for first := true; first || payload.len() > 0; first = false {
		if err := o.sendNext(&f, &payload); err != nil {
			return
		}
	}
}

// sendLater is send for a body that is used until wait returns. It reports false
// if it has sent nothing, since only send can.
func (o *frameWriter) sendLater(f frame, body []byte) (wait func() error, ok bool) {
	if o.beside == nil || len(body) < blockBytes {
		return nil, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	f.source = o.source
	return o.sendBeside(&f, nil, body), true
}

// sendBeside writes a frame with the head of a message, and begins to pass the
// body beside the stream. The head is at most maxPayload long.
func (o *frameWriter) sendBeside(f *frame, head, body []byte) (wait func() error) {
	f.rest, f.beside, f.number = len(head)+len(body), true, o.number
	f.payload = head
	o.number++
	o.buf = appendFrame(o.buf[:0], f)
	if _, err := o.stream.Write(o.buf); err != nil {
		return func() error { return err }
	}
	return o.beside.WriteBlock(body)
}

// largeWrite is the length from which a payload is written from where it is.
const largeWrite = 16 << 10

// sendNext writes a frame with the next of a payload.
func (o *frameWriter) sendNext(f *frame, payload *parts) error {
	conn, ok := o.stream.(*net.TCPConn)
	if !ok || payload.len() < largeWrite {
		o.buf = appendNext(o.buf[:0], f, payload, &o.number)
		_, err := o.stream.Write(o.buf)
		return err
	}
	o.buf, o.runs = appendRuns(o.buf[:0], o.runs[:0], f, payload, &o.number, maxPayload)
	vector := net.Buffers(o.runs)
	_, err := vector.WriteTo(conn)
	clear(o.runs)
	return err
}

// appendRuns appends to runs a frame with the next of a payload, of which it has
// at most so many bytes, and counts it. What is short goes to the end of buf, of
// which runs then hold it.
func appendRuns(buf []byte, runs [][]byte, f *frame, payload *parts, number *uint32, most int) ([]byte, [][]byte) {
	at := len(buf)
	if payload.len() < largeWrite {
		buf = appendNext(buf, f, payload, number)
		return buf, append(runs, buf[at:])
	}
	n := f.next(payload, number, most)
	buf = appendHeader(buf, f, n)
	header := buf[at:]
	sum := crc(0, header[:checkedBytes])
	runs = append(runs, header)
	for n > 0 {
		run := payload.next(n)
		sum = crc(sum, run)
		runs = append(runs, run)
		n -= len(run)
	}
	binary.LittleEndian.PutUint32(header[checkedBytes:], sum)
	return buf, runs
}

// appendNext appends a frame with the next of a payload, and counts it.
func appendNext(buf []byte, f *frame, payload *parts, number *uint32) []byte {
	n := f.next(payload, number, maxPayload)
	at := len(buf)
	buf = appendHeader(buf, f, n)
	for n > 0 {
		run := payload.next(n)
		buf = append(buf, run...)
		n -= len(run)
	}
	return seal(buf, at)
}

// next makes f the frame with the next of a payload, at most so many bytes,
// counts it, and returns how much that is.
func (f *frame) next(payload *parts, number *uint32, most int) int {
	n := min(payload.len(), most)
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

func (o *frameWriter) stop() {
	if c, ok := o.stream.(net.Conn); ok {
		c.SetWriteDeadline(time.Unix(1, 0)) // closing would wait for who reads
		return
	}
	o.stream.Close()
}

// A messageReader reads what frameWriters write: whole messages from one participant.
type messageReader struct {
	frames     frameReader
	source     int                                        // the rank that must have sent every frame
	number     uint32                                     // that the next frame must have
	whole      *frame                                     // a message of which more is to come, nil if there is none
	begin      func(b []byte) (done func() (bool, error)) // of what comes beside the stream, nil if nothing does
	filled     func() (bool, error)                       // whether the rest of whole has come so, nil if it does not
	spare      *bufferPool                                // for long data, nil if there is none
	dataBuffer func(f *frame) []byte                      // see start; nil if there is none
}

// next returns the next message as one frame, however long its payload, which
// may be transient. The error is io.EOF at the end of the stream.
func (in *messageReader) next() (*frame, error) { return in.pull(in.frames.stream.Read) }

// pull is next for what read gives. It can be called again after errAgain.
func (in *messageReader) pull(read func([]byte) (int, error)) (*frame, error) {
	for {
		if in.filled != nil {
			return in.fill()
		}
		if in.frames.have < headerBytes { // nothing of the payload is there
			in.frames.into = nil
			if in.whole != nil {
				to := *in.whole.end()
				in.frames.into = to[len(to):cap(to)]
			}
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
		if f.beside {
			if err := in.beginRest(f); err != nil {
				return nil, err
			}
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

// beginRest begins to take in what comes beside the stream of the message of f.
func (in *messageReader) beginRest(f *frame) error {
	if in.begin == nil || in.whole != nil {
		return &FrameError{"alien", "a message beside the stream", "none there"}
	}
	if in.frames.bufferFor != nil && len(f.payload) == 0 {
		if memory := in.frames.bufferFor(f); memory != nil {
			f.payload, f.transient = memory[:0], false
		}
	}
	if err := in.gather(f); err != nil {
		return err
	}
	in.filled = in.begin(in.whole.full()[len(*in.whole.end()):])
	return nil
}

// fill returns the message of which the rest comes beside the stream, or
// errAgain if it has not come yet.
func (in *messageReader) fill() (*frame, error) {
	done, err := in.filled()
	if err != nil {
		return nil, err
	}
	if !done {
		return nil, errAgain
	}
	whole := in.whole
	*whole.end(), whole.beside = whole.full(), false
	in.whole, in.filled = nil, nil
	return whole, nil
}

// check checks that f is from the source, and that no frame is missing, comes
// twice or comes out of its order.
func (in *messageReader) check(f *frame) error {
	if f.number != in.number {
		return &FrameError{"number", fmt.Sprint(f.number), fmt.Sprint(in.number)}
	}
	in.number++
	if f.source != in.source {
		return &FrameError{"alien", comm.RankList([]int{f.source}), comm.RankList([]int{in.source})}
	}
	return nil
}

// gather adds f to the message in progress, or begins one.
func (in *messageReader) gather(f *frame) error {
	if in.whole == nil {
		in.start(f)
		return nil
	}
	whole := in.whole
	if !continues(f, whole) || f.rest != whole.rest-len(whole.payload)-len(whole.data) {
		return &FrameError{"alien", "a frame of another message", "the rest of one"}
	}
	to := whole.end()
	if f.transient {
		*to = append(*to, f.payload...)
	} else { // it is there
		*to = (*to)[:len(*to)+len(f.payload)]
	}
	return nil
}

// start makes f the message in progress. What comes behind the head of a message
// goes where room says, which is asked with its first frame.
func (in *messageReader) start(f *frame) {
	whole := *f
	if f.transient {
		if behind := f.rest - len(f.payload); in.dataBuffer != nil && f.typ == frameMessage && behind > 0 {
			if memory := in.dataBuffer(f); memory != nil {
				whole.data = memory[:0:behind]
			}
		}
		whole.payload = append(in.spare.Get(f.rest-cap(whole.data)), f.payload...)
	}
	whole.transient = false
	in.whole = &whole
}

// end returns what the next bytes of a message are put behind.
func (f *frame) end() *[]byte {
	if f.data != nil {
		return &f.data
	}
	return &f.payload
}

// full returns what *f.end() is when the rest of the message has come, beside the
// stream.
func (f *frame) full() []byte {
	to := *f.end()
	return to[:len(to)+f.rest-len(f.payload)]
}

// continues reports whether f can be a later part of the message of first.
func continues(f, first *frame) bool {
	return f.typ == first.typ && f.source == first.source && f.group == first.group &&
		f.call == first.call && f.step == first.step && f.tag == first.tag && f.generation == first.generation
}

// abandonBuffer gives up memory in which a message is being taken in: from now on it
// goes elsewhere.
func (in *messageReader) abandonBuffer(memory []byte) {
	r := &in.frames
	mid := max(0, r.have-headerBytes) // bytes of a frame in progress
	switch {
	case in.whole != nil && schedule.SameMemory(*in.whole.end(), memory):
		to := in.whole.end()
		there := *to
		*to = append(make([]byte, 0, cap(there)), there...)
		if r.have >= headerBytes && r.length <= len(r.into) {
			into := (*to)[len(there):cap(there)]
			copy(into, r.into[:mid])
			r.into = into
		}
	case in.whole == nil && r.have >= headerBytes && schedule.SameMemory(r.into, memory):
		r.into = append(make([]byte, 0, len(memory)), memory...)
	}
}
