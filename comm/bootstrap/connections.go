package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// Connections are the connection of one rank to the supervisor, and what makes those to
// the other ranks.
type Connections struct {
	Rank, Size int
	Peers      *Peers
	Supervisor net.Conn
}

// Meet connects a rank of size to the rendezvous at an address, which it tries until ctx
// ends, and returns when all ranks have come and each knows where the others are. It
// listens for them at the address of this host from which the rendezvous is reached.
func Meet(ctx context.Context, c *Credentials, rendezvous string, rank, size int) (*Connections, error) {
	l, err := c.listenToward(rendezvous)
	if err != nil {
		return nil, fmt.Errorf("rendezvous %s: %w", rendezvous, err)
	}
	m := &Connections{Rank: rank, Size: size}
	if m.Supervisor, err = c.dialUntil(ctx, rendezvous, Hello{rankPurpose, rank, size, l.Addr().String()}); err != nil {
		return nil, errors.Join(fmt.Errorf("rendezvous %s: %w", rendezvous, err), l.Close())
	}
	table, err := m.await(ctx, size)
	if err != nil {
		return nil, errors.Join(err, m.Supervisor.Close(), l.Close())
	}
	m.Peers = newPeers(c, rank, table, l)
	return m, nil
}

// Close closes the connection to the supervisor, and lets no rank connect any more.
func (m *Connections) Close() error { return errors.Join(m.Supervisor.Close(), m.Peers.Close()) }

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

// await learns where the others are, when all have come.
func (m *Connections) await(ctx context.Context, size int) ([]string, error) {
	stop := context.AfterFunc(ctx, func() { m.Supervisor.SetReadDeadline(time.Unix(1, 0)) })
	table, err := readTable(m.Supervisor, size)
	if stop(); ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("while the other ranks were waited for: %w", err)
	}
	return table, nil
}
