package inproc

import (
	"context"
	goruntime "runtime"
	"slices"
	"sync/atomic"
	"time"

	"tpsh/comm"
	"tpsh/comm/mailbox"
	"tpsh/comm/schedule"
)

// inproc is the transport of ranks that share memory: they meet in groups, and
// read and write each other's blocks in place.
type inproc struct {
	fabric *comm.Fabric
	size   int
	spin   spinPolicy

	// mostLooked is how many members a group may have in which each looks at the calls
	// of all others.
	mostLooked int

	monitor *monitor
	boxes   []mailbox.Box // by rank
}

// New returns a Fabric for size goroutines of this process, which read
// each other's memory. It panics unless size is positive.
func New(size int) *comm.Fabric {
	return newFabric(size, usuallyLooked)
}

// newFabric is New for groups in which members look at so many calls.
func newFabric(size, mostLooked int) *comm.Fabric {
	f := comm.NewFabric(size)
	t := &inproc{
		fabric:     f,
		size:       size,
		spin:       spinPolicyFor(size),
		mostLooked: mostLooked,
		boxes:      make([]mailbox.Box, size),
	}
	t.monitor = newMonitor(t)
	f.Attach(t, size)
	return f
}

func (t *inproc) JoinRank(e *comm.Endpoint) comm.RankTransport { return &inprocRank{t, e} }

func (t *inproc) Unreceived() []comm.Unreceived {
	var all []comm.Unreceived
	for i := range t.boxes {
		all = append(all, t.boxes[i].Unreceived()...)
	}
	return all
}

func (t *inproc) Notice(after time.Duration, fn func(string)) { t.monitor.notice(after, fn) }

// An inprocRank is a rank's side of an inproc.
type inprocRank struct {
	transport *inproc
	endpoint  *comm.Endpoint
}

func (p *inprocRank) JoinGroup(g *comm.Group) comm.GroupTransport {
	return p.transport.monitor.groupOf(g).memberOf(p.endpoint, g.Rank())
}

func (p *inprocRank) End(cause error) { p.transport.monitor.end(p.endpoint.Rank(), cause) }

// A groupState is where the members of a group meet.
type groupState struct {
	transport *inproc
	id        uint64
	name      string
	ranks     []int
	members   []inprocGroup      // by group rank
	failing   atomic.Bool        // whether a member has failed
	scheduler schedule.Scheduler // of what any member may do for all
}

// newGroupState returns where the members of g meet.
func newGroupState(t *inproc, id uint64, g *comm.Group) *groupState {
	s := &groupState{transport: t, id: id, name: g.String(), ranks: g.Members()}
	s.members = make([]inprocGroup, g.Size())
	s.scheduler.Size = g.Size()
	first := newRound(g.Size(), g.Size() > t.mostLooked)
	for i := range s.members {
		m := &s.members[i]
		m.state, m.rank, m.next = s, i, first
		m.scheduler.Rank, m.scheduler.Size = i, g.Size()
	}
	return s
}

// markFailing notes that a rank has failed.
func (s *groupState) markFailing(rank int) {
	if slices.Contains(s.ranks, rank) {
		s.failing.Store(true)
	}
}

// memberOf returns the side of the member with the given group rank, whose endpoint is e.
func (s *groupState) memberOf(e *comm.Endpoint, rank int) *inprocGroup {
	g := &s.members[rank]
	g.endpoint = e
	return g
}

// An inprocGroup is one member's place in a group.
type inprocGroup struct {
	state     *groupState
	rank      int // in the group
	endpoint  *comm.Endpoint
	next      *round // that of this member's next call
	scheduler schedule.Scheduler
	scratch   schedule.Scratch // of the member's own goroutine
	_         [64]byte         // no two members share a cache line
}

// arrive makes op this member's part in its next round. issued says that it does
// not wait there.
func (g *inprocGroup) arrive(op *comm.Op, issued bool) *round {
	rd := g.next
	for rd.hasLeftOut(g.rank) {
		rd = rd.after()
	}
	if issued {
		rd.issued.Store(true)
	}
	rd.arrive(g.rank, op)
	if !rd.takesPlace() {
		rd.after() // a rank that waits has time to make the next
	}
	return rd
}

func (g *inprocGroup) Run(ctx context.Context, op *comm.Op) (comm.Result, error) {
	rd := g.arrive(op, false)
	defer func() { g.next = rd.after() }() // by now most likely there
	if !g.state.transport.spin.spinUntil(rd.takesPlace) {
		w := g.newWait(op, rd)
		w.program = true
		if err := g.awaitRound(ctx, w); err != nil {
			return comm.Result{}, err
		}
	}
	return g.finish(rd, op, &g.scratch, true)
}

