package comm

import (
	"io"
	"syscall"
)

// A PollStream is a stream that can be looked at, so that whoever waits for
// something spares waking another thread; and beside which blocks travel, from
// the memory of one end to the memory of the other.
type PollStream interface {
	io.ReadWriteCloser

	// TryRead is Read that does not wait: it returns 0 and nil if nothing has
	// come. If look is true it looks whether there is more than is known.
	TryRead(b []byte, look bool) (int, error)

	// Notify has f called, which does not wait, when something may have come:
	// bytes, a block or the end. It need not be called for what a TryRead that
	// looks finds.
	Notify(f func())

	// WriteBlock begins to pass b, which is used until wait returns, to the
	// other end's next BeginBlock. What was written before arrives before.
	WriteBlock(b []byte) (wait func() error)

	// BeginBlock begins to fill b, which is used until done says that it is
	// full, with the block of the other end's next WriteBlock, which has as
	// many bytes. done does not wait.
	BeginBlock(b []byte) (done func() (bool, error))
}

// blockBytes is the length from which what is sent goes beside a PollStream.
const blockBytes = 16 << 10

// A polledConn is a PollStream in the shape of a connection of the operating
// system's, so that a socket can read it.
type polledConn struct {
	stream PollStream
	come   chan struct{} // holds an element when there may be something to read
}

func newPolledConn(s PollStream) *polledConn {
	c := &polledConn{s, make(chan struct{}, 1)}
	s.Notify(c.kick)
	return c
}

// kick has Read call its function again.
func (c *polledConn) kick() {
	select {
	case c.come <- struct{}{}:
	default:
	}
}

// Read calls f until it returns true, whenever something may have come.
func (c *polledConn) Read(f func(fd uintptr) bool) error {
	for !f(known) {
		<-c.come
	}
	return nil
}

// Control calls f once, to look.
func (c *polledConn) Control(f func(fd uintptr)) error {
	f(looking)
	return nil
}

// Write does nothing.
func (c *polledConn) Write(func(fd uintptr) bool) error { return nil }

// What a polledConn gives for a file: whether to look at the stream.
const (
	known   uintptr = 0
	looking uintptr = 1
)

// read reads as readSocket does.
func (c *polledConn) read(fd uintptr, b []byte) (int, error) {
	n, err := c.stream.TryRead(b, fd == looking)
	if n == 0 && err == nil {
		err = errAgain
	}
	return n, err
}

var _ syscall.RawConn = (*polledConn)(nil)
