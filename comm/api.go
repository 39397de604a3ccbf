package comm

import (
	"context"
	"fmt"
)

// Flags are bits that a member states with a collective call; every member
// learns the OR over all members.
type Flags uint8

const (
	// RequiresGrad says that the member's input takes part in differentiation.
	RequiresGrad Flags = 1 << iota
	// Output says that the member has printed something that is not shown.
	Output
	// Async says that the member issued the call without waiting for it.
	Async
)

// A Desc describes one call of a collective. Members compare all of it but
// Flags, and but Shape's size along Free.
type Desc struct {
	Op     string   // as scripts call it: "all_reduce"
	DType  string   // "" if the call takes no tensor
	Shape  []int    // of the member's input; nil if the call takes no tensor
	Free   int      // the axis along which members may differ in size, or -1
	Reduce string   // "sum", "max", ...; "" if nothing is reduced
	Root   int      // a group rank, or -1
	Dims   [2]int   // dim, or split_dim and concat_dim; -1 where unused
	Pairs  [][2]int // of collective_permute
	Detail string   // more that members must agree on, in words; "" if there is none
	Flags  Flags
}

// A Member is what a call learns of another member's call once they agree.
type Member struct {
	Free int    // its size along Desc.Free; 0 if Free is -1
	Meta []byte // its Op.Meta; to be read only
}

// An Op is one member's call of a collective. Once it is called, neither the
// Op nor anything it refers to may change, ever, but for the bytes of In.
type Op struct {
	Desc Desc
	Kind Kind

	// In holds the blocks that the member offers. They must stay unchanged
	// until the call ends (for an asynchronous one, until its Work is done).
	In []Block

	// Meta travels to every member with the contract, uncompared.
	Meta []byte

	// Align is the size in bytes of an element: blocks are never cut inside one.
	Align int

	// Prepare is called once, when the members' calls agree, with every
	// member's part by group rank and the OR of their flags: by Run on the
	// goroutine of its caller, and for Issue on another. members is to be
	// read only. Prepare returns the blocks for the results that Kind gives
	// this member, which overlap no In block of any member. After an error the
	// other members complete the call, and the caller gets the error. It may
	// be nil if there are no results.
	Prepare func(members []Member, flags Flags) ([]Block, error)

	// Share, if every member has it, takes the place of Prepare for a result that
	// all members have alike (of Broadcast, AllGather and AllReduce) where they
	// share memory.
	Share Sharer

	// Reduce is needed by AllReduce, Reduce and ReduceScatter.
	Reduce Reducer

	// Where returns the source line of the call. It is called only for a
	// report, on any goroutine, while the caller is inside the call; for an
	// asynchronous call, at any time until its Work is done. It must not
	// communicate. If it is nil, the line is what Endpoint.Where tells.
	Where func() string
}

// A Result says what a call did.
type Result struct {
	Flags Flags // the OR over the members
	Wire  int   // payload bytes that this member sends in the message schedule of the call, whatever the transport
}

// A Message is what Send passes to Recv: Meta and Data as sent. Send takes
// the slices over; they must not change afterwards. Keep is held for as long
// as Data is in use, and arrives with the message only where memory is shared.
//
// Done, if it is set, is called where Keep does not arrive, when Data is in use
// no more: within Send, or on another goroutine, or never if it is the end of the
// generation that ends the use; not when Send fails. It must neither block nor
// communicate.
type Message struct {
	Meta []byte
	Data []byte
	Keep any
	Done func()

	pool   *bufferPool // that memory goes back to
	memory []byte      // that holds Meta and Data
	remote *remoteData // where Data is to be read, nil if it is there
}

// An Allocate returns memory of n bytes for the Data of a message. meta is its Meta,
// to be read only, and only until Place returns.
type Allocate func(meta []byte, n int) ([]byte, error)

// allocate returns memory for n bytes of Data, p's or, if p is nil, such as Release
// gives back to a pool.
func (m *Message) allocate(p Allocate, n int) ([]byte, error) {
	if p == nil {
		m.memory = m.pool.get(n)[:n]
		return m.memory, nil
	}
	buffer, err := p(m.Meta, n)
	if err == nil && len(buffer) != n {
		panic(fmt.Sprintf("comm: a place of %d bytes for a message of %d", len(buffer), n))
	}
	return buffer, err
}

// moveTo has Data lie where p wants them, unless p is nil, or Keep has arrived and
// they are to stay where they are.
func (m *Message) moveTo(p Allocate) error {
	if p == nil || m.Keep != nil {
		return nil
	}
	buffer, err := m.allocate(p, len(m.Data))
	if err == nil {
		copy(buffer, m.Data)
		m.Data = buffer
	}
	return err
}

// done notes that Data is in use no more.
func (m *Message) done() {
	if m.Done != nil {
		m.Done()
	}
}

// Release says that the receiver has no more use for Meta and Data, whose memory
// may then be used for other messages. It need not be called.
func (m *Message) Release() {
	m.pool.put(m.memory)
	*m = Message{}
}

// An Unreceived is a message that was sent and never received.
type Unreceived struct {
	Src, Dst int // ranks of the fabric
	Group    string
	Tag      int
	Where    string // of the Send
}

// A Work is an asynchronous call under way.
type Work interface {
	// Wait returns when the call has ended, with its error. ctx ends the
	// waiting, not the call.
	Wait(ctx context.Context) (Result, error)
	// Done reports whether the call has ended.
	Done() bool
}
