package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
)

// Connections are the connections of one rank to all others and to the
// supervisor.
type Connections struct {
	Rank       int
	Peers      []net.Conn // by rank, nil at Rank
	Supervisor net.Conn
}

// Meet makes the connections of a rank of size: to the rendezvous at an
// address, which it tries until ctx ends, and with every other rank. It
// listens for them at the address of this host from which the rendezvous is
// reached. Of two ranks the higher dials the lower.
func Meet(ctx context.Context, c *Credentials, rendezvous string, rank, size int) (*Connections, error) {
	l, err := c.listenToward(rendezvous)
	if err != nil {
		return nil, fmt.Errorf("rendezvous %s: %w", rendezvous, err)
	}
	defer l.Close()
	m := &Connections{Rank: rank, Peers: make([]net.Conn, size)}
	hello := Hello{rankPurpose, rank, size, l.Addr().String()}
	if m.Supervisor, err = c.dialUntil(ctx, rendezvous, hello); err != nil {
		return nil, fmt.Errorf("rendezvous %s: %w", rendezvous, err)
	}
	if err := m.connect(ctx, c, l); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Close closes the connections.
func (m *Connections) Close() error {
	var err error
	for _, c := range append(m.Peers, m.Supervisor) {
		if c != nil {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}

// listenToward listens at the address of this host from which another address
// is reached. To find it out sends nothing.
func (c *Credentials) listenToward(address string) (*Listener, error) {
	if err := c.check(address); err != nil {
		return nil, err
	}
	probe, err := net.Dial("udp", address)
	if err != nil {
		return nil, err
	}
	defer probe.Close()
	host, _, err := net.SplitHostPort(probe.LocalAddr().String())
	if err != nil {
		return nil, err
	}
	return c.Listen(net.JoinHostPort(host, "0"))
}

// dialUntil dials, and tries again until ctx ends while nobody answers.
func (c *Credentials) dialUntil(ctx context.Context, address string, hello Hello) (net.Conn, error) {
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		conn, err := c.Dial(ctx, address, hello)
		if err == nil || errors.As(err, new(*HandshakeError)) {
			return conn, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			if errors.Is(err, syscall.ECONNREFUSED) {
				err = syscall.ECONNREFUSED
			}
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// connect learns where the others are, and makes the connections with them.
func (m *Connections) connect(ctx context.Context, c *Credentials, l *Listener) error {
	stop := context.AfterFunc(ctx, func() { m.Supervisor.SetReadDeadline(time.Unix(1, 0)) })
	table, err := readTable(m.Supervisor, len(m.Peers))
	if stop(); ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("while the other ranks were waited for: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var tasks sync.WaitGroup
	var accepted, dialled error
	tasks.Go(func() {
		if accepted = m.accept(ctx, l); accepted != nil {
			cancel(accepted)
		}
	})
	tasks.Go(func() {
		if dialled = m.dial(ctx, c, table); dialled != nil {
			cancel(dialled)
		}
	})
	tasks.Wait()
	return context.Cause(ctx)
}

// dial connects to the lower ranks.
func (m *Connections) dial(ctx context.Context, c *Credentials, table []string) error {
	for r := range m.Rank {
		conn, err := c.Dial(ctx, table[r], Hello{peerPurpose, m.Rank, len(m.Peers), ""})
		if err != nil {
			return fmt.Errorf("connection to rank %d at %s: %w", r, table[r], err)
		}
		m.Peers[r] = conn
	}
	return nil
}

// accept waits for the connections of the higher ranks.
func (m *Connections) accept(ctx context.Context, l *Listener) error {
	for missing := len(m.Peers) - 1 - m.Rank; missing > 0; {
		a, err := l.next(ctx)
		if err != nil {
			return err
		}
		refusal := ""
		switch h := a.hello; {
		case h.Purpose != peerPurpose || h.Size != len(m.Peers) || h.Rank <= m.Rank || h.Rank >= h.Size:
			refusal = fmt.Sprintf("got %s %d of %d, want a rank above %d of %d", h.Purpose, h.Rank, h.Size, m.Rank, len(m.Peers))
		case m.Peers[h.Rank] != nil:
			refusal = fmt.Sprintf("rank %d came twice", h.Rank)
		}
		if err := a.admit(refusal); err != nil || refusal != "" {
			a.conn.Close()
			continue
		}
		m.Peers[a.hello.Rank] = a.conn
		missing--
	}
	return nil
}
