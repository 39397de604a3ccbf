package stream

import "io"

// A PollStream is a stream that can be looked at, so that whoever waits for
// something spares waking another thread; and beside which blocks travel, from
// the memory of one end to the memory of the other.
type PollStream interface {
	io.ReadWriteCloser

	// TryRead is Read that does not wait: it returns 0 and nil if nothing has
	// come.
	TryRead(b []byte) (int, error)

	// Notify has f called, which does not wait, when something may have come:
	// bytes, a block or the end. It is not called for messages that Look finds.
	Notify(f func())

	// Look moves on the operations of all streams of the rank, and
	// reports whether something has come on any.
	Look() bool

	// Ready reports whether something has come since the last call.
	Ready() bool

	// Doze lets some ten microseconds pass, in which other processes run.
	Doze()

	// WriteBlock begins to pass b, which is used until wait returns, to the
	// other end's next BeginBlock. Bytes that were written before arrive before.
	WriteBlock(b []byte) (wait func() error)

	// BeginBlock begins to fill b, which is used until done says that it is
	// full, with the block of the other end's next WriteBlock, which has as
	// many bytes. done does not wait.
	BeginBlock(b []byte) (done func() (bool, error))
}

// blockBytes is the length from which a message goes beside a PollStream.
const blockBytes = 8 << 10
