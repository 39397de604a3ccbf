package comm

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// inproc is the transport of ranks that share memory: they meet in rooms, and
// read and write each other's blocks in place.
type inproc struct {
	fabric   *Fabric
	size     int
	patience patience
	monitor  *monitor
	boxes    []mailbox // by rank
}

// NewInproc returns a Fabric for size goroutines of this process, which read
// each other's memory. It panics unless size is positive.
func NewInproc(size int) *Fabric {
	f := newFabric(size)
	t := &inproc{
		fabric:   f,
		size:     size,
		patience: patienceFor(size),
		boxes:    make([]mailbox, size),
	}
	t.monitor = newMonitor(t)
	f.attach(t, size)
	return f
}

func (t *inproc) port(e *Endpoint) port { return &inprocPort{t, e} }

func (t *inproc) unreceived() []Unreceived {
	var all []Unreceived
	for i := range t.boxes {
		all = append(all, t.boxes[i].unreceived()...)
	}
	return all
}

func (t *inproc) notice(after time.Duration, fn func(string)) { t.monitor.notice(after, fn) }

// An inprocPort is a rank's side of an inproc.
type inprocPort struct {
	transport *inproc
	endpoint  *Endpoint
}

func (p *inprocPort) join(g *Group) line { return p.transport.monitor.room(g).join(p.endpoint, g.rank) }

func (p *inprocPort) end(cause error) { p.transport.monitor.end(p.endpoint.rank, cause) }

// A room is where the members of a group meet.
type room struct {
	transport *inproc
	id        uint64
	name      string
	ranks     []int
	attendees []attendee  // by group rank
	failing   atomic.Bool // whether a member has failed
}

// newRoom returns a room for the members of g.
func newRoom(t *inproc, id uint64, g *Group) *room {
	r := &room{transport: t, id: id, name: g.name, ranks: g.ranks}
	r.attendees = make([]attendee, len(g.ranks))
	first := newMeeting(len(g.ranks))
	for i := range r.attendees {
		a := &r.attendees[i]
		a.room, a.rank, a.next = r, i, first
		a.scheduler.rank, a.scheduler.size = i, len(g.ranks)
	}
	return r
}

// markFailing notes that a rank has failed.
func (r *room) markFailing(rank int) {
	if slices.Contains(r.ranks, rank) {
		r.failing.Store(true)
	}
}

// join returns the attendee of the member with the given group rank.
func (r *room) join(e *Endpoint, rank int) *attendee {
	a := &r.attendees[rank]
	a.endpoint = e
	return a
}

// An attendee is one member's place in a room.
type attendee struct {
	room      *room
	rank      int // in the group
	endpoint  *Endpoint
	next      *meeting // that of this member's next call
	scheduler scheduler
	scratch   scratch  // of the member's own goroutine
	_         [64]byte // no two attendees share a cache line
}

// arrive makes op this member's part in its next meeting.
func (a *attendee) arrive(op *Op) *meeting {
	m := a.next
	m.arrive(a.rank, op)
	if !m.takesPlace() {
		m.after() // who waits has time to make the next
	}
	return m
}

func (a *attendee) run(ctx context.Context, op *Op) (Result, error) {
	m := a.arrive(op)
	defer func() { a.next = m.after() }() // by now most likely there
	if !a.room.transport.patience.linger(m.takesPlace) {
		w := a.waiter(op, m)
		w.program = true
		if err := a.await(ctx, w); err != nil {
			return Result{}, err
		}
	}
	return a.finish(m, op, &a.scratch, true)
}

func (a *attendee) issue(op *Op) Work {
	m := a.arrive(op)
	a.next = m.after()
	if m.takesPlace() {
		m.wake()
	} else if m.arrived.bell.Load() != nil { // others wait, and for fewer now
		a.room.transport.monitor.recheck()
	}
	w := newWork(a.endpoint, func(ctx context.Context, done <-chan struct{}) error {
		return a.block(ctx, m, op, done)
	})
	a.room.transport.fabric.tasks.Go(func() {
		if err := a.await(context.Background(), a.waiter(op, m)); err != nil {
			w.end(Result{}, err)
		} else {
			w.end(a.finish(m, op, &scratch{}, true))
		}
	})
	return w
}

// text writes a call on the room as a script would.
func (a *attendee) text(op *Op) string { return callText(&op.Desc, op.Kind) + in(a.room.name) }

// await waits until every member has arrived at w's meeting, or it is clear
// that one never will. When ctx ends it lets the call go on by itself.
func (a *attendee) await(ctx context.Context, w *waiter) error {
	if w.meeting.takesPlace() {
		return nil
	}
	monitor := a.room.transport.monitor
	opened := w.meeting.arrived.knock() // before block, for issue to see it
	monitor.block(w)
	for ; ; opened = w.meeting.arrived.knock() {
		if over, err := monitor.outcome(w); over {
			monitor.unblock(w)
			return err
		}
		select {
		case <-opened:
		case <-w.wake:
		case <-ctx.Done():
			a.abandon(w)
			return context.Cause(ctx)
		case <-a.room.transport.fabric.ctx.Done():
			monitor.unblock(w)
			return errClosed
		}
	}
}

// abandon lets a call go on whose caller has gone: the others may still need
// its blocks, and its part of the work.
func (a *attendee) abandon(w *waiter) {
	op := a.room.transport.monitor.detach(w, a.rank)
	a.room.transport.fabric.tasks.Go(func() {
		rest := a.waiter(op, w.meeting)
		if a.await(context.Background(), rest) == nil {
			a.finish(w.meeting, op, &scratch{}, false)
		}
	})
}

// recv returns the first message from src with tag.
func (a *attendee) recv(ctx context.Context, src, tag int, where func() string, place Place) (Message, error) {
	t := a.room.transport
	box, key := &t.boxes[a.endpoint.rank], mailKey{a.room.id, src, tag}
	m, ok := box.linger(key, t.patience)
	if !ok {
		if err := a.awaitMessage(ctx, a.receiver(src, key, where)); err != nil {
			return Message{}, err
		}
		m, _ = box.take(key)
	}
	return m, m.move(place)
}

// awaitMessage waits until the message of w is there. It leaves the message:
// while the monitor knows of w, what w waits for stays in sight.
func (a *attendee) awaitMessage(ctx context.Context, w *waiter) error {
	t := a.room.transport
	box := &t.boxes[w.rank]
	box.await(w)
	defer box.await(nil)
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
		case <-t.fabric.ctx.Done():
			return errClosed
		}
	}
}

func (a *attendee) send(dst, tag int, m Message, where string) error {
	t := a.room.transport
	if a.room.failing.Load() {
		if err := t.monitor.sendError(a, dst); err != nil {
			return err
		}
	}
	to := a.room.ranks[dst]
	t.boxes[to].put(mailKey{a.room.id, a.rank, tag}, letter{m, where, a.room.name, a.endpoint.rank, to})
	return nil
}

// block waits for the call of meeting m as the rank itself does, until done is
// closed.
func (a *attendee) block(ctx context.Context, m *meeting, op *Op, done <-chan struct{}) error {
	w := a.waiter(op, m)
	w.program = true
	monitor := a.room.transport.monitor
	monitor.block(w)
	defer monitor.unblock(w)
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
