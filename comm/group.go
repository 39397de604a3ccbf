package comm

import (
	"context"
	"fmt"
	"slices"

	"tpsh/comm/schedule"
)

// The operations of Send and Recv as scripts call them.
const (
	SendName = "send"
	RecvName = "recv"
)

// A Group is an ordered list of ranks, seen from one Endpoint. The n-th
// collective of a member meets the n-th collective of every other member.
type Group struct {
	endpoint  *Endpoint
	ranks     []int
	rank      int // in the group, -1 outside
	key       string
	name      string
	transport GroupTransport // nil outside
	calls     uint64
	asked     func() // is called when the place is asked for; nil for nothing
}

// Rank returns the place of the endpoint's rank in the group, or -1 if it is
// no member.
func (g *Group) Rank() int {
	if g.asked != nil {
		g.asked()
	}
	return g.rank
}

// Place is Rank for uses on which no size and no decision hangs.
func (g *Group) Place() int { return g.rank }

// Holds reports whether the endpoint's rank is a member.
func (g *Group) Holds() bool { return g.rank >= 0 }

// OnRank has fn called whenever Rank is: where a rank stands for others that do the same, its
// place is what they do not have alike.
func (g *Group) OnRank(fn func()) { g.asked = fn }

// Size returns the number of members.
func (g *Group) Size() int { return len(g.ranks) }

// Ranks returns the members' ranks in the order of the group.
func (g *Group) Ranks() []int { return slices.Clone(g.ranks) }

// Calls returns how many collectives this member has called.
func (g *Group) Calls() uint64 { return g.calls }

// String returns "world" for all ranks in their order, and otherwise
// something like "group [0, 2]", with the instance if it has one.
func (g *Group) String() string { return g.name }

// Run carries out a collective and returns when it has ended here: when every
// member has called it, their calls agree and this member has its result.
//
// The error is a *MismatchError if the calls do not agree, a *DeadlockError if
// a member waited in this call for ever, a *PeerError if a member failed
// before it called, or that of op.Prepare. After all of these the call counts
// as made. When ctx ends while a member is missing, Run returns its cause; the
// call then goes on without this member's results, and the blocks of op stay
// in use.
//
// Neither op nor the slices and functions in it may ever change afterwards;
// the bytes of op.In may, when Run has returned.
func (g *Group) Run(ctx context.Context, op *Op) (Result, error) {
	if g.transport == nil {
		return Result{}, g.outside(op.Desc.Op)
	}
	g.calls++
	result, err := g.transport.Run(ctx, op)
	for g.endpoint.leavesOut(err) {
		g.calls++
		result, err = g.transport.Run(ctx, op)
	}
	if err != nil {
		g.endpoint.observe(err, g.ranks)
	} else {
		g.endpoint.met(g.ranks)
	}
	return result, err
}

// Sends returns how many payload bytes the caller of op, which has ended with res,
// sends to each member in the message schedule of the call: res.Wire is their sum.
func (g *Group) Sends(op *Op, res Result) []int {
	s := schedule.Position{Rank: g.rank, Size: len(g.ranks), Root: op.Desc.Root, Pairs: op.Desc.Pairs}
	return schedule.Sends(op.Kind, s, op.In, res.Block, op.Align)
}

// Wires returns how many payload bytes the member at a place sends in the message schedule of op,
// which has ended with res, as if it offered blocks as long as the caller's; nil if all of them
// send as many.
func (g *Group) Wires(op *Op, res Result) func(place int) int {
	kind, in, align := op.Kind, op.In, op.Align // without the rest of op
	s := schedule.Position{Size: len(g.ranks), Root: op.Desc.Root, Pairs: op.Desc.Pairs}
	sent := func(place int) int {
		s := s
		s.Rank = place
		return schedule.WireBytes(kind, s, in, res.Block, align)
	}
	if len(in) > 1 { // a number takes less room than a block
		list := make([]int, len(g.ranks))
		for place := range list {
			list[place] = sent(place)
		}
		sent = func(place int) int { return list[place] }
	}
	for place := range g.ranks {
		if sent(place) != sent(0) {
			return sent
		}
	}
	return nil
}

// Issue calls a collective as Run does, but returns at once. The call goes on
// by itself, with or without a Wait.
func (g *Group) Issue(op *Op) Work {
	if g.transport == nil {
		return failedWork{g.outside(op.Desc.Op)}
	}
	g.calls++
	return g.transport.Issue(op)
}

// Send gives m to the member dst and never waits for it. Receives
// of this source, tag and group get messages in the order sent; where is
// the line that Unreceived names. It fails if dst has failed, or a member of
// whose failure a call of this rank has told before.
func (g *Group) Send(dst, tag int, m Message, where string) error {
	if err := g.checkPeer(SendName, "dst", dst); err != nil {
		return err
	}
	err := g.transport.Send(dst, tag, m, where)
	if err != nil {
		g.endpoint.observe(err, nil)
	}
	return err
}

// Recv returns the first message that the member src has sent here with tag
// and that was not received before, when there is one. The error is a
// *DeadlockError if there can never be one, a *PeerError if there is none and
// a member of the group has failed, or the cause of ctx. where tells the line
// of the call, as Op.Where does.
func (g *Group) Recv(ctx context.Context, src, tag int, where func() string) (Message, error) {
	return g.RecvInto(ctx, src, tag, where, nil)
}

// RecvInto is Recv of a message whose Data are put into the memory that allocate returns.
// allocate is called once, when Meta is there, perhaps on another goroutine. It is not
// called where memory is shared and Keep arrives: Data then stay where the sender has them.
//
// An error of allocate is that of RecvInto, and the message counts as received. After any
// other error nobody uses the memory that allocate has returned, whatever it holds, with one
// exception: a stream.PollStream whose other end has stopped within a block may still write
// to it.
func (g *Group) RecvInto(ctx context.Context, src, tag int, where func() string, allocate Allocate) (Message, error) {
	if err := g.checkPeer(RecvName, "src", src); err != nil {
		return Message{}, err
	}
	m, err := g.transport.Recv(ctx, src, tag, where, allocate)
	if err != nil {
		g.endpoint.observe(err, nil)
	}
	return m, err
}

// checkPeer checks the peer of a Send or Recv.
func (g *Group) checkPeer(function, name string, peer int) error {
	if g.transport == nil {
		return g.outside(function)
	}
	if peer < 0 || peer >= len(g.ranks) {
		return &ArgError{function, name, fmt.Sprint(peer),
			fmt.Sprintf("0..%d (%s has %d members)", len(g.ranks)-1, g.name, len(g.ranks))}
	}
	return nil
}

// outside is the error of a call on a group that does not hold the caller.
func (g *Group) outside(function string) error {
	return &ArgError{function, "group", g.name, fmt.Sprintf("a group with rank %d in it", g.endpoint.rank)}
}

// failedWork is the Work of a call that could not be issued.
type failedWork struct{ err error }

func (w failedWork) Wait(context.Context) (Result, error) { return Result{}, w.err }
func (w failedWork) Done() bool                           { return true }

// RecvText writes a receive as a script would.
func RecvText(src, tag int) string { return fmt.Sprintf("recv(src=%d, tag=%d)", src, tag) }
