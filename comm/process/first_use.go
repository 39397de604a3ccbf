package process

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"tpsh/comm/bootstrap"
	"tpsh/comm/wire"
)

// A firstUseWriter sends to a rank with which there is no connection until one of the two
// sends something.
type firstUseWriter struct {
	links *Links
	peer  int
	out   atomic.Pointer[messageWriter] // nil until there is a connection
	dial  sync.Once
	over  chan struct{} // closed when there is a connection, or will be none
	ends  sync.Once     // closes over
}

// Send waits for the connection if there is none.
func (w *firstUseWriter) Send(f wire.Frame, head, body []byte) {
	if out := w.connected(); out != nil {
		(*out).Send(f, head, body)
	}
}

// Stop also ends all waiting for a connection.
func (w *firstUseWriter) Stop() {
	w.end()
	if out := w.out.Load(); out != nil {
		(*out).Stop()
	}
}

// end ends the waiting for a connection.
func (w *firstUseWriter) end() { w.ends.Do(func() { close(w.over) }) }

// connected returns the writer of the connection, which it makes if need be: nil if there
// will be none.
func (w *firstUseWriter) connected() *messageWriter {
	if out := w.out.Load(); out != nil {
		return out
	}
	w.prepare()
	select {
	case <-w.over:
	case <-w.links.ctx.Done():
	}
	return w.out.Load()
}

// prepare begins to connect.
func (w *firstUseWriter) prepare() { w.dial.Do(func() { w.links.spawn(w.reach) }) }

// dialsAhead is how many connections a rank makes at a time that sends to many.
const dialsAhead = 16

// prepare begins to connect to a rank to which something will be sent soon.
func (wr *wireRank) prepare(rank int) {
	if w, ok := wr.writers[rank].(*firstUseWriter); ok && w.out.Load() == nil {
		w.prepare()
	}
}

// reach dials the rank, unless that has.
func (w *firstUseWriter) reach() {
	conn, err := w.links.partners.Dial(w.links.ctx, w.peer)
	if conn != nil || err != nil {
		w.links.meet(w.peer, conn, err)
	}
}

// spawn has a task run, unless l is closed.
func (l *Links) spawn(task func()) {
	l.connecting.Lock()
	defer l.connecting.Unlock()
	if l.ctx.Err() == nil {
		l.tasks.Go(task)
	}
}

// A beater is a messageWriter that sends a heartbeat without waiting, or none if messages
// are under way, which are as good.
type beater interface{ Beat() }

// beat has out carry heartbeats: all beaters on one thread, and others on one each, since they
// may wait for their streams.
func (l *Links) beat(p *bootstrap.Heartbeat, out messageWriter) {
	b, ok := out.(beater)
	if !ok {
		l.tasks.Go(func() { writeHeartbeats(l.ctx, p, out) })
		return
	}
	l.mu.Lock()
	l.beaters = append(l.beaters, b)
	l.mu.Unlock()
	l.beating.Do(func() {
		l.tasks.Go(func() { p.Beat(l.ctx, l.beatAll) })
	})
}

// beatAll sends a heartbeat on all connections.
func (l *Links) beatAll() {
	l.mu.Lock()
	all := l.beaters
	l.mu.Unlock()
	for _, b := range all {
		b.Beat()
	}
}

// expect makes ready for the ranks with which there will be connections.
func (l *Links) expect(o *LinkOptions) {
	l.partners, l.heartbeat = o.Partners, o.heartbeat()
	l.onFirstUse = make([]*firstUseWriter, l.size)
	for peer := range l.size {
		if peer == l.rank || l.writers[peer] != nil {
			continue
		}
		w := &firstUseWriter{links: l, peer: peer, over: make(chan struct{})}
		l.onFirstUse[peer], l.writers[peer] = w, w
		l.expectConn(peer)
	}
}

// meet uses a connection with a rank, or notes why there is none.
func (l *Links) meet(peer int, conn net.Conn, err error) {
	w := l.onFirstUse[peer]
	if w == nil && conn != nil { // it is reached otherwise
		conn.Close()
	}
	if w == nil {
		return
	}
	l.connecting.Lock()
	defer l.connecting.Unlock()
	defer w.end()
	if closed := l.ctx.Err() != nil; closed || err != nil {
		if conn != nil {
			err = errors.Join(err, conn.Close())
		}
		if !closed {
			l.lose(peer, err)
		}
		return
	}
	out, err := l.attach(peer, conn, l.heartbeat)
	if err != nil {
		l.lose(peer, err)
		return
	}
	w.out.Store(&out)
}