func (g *inprocGroup) Issue(op *comm.Op) comm.Work {
	rd := g.arrive(op, true)
	g.next = rd.after()
	if rd.takesPlace() {
		rd.wake()
	} else if rd.arrived.sleepers.Load() != nil { // others wait, and for fewer now
		g.state.transport.monitor.recheck()
	}
	w := comm.NewWork(g.endpoint, func(ctx context.Context, done <-chan struct{}) error {
		return g.block(ctx, rd, op, done)
	})
	g.state.transport.fabric.Go(func() {
		if err := g.awaitRound(context.Background(), g.newWait(op, rd)); err != nil {
			w.End(comm.Result{}, err)
		} else {
			w.End(g.finish(rd, op, &schedule.Scratch{}, true))
		}
	})
	return w
}

// text writes a call on the group as a script would.
func (g *inprocGroup) text(op *comm.Op) string {
	return comm.CallText(&op.Desc, op.Kind) + comm.InGroup(g.state.name)
}

// awaitRound waits until every member has arrived at w's round, or it is clear
// that one never will. When ctx ends it lets the call go on by itself.
func (g *inprocGroup) awaitRound(ctx context.Context, w *inprocWait) error {
	if w.round.takesPlace() {
		return nil
	}
	monitor := g.state.transport.monitor
	opened := w.round.arrived.subscribe() // before block, for issue to see it
	monitor.block(w)
	for ; ; opened = w.round.arrived.subscribe() {
		if over, err := monitor.outcome(w); over {
			monitor.unblock(w)
			return err
		}
		select {
		case <-opened:
		case <-w.wake:
		case <-ctx.Done():
			g.abandon(w)
			return context.Cause(ctx)
		case <-g.state.transport.fabric.Context().Done():
			monitor.unblock(w)
			return comm.ErrClosed
		}
	}
}

// abandon lets a call go on whose caller has gone: the others may still need
// its blocks, and its part of the work.
func (g *inprocGroup) abandon(w *inprocWait) {
	op := g.state.transport.monitor.detach(w, g.rank)
	g.state.transport.fabric.Go(func() {
		rest := g.newWait(op, w.round)
		if g.awaitRound(context.Background(), rest) == nil {
			g.finish(w.round, op, &schedule.Scratch{}, false)
		}
	})
}

// Recv returns the first message from src with tag.
func (g *inprocGroup) Recv(ctx context.Context, src, tag int, where func() string, allocate comm.Allocate) (comm.Message, error) {
	t := g.state.transport
	box, key := &t.boxes[g.endpoint.Rank()], mailbox.Key{Group: g.state.id, Src: src, Tag: tag}
	e, ok := spinForMessage(box, key, t.spin)
	if !ok {
		if err := g.awaitMessage(ctx, g.recvWait(src, key, where)); err != nil {
			return comm.Message{}, err
		}
		e, _ = box.TakeMessage(key)
	}
	m := e.Message
	return m, m.MoveTo(allocate)
}

// awaitMessage waits until the message of w is there. It leaves the message:
// while the monitor knows of w, the message that w waits for stays in sight.
func (g *inprocGroup) awaitMessage(ctx context.Context, w *inprocWait) error {
	t := g.state.transport
	box := &t.boxes[w.rank]
	box.WakeFor(w.key, w.signal)
	defer box.WakeFor(mailbox.Key{}, nil)
	t.monitor.block(w)
	defer t.monitor.unblock(w)
	for {
		if over, err := t.monitor.outcome(w); over {
			return err
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.fabric.Context().Done():
			return comm.ErrClosed
		}
	}
}

func (g *inprocGroup) Send(dst, tag int, m comm.Message, where string) error {
	t := g.state.transport
	if g.state.failing.Load() {
		if err := t.monitor.sendError(g, dst); err != nil {
			return err
		}
	}
	to := g.state.ranks[dst]
	t.boxes[to].Put(mailbox.Key{Group: g.state.id, Src: g.rank, Tag: tag}, mailbox.Envelope{Message: m, Where: where, Group: g.state.name, Src: g.endpoint.Rank(), Dst: to})
	return nil
}

// block waits for the call of a round as the rank itself does, until done is
// closed.
func (g *inprocGroup) block(ctx context.Context, rd *round, op *comm.Op, done <-chan struct{}) error {
	w := g.newWait(op, rd)
	w.program = true
	monitor := g.state.transport.monitor
	monitor.block(w)
	defer monitor.unblock(w)
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// spinForMessage waits for a moment for a message, and removes it if there is one.
func spinForMessage(b *mailbox.Box, key mailbox.Key, p spinPolicy) (mailbox.Envelope, bool) {
	for range p.messages + 1 {
		if e, ok := b.TakeMessage(key); ok {
			return e, true
		}
		goruntime.Gosched()
	}
	return mailbox.Envelope{}, false
}

func (p *inprocRank) Idle() { p.transport.monitor.setIdle(p.endpoint.Rank(), true) }

func (p *inprocRank) Resume() { p.transport.monitor.setIdle(p.endpoint.Rank(), false) }
