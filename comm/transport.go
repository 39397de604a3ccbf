package comm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Transport carries the bytes of a fabric: package inproc has one,
// package process the others. The goroutines that it starts it gives to
// Fabric.Go.
type Transport interface {
	// JoinRank returns the side of the transport that belongs to e.
	JoinRank(e *Endpoint) RankTransport
	// Unreceived returns the messages that were sent and not received, in any
	// order but for those of one queue.
	Unreceived() []Unreceived
	// Notice is Fabric.Notice.
	Notice(after time.Duration, fn func(line string))
}

// A RankTransport is one rank's side of a transport.
type RankTransport interface {
	// JoinGroup returns the rank's side of g. It is called once for each Group, and
	// only by members.
	JoinGroup(g *Group) GroupTransport
	// End, Idle and Resume are the methods of Endpoint of these names.
	End(cause error)
	Idle()
	Resume()
}

// A GroupTransport is a member's side of a group on one transport. The arguments of its
// methods have been checked. One goroutine at a time calls them.
type GroupTransport interface {
	Run(ctx context.Context, op *Op) (Result, error)
	Issue(op *Op) Work
	Send(dst, tag int, m Message, where string) error
	Recv(ctx context.Context, src, tag int, where func() string, allocate Allocate) (Message, error)
}

// ErrClosed ends calls under way when a fabric is closed.
var ErrClosed = errors.New("the fabric is closed")

// NewFabric returns a fabric of size ranks, to which a transport is attached
// before it is used. It panics unless size is positive.
func NewFabric(size int) *Fabric {
	if size < 1 {
		panic(fmt.Sprintf("comm: a fabric of %d ranks", size))
	}
	f := &Fabric{all: sync.OnceValue(func() []int { return FirstRanks(size) })}
	f.ctx, f.cancel = context.WithCancelCause(context.Background())
	return f
}

// Attach connects f to t, on which it has size ranks.
func (f *Fabric) Attach(t Transport, size int) {
	f.transport, f.endpoints = t, make([]*Endpoint, size)
	for r := range size {
		f.endpoints[r] = f.newEndpoint(r)
	}
}

// AttachRank connects f to t, on which it has one rank of size.
func (f *Fabric) AttachRank(t Transport, rank, size int) {
	f.transport, f.endpoints = t, make([]*Endpoint, size)
	f.endpoints[rank] = f.newEndpoint(rank)
}

// AttachAll makes the endpoints of f those of fabrics that each have one rank
// attached: fabrics[r] has rank r.
func (f *Fabric) AttachAll(t Transport, fabrics []*Fabric) {
	f.transport, f.endpoints = t, make([]*Endpoint, len(fabrics))
	for r := range fabrics {
		f.endpoints[r] = fabrics[r].Endpoint(r)
	}
}

// Transport returns the transport of f.
func (f *Fabric) Transport() Transport { return f.transport }

// Context returns a context that ends when f is closed or aborted, with
// ErrClosed for its cause.
func (f *Fabric) Context() context.Context { return f.ctx }

// Go runs a task of f, for which Close waits. It ends when Context does.
func (f *Fabric) Go(task func()) { f.tasks.Go(task) }

// Abort fails every call that is under way, and does not wait for that.
func (f *Fabric) Abort() { f.cancel(ErrClosed) }

// Transport returns the member's side of g on the transport, nil outside.
func (g *Group) Transport() GroupTransport { return g.transport }

// Endpoint returns the endpoint from which g is seen.
func (g *Group) Endpoint() *Endpoint { return g.endpoint }

// Key returns a text that tells g from all other groups, on every rank alike.
func (g *Group) Key() string { return g.key }

// Members is Ranks, but to be read only.
func (g *Group) Members() []int { return g.ranks }

// SourceLine returns the line that fn tells, or if fn is nil that of e.
func (e *Endpoint) SourceLine(fn func() string) string {
	if fn == nil {
		e.mu.Lock()
		fn = e.where
		e.mu.Unlock()
	}
	if fn == nil {
		return ""
	}
	return fn()
}

// HasFailed reports whether a call of this rank has told it that another has
// failed.
func (e *Endpoint) HasFailed(rank int) bool { return slices.Contains(e.failed, rank) }
