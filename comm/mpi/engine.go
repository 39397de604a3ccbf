package mpi

// An engine is the part of MPI that a World needs. Only one goroutine calls it at a time.
// Memory that is given to a call must stay where it is until test has told that
// the call is done.
type engine interface {
	// probe looks for a message of a circle that nobody has begun to receive.
	probe(in circle) (m arrival, found bool, err error)
	// listen begins to receive the next message of a circle that nobody else
	// has begun to receive.
	listen(in circle, b []byte) (request, error)
	// send and receive begin to move a message to or from a rank.
	send(in circle, to, tag int, b []byte) (request, error)
	receive(in circle, from, tag int, b []byte) (request, error)
	// collect begins a collective of all ranks.
	collect(c *collective) (request, error)
	// test tells whether the operation of a request is done, and if so how many bytes it has
	// received. It is not called again for one that was done.
	test(r request) (done bool, m arrival, err error)
	// cancel ends a receive that nothing has come for.
	cancel(r request)
	// abort ends all processes.
	abort(status int)
	finalize() error
}

// A circle is one of the communicators of a world, each of which has all its
// ranks. Messages of one do not meet those of another.
type circle int

const (
	chat  circle = iota // the messages of streams
	bulk                // blocks beside streams
	whole               // collectives

	circles // their number
)

// An arrival is a message that has come.
type arrival struct {
	from, tag, bytes int
}

// A request is MPI's handle of an operation that was begun.
type request uint64
