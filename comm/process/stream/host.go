package stream

import (
	"context"

	"tpsh/comm/wire"
)

// A Host is a rank for which messages come, in whatever generation it is.
type Host interface {
	// Accept gives a message of a peer to the rank of its generation. It does nothing
	// and reports false if that generation has not come; the error is that the message
	// cannot be, after which nothing more is read.
	Accept(peer int, f *wire.Frame) (come bool, err error)
	// AwaitGeneration returns when a generation has come, or the host is closed.
	AwaitGeneration(generation uint32)
	// Lose notes that nothing sensible comes from a peer any more.
	Lose(peer int, cause error)
	// Pump takes in messages that have come on any way, for a writer that finds no room,
	// and reports whether there were some.
	Pump() (came bool)
	// Context ends when the host is closed, and Go runs functions that end then.
	Context() context.Context
	Go(task func())
}

// EagerBytes is how long the data may be that go with a contract through a stream.
const EagerBytes = 32 << 10
