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

// A Desc describes one call of a collective. Members compare all of it, except Flags
// and the size of Shape along Free.
type Desc struct {
	Op     string   // as scripts call it: "all_reduce"
	DType  string   // "" if the call takes no tensor
	Shape  []int    // of the member's input; nil if the call takes no tensor
	Free   int      // the axis along which members may differ in size, or -1
	Reduce string   // "sum", "max", ...; "" if nothing is reduced
	Exact  bool     // whether the reduction does not depend on the order of members
	Root   int      // a group rank, or -1
	Dims   [2]int   // dim, or split_dim and concat_dim; -1 where unused
	Pairs  [][2]int // of collective_permute
	Detail string   // more that members must agree on, in words; "" if there is none
	Flags  Flags
}

// A Member is all that a call learns of another member's call, once they agree.
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

	// Hollow says that blocks have lengths and no bytes: all that a call does is
	// done, but for moving them. The members of a call say the same, and share
	// memory.
	Hollow bool

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

	// Reduce is needed by the kinds that reduce.
	Reduce Reducer

	// Fold does the work of Reduce in stretches, which spares bytes between hosts. It may be
	// nil; either all members have one or none.
	Fold *Fold

	// Sent is how many payload bytes each member sends in the message schedule, by its
	// place, where the caller knows that members do not offer blocks as long as its
	// own; else nil. Only Group.Wires asks for it, and only for plans.
	Sent []int

	// InOf returns the blocks of In that a rank offers, where the caller makes the call for
	// several, which offer other bytes, as many; else nil. Only package alike asks for it.
	InOf func(rank int) [][]byte

	// Where returns the source line of the call. It is called only for a
	// report, on any goroutine, while the caller is inside the call; for an
	// asynchronous call, at any time until its Work is done. It must not
	// communicate. If it is nil, the line is that of Endpoint.Where.
	Where func() string
}

// A Sharer makes one result for all members of a call that have theirs alike,
// where they share memory: each reads a part of all blocks offered, and writes it
// once, instead of once for each member. Members that are there first do the
// parts of those that are not. Its methods are called as Op.Prepare is.
type Sharer interface {
	// Least returns how many bytes a result has at least that is worth it: of
	// equal calls the same.
	Least() int
	// Make is called on one member. It returns the blocks for the result, as
	// Prepare does for one member's, and something that stands for it. After an
	// error every member makes a result of its own.
	Make(members []Member, flags Flags) (blocks []Block, result any, err error)
	// Take is called on every member, with the result that Make has made on one.
	// It is not there yet.
	Take(members []Member, flags Flags, result any) error
}

// A Result says what a call did.
type Result struct {
	Flags Flags // the OR over the members
	Wire  int   // payload bytes that this member sends in the message schedule of the call, whatever the transport
	Block int   // bytes of the block that was broadcast or reduced; 0 of other calls
}

// A Message travels from Send to Recv: Meta and Data as sent. Send takes
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

	owner  MemoryOwner // that memory goes back to, nil if nobody wants it
	memory []byte      // that holds Meta and Data
}

// An Allocate returns memory of n bytes for the Data of a message. meta is its Meta,
// to be read only, and only until Allocate returns.
type Allocate func(meta []byte, n int) ([]byte, error)

// A MemoryOwner keeps memory for messages to come.
type MemoryOwner interface {
	// Put takes memory that nobody uses any more.
	Put(memory []byte)
}

// Own says whose the memory is that holds Meta and Data.
func (m *Message) Own(owner MemoryOwner, memory []byte) { m.owner, m.memory = owner, memory }

// Memory returns memory for the n bytes of Data of a message with meta.
func (a Allocate) Memory(meta []byte, n int) ([]byte, error) {
	memory, err := a(meta, n)
	if err == nil && len(memory) != n {
		panic(fmt.Sprintf("comm: memory of %d bytes for a message of %d", len(memory), n))
	}
	return memory, err
}

// MoveTo copies Data to memory that a returns. It leaves them where they are if a is nil, or
// if Keep has arrived, which says that they are still the sender's.
func (m *Message) MoveTo(a Allocate) error {
	if a == nil || m.Keep != nil {
		return nil
	}
	memory, err := a.Memory(m.Meta, len(m.Data))
	if err == nil {
		copy(memory, m.Data)
		m.Data = memory
	}
	return err
}

// Release says that the receiver has no more use for Meta and Data, whose memory
// may then be used for other messages. It need not be called.
func (m *Message) Release() {
	if m.owner != nil {
		m.owner.Put(m.memory)
	}
	*m = Message{}
}

// Finish notes that Data is in use no more.
func (m *Message) Finish() {
	if m.Done != nil {
		m.Done()
	}
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
