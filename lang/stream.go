package lang

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"tpsh/internal/crc32c"
)

// maxMessage bounds a message of a StreamConn. A section of lines is the
// longest there is, and takes at most six times its bytes.
const maxMessage = 1 << 30

// farewell is how long Close tries to send the messages still in its queue.
const farewell = 5 * time.Second

// A StreamConn is one end of a control connection over a stream of bytes: each
// message behind its length in 4 bytes, the lowest first, and a CRC-32C of those
// and of the message.
type StreamConn struct {
	stream  io.ReadWriteCloser
	ended   func(error) error
	in, out *queue
	over    context.Context // until nobody reads the stream any more, or Close
	finish  context.CancelFunc
	tasks   sync.WaitGroup
}

// Stream returns a connection over stream, which belongs to it from then on.
// Its Close ends reads and writes under way. Both ends are of one
// version of tpsh. Close of the connection ends the goroutines that Stream starts.
//
// If ended is not nil, it is told how the stream ended, with io.EOF if the
// other end closed it, and returns the error of Recv when all messages have been
// received.
func Stream(stream io.ReadWriteCloser, ended func(error) error) *StreamConn {
	c := &StreamConn{stream: stream, ended: ended, in: newQueue(), out: newQueue()}
	c.over, c.finish = context.WithCancel(context.Background())
	c.tasks.Go(c.read)
	c.tasks.Go(c.write)
	return c
}

// Send queues a copy of msg for the other end.
func (c *StreamConn) Send(msg []byte) error {
	if len(msg) > maxMessage {
		return fmt.Errorf("control message: got %d bytes, want at most %d", len(msg), maxMessage)
	}
	return c.out.put(append([]byte{}, msg...))
}

// Recv waits for a message, for the end of the stream, or for ctx.
func (c *StreamConn) Recv(ctx context.Context) ([]byte, error) { return c.in.take(ctx) }

// Fail ends the connection at once. When all has been received that has come,
// Recv returns err.
func (c *StreamConn) Fail(err error) {
	c.in.end(err)
	c.out.end(nil)
	c.stream.Close()
}

// Close sends the messages still in the queue, if the other end takes them within
// farewell, and closes the stream. Messages that have come can still be received.
func (c *StreamConn) Close() error {
	late := time.AfterFunc(farewell, func() { c.stream.Close() })
	defer late.Stop()
	c.out.end(nil)
	c.finish()
	c.tasks.Wait()
	return nil
}

// read queues the messages that come.
func (c *StreamConn) read() {
	defer c.finish()
	r := bufio.NewReader(c.stream)
	var err error
	for err == nil {
		var msg []byte
		if msg, err = readMessage(r); err == nil {
			err = c.in.put(msg)
		}
	}
	if c.ended != nil {
		err = c.ended(err)
	}
	c.in.end(err)
	c.out.end(nil)
}

// readMessage returns the next message of a stream, and io.EOF at its end.
// Memory grows with the bytes that come, whatever the length says.
func readMessage(r io.Reader) ([]byte, error) {
	var header [8]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(header[:])
	if n > maxMessage {
		return nil, fmt.Errorf("control message: got %d bytes, want at most %d", n, maxMessage)
	}
	var msg bytes.Buffer
	msg.Grow(int(min(n, 64<<10)))
	if _, err := io.CopyN(&msg, r, int64(n)); err != nil {
		return nil, noEOF(err)
	}
	if got, want := checksum(header[:4], msg.Bytes()), binary.LittleEndian.Uint32(header[4:]); got != want {
		return nil, fmt.Errorf("control message: got checksum %08x, want %08x (its %d bytes were damaged on the way)", got, want, n)
	}
	return msg.Bytes(), nil
}

// checksum returns the checksum of a message behind its length.
func checksum(length, msg []byte) uint32 {
	return crc32c.Update(crc32c.Checksum(length), msg)
}

// noEOF makes of the end of a stream one that comes too early.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// write sends the queue, and closes the stream when there is no more to come. When the
// other end takes no more, its last messages may be here and not yet read: the stream is
// closed when they are, or after farewell.
func (c *StreamConn) write() {
	defer c.stream.Close()
	for {
		msg, err := c.out.take(context.Background())
		if err != nil {
			return
		}
		if writeMessage(c.stream, msg) != nil { // which the reader notices, too
			c.out.end(nil)
			read, cancel := context.WithTimeout(c.over, farewell)
			defer cancel()
			<-read.Done()
			return
		}
	}
}

func writeMessage(w io.Writer, msg []byte) error {
	header := binary.LittleEndian.AppendUint32(make([]byte, 0, 8+len(msg)), uint32(len(msg)))
	header = binary.LittleEndian.AppendUint32(header, checksum(header, msg))
	_, err := w.Write(append(header, msg...))
	return err
}
