package bootstrap

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// assembled returns what so many ranks have after they have met.
func assembled(t *testing.T, c *Credentials, size int) []*Connections {
	t.Helper()
	l, err := c.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	all := make([]*Connections, size)
	var ranks sync.WaitGroup
	for r := range all {
		ranks.Go(func() {
			m, err := Meet(t.Context(), c, l.Addr().String(), r, size)
			if err != nil {
				t.Error(err)
				return
			}
			all[r] = m
			t.Cleanup(func() { m.Close() })
		})
	}
	conns, err := Rendezvous(t.Context(), l, size, nil)
	ranks.Wait()
	if err != nil || t.Failed() {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range conns {
			c.Close()
		}
	})
	return all
}

// Ranks that have gone before all had come, those of a start before, are nobody: others that
// come in their place are taken in, and only of two that stay the second is refused.
func TestRanksOfAStartBefore(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it is not told here that another end has gone")
	}
	for _, c := range []*Credentials{{Job: "again", Token: []byte("secret")}, {Job: "again", Token: []byte("secret"), TLS: true}} {
		l, err := c.Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var ranks sync.WaitGroup
		defer ranks.Wait()
		come := func() (a arrival, leave func()) {
			ctx, cancel := context.WithCancel(t.Context())
			ranks.Go(func() {
				if m, err := Meet(ctx, c, l.Addr().String(), 0, 2); err == nil {
					m.Close()
				}
			})
			a, err := l.next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return a, func() {
				cancel()
				for begun := time.Now(); !gone(a.conn) && time.Since(begun) < time.Minute; {
					time.Sleep(time.Millisecond)
				}
			}
		}
		r := &roll{conns: make([]net.Conn, 2), table: make([]string, 2)}
		early, leave := come()
		leave()
		if err := r.enter(early); err != nil || r.came != 0 {
			t.Errorf("one that had gone: %v, and %d came, want none", err, r.came)
		}
		first, leave := come()
		if err := r.enter(first); err != nil {
			t.Fatal(err)
		}
		leave()
		second, leave := come()
		if err := r.enter(second); err != nil || r.came != 1 || r.conns[0] != second.conn {
			t.Errorf("one in the place of another that has gone: %v, and %d came, want it", err, r.came)
		}
		third, leaveThird := come()
		if err := r.enter(third); err == nil || !strings.Contains(err.Error(), "rank 0 came twice") {
			t.Errorf("one more: got %v, want an error", err)
		}
		leaveThird()
		leave()
	}
}

// A gathering is the connections that ranks have made.
type gathering struct {
	mu    sync.Mutex
	conns [][][]net.Conn // by rank and rank
	errs  []error
}

// take notes a connection of a rank, or an error.
func (g *gathering) take(rank, peer int, conn net.Conn, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.errs = append(g.errs, err)
	} else if conn != nil {
		g.conns[rank][peer] = append(g.conns[rank][peer], conn)
	}
}

// complete reports whether each pair of ranks has a connection.
func (g *gathering) complete() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for r := range g.conns {
		for p := range g.conns {
			if r != p && len(g.conns[r][p]) == 0 {
				return false
			}
		}
	}
	return true
}

// When all ranks dial all others at once, each pair has one connection afterwards, and its two
// ends are those of the two ranks.
func TestPeersCross(t *testing.T) {
	for _, c := range []*Credentials{{Job: "cross", Token: []byte("secret")}, {Job: "cross", Token: []byte("secret"), TLS: true}} {
		const size = 5
		all := assembled(t, c, size)
		g := &gathering{conns: make([][][]net.Conn, size)}
		ctx, cancel := context.WithCancel(t.Context())
		var tasks sync.WaitGroup
		for r, m := range all {
			g.conns[r] = make([][]net.Conn, size)
			tasks.Go(func() {
				m.Peers.Serve(ctx, func(peer int, conn net.Conn, err error) { g.take(r, peer, conn, err) })
			})
		}
		var dials sync.WaitGroup
		for r, m := range all {
			for p := range size {
				if p != r {
					dials.Go(func() {
						conn, err := m.Peers.Dial(ctx, p)
						g.take(r, p, conn, err)
					})
				}
			}
		}
		dials.Wait()
		for begun := time.Now(); !g.complete() && time.Since(begun) < 5*time.Minute; {
			time.Sleep(time.Millisecond)
		}
		cancel()
		tasks.Wait()
		g.check(t)
	}
}

// check checks that each pair has one connection, on which both are.
func (g *gathering) check(t *testing.T) {
	t.Helper()
	if len(g.errs) > 0 {
		t.Errorf("got %v, want no errors", errors.Join(g.errs...))
	}
	for r := range g.conns {
		for p := range r {
			if a, b := g.conns[r][p], g.conns[p][r]; len(a) != 1 || len(b) != 1 {
				t.Errorf("ranks %d and %d: got %d and %d connections, want one", r, p, len(a), len(b))
				continue
			}
			a, b := g.conns[r][p][0], g.conns[p][r][0]
			go a.Write([]byte{byte(10*r + p)})
			got := []byte{0}
			if _, err := b.Read(got); err != nil || got[0] != byte(10*r+p) {
				t.Errorf("ranks %d and %d: got %d and %v, want what the other has written", r, p, got[0], err)
			}
			a.Close()
			b.Close()
		}
	}
}

// Who dials a rank that has gone learns that, and whom.
func TestPeerGone(t *testing.T) {
	all := assembled(t, &Credentials{Job: "gone", Token: []byte("secret")}, 3)
	all[1].Peers.Close()
	conn, err := all[0].Peers.Dial(t.Context(), 1)
	if conn != nil || !errors.Is(err, syscall.ECONNREFUSED) || !strings.HasPrefix(err.Error(), "connection to rank 1 at 127.0.0.1:") {
		t.Errorf("got %v and %v, want that rank 1 refuses", conn, err)
	}
}

// A connection that says it is of no other rank of the job is refused.
func TestPeerAlien(t *testing.T) {
	c := &Credentials{Job: "alien", Token: []byte("secret")}
	m := assembled(t, c, 2)[0]
	go m.Peers.Serve(t.Context(), func(peer int, conn net.Conn, err error) { t.Errorf("rank %d came, want nobody", peer) })
	for _, h := range []Hello{{peerPurpose, 0, 2, ""}, {peerPurpose, 2, 2, ""}, {peerPurpose, 1, 3, ""}, {rankPurpose, 1, 2, ""}} {
		conn, err := c.Dial(t.Context(), m.Peers.table[0], h)
		if err == nil || !strings.Contains(err.Error(), "it refuses: got "+h.Purpose) {
			t.Errorf("%v: got %v and %v, want a refusal", h, conn, err)
		}
	}
}
