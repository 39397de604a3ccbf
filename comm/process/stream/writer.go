package stream

import (
	"io"
	"net"
	"sync"
	"time"

	"tpsh/comm/wire"
)

// A Writer sends messages as frames of a stream. Messages that several goroutines
// send do not mix.
type Writer struct {
	Source int            // the rank of the fabric that writes
	Stream io.WriteCloser // which takes the frames
	Beside PollStream     // which is Stream, if blocks go beside it; otherwise nil

	mu     sync.Mutex
	number uint32 // of the next frame
	buf    []byte
	runs   [][]byte
}

// Send sends head and then body as one message with the numbers of f. It is done with
// both when it returns.
func (o *Writer) Send(f wire.Frame, head, body []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f.Source = o.Source
	if len(body) == 0 {
		head, body = nil, head
	}
	if o.Beside != nil && len(body) >= blockBytes && len(head) <= wire.MaxPayload {
		o.sendBeside(&f, head, body)()
		return
	}
	payload := wire.Parts{Head: head, Body: body}
	for first := true; first || payload.Len() > 0; first = false {
		if err := o.sendNext(&f, &payload); err != nil {
			return
		}
	}
}

// SendLater is Send for a body that is used until wait returns. It reports false
// if it has sent nothing, since only Send can.
func (o *Writer) SendLater(f wire.Frame, body []byte) (wait func() error, ok bool) {
	if o.Beside == nil || len(body) < blockBytes {
		return nil, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	f.Source = o.Source
	return o.sendBeside(&f, nil, body), true
}

// sendBeside writes a frame with the head of a message, and begins to pass the
// body beside the stream. The head is at most wire.MaxPayload long.
func (o *Writer) sendBeside(f *wire.Frame, head, body []byte) (wait func() error) {
	f.Rest, f.Beside, f.Number = len(head)+len(body), true, o.number
	f.Payload = head
	o.number++
	o.buf = wire.AppendFrame(o.buf[:0], f)
	if _, err := o.Stream.Write(o.buf); err != nil {
		return func() error { return err }
	}
	return o.Beside.WriteBlock(body)
}

// sendNext writes a frame with the next of a payload.
func (o *Writer) sendNext(f *wire.Frame, payload *wire.Parts) error {
	conn, ok := o.Stream.(*net.TCPConn)
	if !ok || payload.Len() < wire.LargeWrite {
		o.buf = wire.AppendNext(o.buf[:0], f, payload, &o.number)
		_, err := o.Stream.Write(o.buf)
		return err
	}
	o.buf, o.runs = wire.AppendRuns(o.buf[:0], o.runs[:0], f, payload, &o.number, wire.MaxPayload)
	vector := net.Buffers(o.runs)
	_, err := vector.WriteTo(conn)
	clear(o.runs)
	return err
}

// Stop ends the message being sent, and lets nothing be sent any more.
func (o *Writer) Stop() {
	if c, ok := o.Stream.(net.Conn); ok {
		c.SetWriteDeadline(time.Unix(1, 0)) // closing would wait for the reader
		return
	}
	o.Stream.Close()
}
