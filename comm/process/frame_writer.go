package process

import (
	"io"
	"net"
	"sync"
	"time"

	"tpsh/comm/wire"
)

// A messageWriter passes messages on to one other participant. Messages that several
// goroutines send do not mix. Whether anyone gets them is not for the sender
// to know: the receiver notices that a stream has been cut.
type messageWriter interface {
	// Send sends head and then body as one message with the numbers of f. It
	// is done with both when it returns.
	Send(f wire.Frame, head, body []byte)
	// Stop ends what is being sent, and lets nothing be sent any more.
	Stop()
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

func (o *frameWriter) Send(f wire.Frame, head, body []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f.Source = o.source
	if len(body) == 0 {
		head, body = nil, head
	}
	if o.beside != nil && len(body) >= blockBytes && len(head) <= wire.MaxPayload {
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

// sendLater is send for a body that is used until wait returns. It reports false
// if it has sent nothing, since only send can.
func (o *frameWriter) sendLater(f wire.Frame, body []byte) (wait func() error, ok bool) {
	if o.beside == nil || len(body) < blockBytes {
		return nil, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	f.Source = o.source
	return o.sendBeside(&f, nil, body), true
}

// sendBeside writes a frame with the head of a message, and begins to pass the
// body beside the stream. The head is at most maxPayload long.
func (o *frameWriter) sendBeside(f *wire.Frame, head, body []byte) (wait func() error) {
	f.Rest, f.Beside, f.Number = len(head)+len(body), true, o.number
	f.Payload = head
	o.number++
	o.buf = wire.AppendFrame(o.buf[:0], f)
	if _, err := o.stream.Write(o.buf); err != nil {
		return func() error { return err }
	}
	return o.beside.WriteBlock(body)
}

// sendNext writes a frame with the next of a payload.
func (o *frameWriter) sendNext(f *wire.Frame, payload *wire.Parts) error {
	conn, ok := o.stream.(*net.TCPConn)
	if !ok || payload.Len() < wire.LargeWrite {
		o.buf = wire.AppendNext(o.buf[:0], f, payload, &o.number)
		_, err := o.stream.Write(o.buf)
		return err
	}
	o.buf, o.runs = wire.AppendRuns(o.buf[:0], o.runs[:0], f, payload, &o.number, wire.MaxPayload)
	vector := net.Buffers(o.runs)
	_, err := vector.WriteTo(conn)
	clear(o.runs)
	return err
}

func (o *frameWriter) Stop() {
	if c, ok := o.stream.(net.Conn); ok {
		c.SetWriteDeadline(time.Unix(1, 0)) // closing would wait for who reads
		return
	}
	o.stream.Close()
}
