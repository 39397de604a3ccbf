package bootstrap

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// A Listener accepts connections from processes that have the same credentials.
type Listener struct {
	// Rejected, if set before the first connection comes, is called with the
	// address of one that is turned away, and why. It is called on several
	// goroutines.
	Rejected func(address string, err error)

	credentials *Credentials
	certificate tls.Certificate
	listener    net.Listener
	accepted    chan arrival
	ctx         context.Context
	cancel      context.CancelFunc
	tasks       sync.WaitGroup
	begin       sync.Once

	mu     sync.Mutex
	silent map[net.Conn]time.Time // those that have not introduced themselves, and since when
}

// An arrival is a connection that has proved itself.
type arrival struct {
	conn  net.Conn
	hello Hello
	shake *handshake
}

// mostHandshakes is how many connections may be in a handshake at a time;
// others wait for their turn.
const mostHandshakes = 64

// timeToSpeak is how long a new connection may take to introduce itself, while
// others wait for their turn.
const timeToSpeak = time.Second

// Listen returns a Listener on an address, "host:port". Without a token it is
// to be one of the loopback interface.
func (c *Credentials) Listen(address string) (*Listener, error) {
	if err := c.check(address); err != nil {
		return nil, err
	}
	l := &Listener{credentials: c, accepted: make(chan arrival)}
	if c.TLS {
		var err error
		if l.certificate, err = c.certificate(); err != nil {
			return nil, err
		}
	}
	var err error
	if l.listener, err = net.Listen("tcp", address); err != nil {
		return nil, err
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l, nil
}

// Addr returns the address at which l listens.
func (l *Listener) Addr() net.Addr { return l.listener.Addr() }

// Close ends l and the handshakes in progress; connections that were returned
// stay.
func (l *Listener) Close() error {
	l.cancel()
	err := l.listener.Close()
	l.tasks.Wait()
	return err
}

// Accept returns the next connection whose other end has proved that it has
// the credentials, and its Hello. Handshakes go on beside each
// other, so that a silent peer keeps nobody waiting. The error is the
// cause of ctx, or net.ErrClosed.
func (l *Listener) Accept(ctx context.Context) (net.Conn, Hello, error) {
	for {
		a, err := l.next(ctx)
		if err != nil {
			return nil, Hello{}, err
		}
		if err := a.admit(""); err != nil {
			l.reject(a.conn, err)
			continue
		}
		return a.conn, a.hello, nil
	}
}

// next returns the next arrival, which is to be admitted or refused.
func (l *Listener) next(ctx context.Context) (arrival, error) {
	l.begin.Do(func() { l.tasks.Go(l.serve) })
	select {
	case a := <-l.accepted:
		return a, nil
	case <-ctx.Done():
		return arrival{}, context.Cause(ctx)
	case <-l.ctx.Done():
		return arrival{}, net.ErrClosed
	}
}

// admit ends the handshake: with a reason to refuse, or "".
func (a *arrival) admit(refusal string) error {
	a.conn.SetDeadline(time.Now().Add(10 * time.Second))
	defer a.conn.SetDeadline(time.Time{})
	return a.shake.seal(listenerRole, refusal)
}

// serve accepts connections until the listener is closed.
func (l *Listener) serve() {
	slots := make(chan struct{}, mostHandshakes)
	for {
		raw, err := l.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // of this connection, or for want of files
			time.Sleep(time.Millisecond)
			continue
		}
		if !l.awaitTurn(slots) {
			raw.Close()
			return
		}
		l.tasks.Go(func() {
			defer func() { <-slots }()
			l.handle(raw)
		})
	}
}

// awaitTurn takes one of the slots. While there is none, silent peers lose
// theirs. It reports whether the listener is still open.
func (l *Listener) awaitTurn(slots chan<- struct{}) bool {
	for {
		select {
		case slots <- struct{}{}:
			return true
		case <-l.ctx.Done():
			return false
		case <-time.After(timeToSpeak):
			l.dropSilent()
		}
	}
}

// dropSilent ends the handshakes with peers that have had their time to speak.
func (l *Listener) dropSilent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for raw, since := range l.silent {
		if time.Since(since) >= timeToSpeak {
			raw.Close()
		}
	}
}

// noteSilent notes that raw has connected and said nothing yet. Calling spoken ends that.
func (l *Listener) noteSilent(raw net.Conn) (spoken func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.silent == nil {
		l.silent = map[net.Conn]time.Time{}
	}
	l.silent[raw] = time.Now()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.silent, raw)
	}
}

// handle carries out the handshake on a connection.
func (l *Listener) handle(raw net.Conn) {
	ctx, cancel := l.credentials.limit(l.ctx)
	defer cancel()
	spoken := l.noteSilent(raw)
	defer spoken()
	var a arrival
	conn, err := l.credentials.greet(ctx, raw, func(h *handshake) (err error) {
		a.shake, h.met = h, spoken
		a.hello, err = h.answer(l.credentials.Job)
		return err
	}, l.server)
	if err != nil {
		hearOut(raw)
		l.reject(raw, err)
		return
	}
	a.conn = conn
	select {
	case l.accepted <- a:
	case <-l.ctx.Done():
		raw.Close()
	}
}

// hearOut lets the other end of a connection that is turned away read the error that was
// said to it: closing while it speaks would drop that.
func hearOut(raw net.Conn) {
	raw.SetDeadline(time.Now().Add(100 * time.Millisecond))
	if c, ok := raw.(*net.TCPConn); ok {
		c.CloseWrite()
		io.CopyN(io.Discard, c, maxHello)
	}
}

// reject closes a connection that is turned away.
func (l *Listener) reject(conn net.Conn, err error) {
	if l.Rejected != nil && l.ctx.Err() == nil {
		l.Rejected(conn.RemoteAddr().String(), err)
	}
	conn.Close()
}
