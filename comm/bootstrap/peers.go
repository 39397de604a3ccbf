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

// Peers make the connections of a rank with others when they are first used: a rank that
// exchanges messages with few has few, however many there are.
//
// Either rank dials. When both do so at once, the connection is that which the higher has
// dialled; the other is refused.
type Peers struct {
	rank        int
	table       []string // by rank: where it listens
	credentials Credentials
	listener    *Listener

	mu     sync.Mutex
	states []peerState // by rank
}

// A peerState says how far a connection is.
type peerState uint8

const (
	peerUnknown  peerState = iota
	peerDialling           // this rank dials
	peerMet                // there is a connection
)

// crossedText is why a connection is refused in place of which there is another, or will be.
const crossedText = "there is another connection"

const (
	// meetLimit is how long a handshake between ranks may take, which all may make at once.
	meetLimit = 30 * time.Second
	// dials is how often a rank tries to reach another that listens.
	dials = 3
)

// newPeers returns what connects a rank with those that listen at the addresses of the table.
func newPeers(c *Credentials, rank int, table []string, l *Listener) *Peers {
	p := &Peers{rank: rank, table: table, credentials: *c, listener: l, states: make([]peerState, len(table))}
	p.credentials.Timeout = max(c.Timeout, meetLimit)
	return p
}

// TLS reports whether connections are encrypted. Those that are not are *net.TCPConn.
func (p *Peers) TLS() bool { return p.credentials.TLS }

// Close lets no other rank connect any more. Connections that were made stay.
func (p *Peers) Close() error { return p.listener.Close() }

// Serve calls take with each connection that another rank has made, or with why one that it
// has begun has failed, until ctx ends or p is closed.
func (p *Peers) Serve(ctx context.Context, take func(rank int, conn net.Conn, err error)) {
	for {
		a, err := p.listener.next(ctx)
		if err != nil {
			return
		}
		refusal := p.claim(&a.hello)
		err = a.admit(refusal)
		switch {
		case refusal != "":
			a.conn.Close()
		case err != nil:
			a.conn.Close()
			take(a.hello.Rank, nil, fmt.Errorf("connection from rank %d: %w", a.hello.Rank, err))
		default:
			take(a.hello.Rank, a.conn, nil)
		}
	}
}

// claim makes the connection of a rank that has dialled the one with it, or says why not.
func (p *Peers) claim(h *Hello) (refusal string) {
	if h.Purpose != peerPurpose || h.Size != len(p.table) || h.Rank < 0 || h.Rank >= h.Size || h.Rank == p.rank {
		return fmt.Sprintf("got %s %d of %d, want a rank of %d other than %d", h.Purpose, h.Rank, h.Size, len(p.table), p.rank)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.states[h.Rank]; s == peerMet || s == peerDialling && p.rank > h.Rank {
		return crossedText
	}
	p.states[h.Rank] = peerMet
	return ""
}

// Dial connects to a rank, once. It returns nil if that has dialled, or does so now: then Serve
// has the connection, or will have it.
func (p *Peers) Dial(ctx context.Context, rank int) (net.Conn, error) {
	if !p.begin(rank) {
		return nil, nil
	}
	conn, err := p.dial(ctx, rank)
	if e := (*HandshakeError)(nil); errors.As(err, &e) && e.refusal == crossedText {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("connection to rank %d at %s: %w", rank, p.table[rank], err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.states[rank] = peerMet
	return conn, nil
}

// begin notes that this rank dials another, and reports false if there is no need to.
func (p *Peers) begin(rank int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.states[rank] != peerUnknown {
		return false
	}
	p.states[rank] = peerDialling
	return true
}

// dial dials, and tries again when the handshake was cut short: a listener that many dial at once
// turns those away that are slow to speak.
func (p *Peers) dial(ctx context.Context, rank int) (conn net.Conn, err error) {
	hello := Hello{peerPurpose, p.rank, len(p.table), ""}
	for range dials {
		conn, err = p.credentials.Dial(ctx, p.table[rank], hello)
		if !isCutShort(err) || ctx.Err() != nil {
			break
		}
	}
	return conn, err
}

// isCutShort reports whether err is that of a handshake which the other end has not refused, but
// has had no time for.
func isCutShort(err error) bool {
	if e := (*HandshakeError)(nil); errors.As(err, &e) {
		return e.refusal == ""
	}
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ETIMEDOUT)
}
