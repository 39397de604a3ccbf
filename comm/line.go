package comm

import (
	"context"
	"fmt"
	"hash/fnv"
	goruntime "runtime"
	"slices"
	"sync"
)

// A wireLine is a member's side of a group on frames. On the wire a group is
// known by a hash of its key.
type wireLine struct {
	station   *station
	endpoint  *Endpoint
	hash      uint64 // of the group's ranks and instance
	name      string
	ranks     []int
	others    []int // the ranks of the other members
	rank      int   // in the group
	scheduler scheduler
	calls     uint64         // collectives that were called; guarded by station.mu
	local     bool           // whether all members share memory
	carrier   Carrier        // of its collectives, nil if there is none
	left      sync.WaitGroup // calls that go on without their callers
	scratch   announcement
	idle      *messageCall // to be used again, nil if there is none
}

func (st *station) join(g *Group) line {
	h := fnv.New64a()
	h.Write([]byte(g.key))
	l := &wireLine{
		station:   st,
		endpoint:  g.endpoint,
		hash:      h.Sum64(),
		name:      g.name,
		ranks:     g.ranks,
		others:    slices.DeleteFunc(slices.Clone(g.ranks), func(r int) bool { return r == st.rank }),
		rank:      g.rank,
		scheduler: scheduler{rank: g.rank, size: len(g.ranks)},
		local:     st.shared.reaches(g.ranks),
		carrier:   st.carrierOf(g.ranks),
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.lines[l.hash] != nil {
		panic("comm: two groups have one hash")
	}
	st.lines[l.hash] = l
	return l
}

func (l *wireLine) run(ctx context.Context, op *Op) (Result, error) {
	c := l.start(op, true)
	var err error
	if !c.linger() {
		w := c.watcher()
		w.program = true
		err = l.station.await(ctx, w)
		if w.left {
			c.abandon()
			return Result{}, err
		}
	}
	c.again = true // nobody else knows of it
	result, err := c.finish(err, true)
	c.reset() // so that nothing stays in memory for it
	l.idle = c
	return result, err
}

func (l *wireLine) issue(op *Op) Work {
	c := l.start(op, false)
	w := newWork(l.endpoint, c.block)
	l.station.fabric.tasks.Go(func() {
		err := l.station.await(context.Background(), c.watcher())
		w.end(c.finish(err, true))
		l.station.wakeFor(c.key)
	})
	return w
}

func (l *wireLine) send(dst, tag int, m Message, where string) error {
	st, to := l.station, l.ranks[dst]
	st.mu.Lock()
	err := st.failedMember(l.ranks, sendName, func(f lasting) bool {
		return f.rank == to || f.rank == st.rank || slices.Contains(l.endpoint.failed, f.rank)
	})
	st.mu.Unlock()
	if err != nil {
		return err
	}
	sent := &letter{message: m, where: where, group: l.name}
	if to == st.rank {
		sent.src, sent.dst = to, to
		st.box.put(mailKey{l.hash, to, tag}, *sent)
		return nil
	}
	st.sent[to]++
	f, head := frame{typ: frameMessage, group: l.hash, tag: tag}, l.scratch.letterHead(sent)
	if !st.lend(to, f, head, m) {
		st.writeParts(to, f, head, m.Data)
		goruntime.KeepAlive(m.Keep)
		m.done()
	}
	return nil
}

func (l *wireLine) recv(ctx context.Context, src, tag int, where func() string, place Place) (Message, error) {
	st := l.station
	if st.shared != nil {
		st.shared.try()
	}
	key := mailKey{l.hash, l.ranks[src], tag}
	st.expectMessage(key, place)
	m, ok := st.lingerFor(key)
	if !ok {
		if err := st.await(ctx, l.receiver(key, where)); err != nil {
			st.abandonMessage()
			return Message{}, err
		}
		m, _ = st.box.take(key)
	}
	var err error
	if b := st.box.expected(); b.asked {
		err = b.err // Data are there
	} else if m.lent != nil {
		err = l.borrow(ctx, &m, place)
	} else {
		err = m.move(place)
	}
	if err != nil {
		m.Release()
		return Message{}, err
	}
	return m, nil
}

// receiver returns a watcher for a message.
func (l *wireLine) receiver(key mailKey, where func() string) *watcher {
	st := l.station
	w := &watcher{program: true, all: l.ranks}
	w.missing = func() []int { return []int{key.src} }
	w.place = func() place {
		src := slices.Index(l.ranks, key.src)
		return place{recvName, recvText(src, key.tag) + in(l.name), l.endpoint.place(where)}
	}
	w.over = func() (bool, error) {
		if w.verdict != nil {
			return true, w.verdict
		}
		if st.box.has(key) && !w.held {
			return true, nil
		}
		err := st.failedMember(l.ranks, recvName, anyFailure)
		return err != nil, err
	}
	return w
}

// borrow reads the Data of m, which are lent. If they cannot be read, their owner
// is as good as dead: it returns the failure that this makes of a member.
func (l *wireLine) borrow(ctx context.Context, m *Message, p Place) error {
	lent := m.lent
	defer lent.giveBack()
	room, err := m.room(p, lent.length)
	if err != nil {
		return err
	}
	if err := lent.read(room); err != nil {
		l.station.forsake(lent.from, fmt.Errorf("its memory cannot be read: %w", err))
		return l.station.await(ctx, l.mourner())
	}
	m.Data, m.lent = room, nil
	return nil
}

// mourner returns a watcher for the failure of a member.
func (l *wireLine) mourner() *watcher {
	w := &watcher{own: true, all: l.ranks}
	w.over = func() (bool, error) {
		err := l.station.failedMember(l.ranks, recvName, anyFailure)
		return err != nil, err
	}
	return w
}

func anyFailure(lasting) bool { return true }
