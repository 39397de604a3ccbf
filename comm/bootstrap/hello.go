package bootstrap

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"tpsh/comm/wire"
)

// Credentials are the secrets of both ends of a connection of a job, by which they
// know each other.
//
// The end that has dialled speaks first. Numbers are little-endian, texts are
// preceded by their length as 4 bytes:
//
//	dialler   magic "tpshconn", version (4 bytes), 32 random bytes, the job
//	listener  the same
//	dialler   32 bytes of proof
//	listener  32 bytes of proof
//	dialler   its Hello, sealed
//	listener  0 (4 bytes), or the length of a text that says why it refuses, and the text; sealed
//
// A proof is an HMAC-SHA256 with the token for its key of all that was said
// before, the role of the end that proves, and on TLS of a secret of the connection
// that nobody in between can share (RFC 9266). A sealed text is preceded by its
// length and followed by such a proof. So neither end learns the token, the words of an
// earlier connection are worth nothing, and nobody can stand in between.
type Credentials struct {
	// Job names the job; both ends name the same.
	Job string
	// Token is a secret that only members of the job know. Without one, connections
	// are made on the loopback interface alone.
	Token []byte
	// TLS encrypts connections. Certificates are made for the occasion, since
	// it is Token that shows whose an end is, unless there is an Identity.
	TLS      bool
	Identity *Identity
	// Timeout is for the time that one handshake may take, 0 for ten seconds.
	Timeout time.Duration
}

// A Hello is the introduction of the end that has dialled.
type Hello struct {
	Purpose string // of the connection: "rank" and "peer" are those of this package
	Rank    int    // of the dialler
	Size    int    // how many ranks it says there are
	Address string // where it listens, "" if it does not
}

const (
	helloMagic   = "tpshconn"
	helloVersion = 1
	nonceBytes   = 32
	proofBytes   = sha256.Size
	maxHello     = 4096 // bytes of a text of a handshake
)

// A HandshakeError says why a connection is no good. The other end may be no
// member of the job, or of another version.
type HandshakeError struct {
	Peer string // its address
	Text string

	refusal string // what the other end said if it has refused
}

func (e *HandshakeError) Error() string { return fmt.Sprintf("connection with %s: %s", e.Peer, e.Text) }

// A handshake is one end's part of a handshake in progress.
type handshake struct {
	conn   net.Conn
	token  []byte
	secret []byte // of the TLS connection
	said   []byte // all that was said before, by both
	unsent []byte // the end of it, which is sent before the other end is listened to
	met    func() // is called by the listener when the other end has introduced itself
}

func (h *handshake) fail(format string, args ...any) error {
	return &HandshakeError{Peer: h.conn.RemoteAddr().String(), Text: fmt.Sprintf(format, args...)}
}

// say sends bytes, together with what is said next.
func (h *handshake) say(b []byte) {
	h.said = append(h.said, b...)
	h.unsent = append(h.unsent, b...)
}

// flush sends what was said.
func (h *handshake) flush() error {
	if len(h.unsent) == 0 {
		return nil
	}
	_, err := h.conn.Write(h.unsent)
	h.unsent = h.unsent[:0]
	return h.wrap(err)
}

// hear receives n bytes.
func (h *handshake) hear(n int) ([]byte, error) {
	if err := h.flush(); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(h.conn, b); err != nil {
		return nil, h.wrap(err)
	}
	h.said = append(h.said, b...)
	return b, nil
}

// wrap adds to an error of the connection where in the handshake it came.
func (h *handshake) wrap(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return h.fail("it was closed during the handshake")
	}
	return h.fail("%v", err)
}

// proof returns the proof of a role after all that was said.
func (h *handshake) proof(role string) []byte {
	mac := hmac.New(sha256.New, h.token)
	for _, part := range [][]byte{[]byte(role), h.secret, h.said} {
		var length [8]byte
		binary.LittleEndian.PutUint64(length[:], uint64(len(part)))
		mac.Write(length[:])
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// prove says the proof of a role.
func (h *handshake) prove(role string) { h.say(h.proof(role)) }

// believe receives the proof of a role.
func (h *handshake) believe(role string) error {
	want := h.proof(role)
	got, err := h.hear(proofBytes)
	if e := (*HandshakeError)(nil); errors.As(err, &e) {
		return h.fail("%s (where a proof of the job's token was due: the tokens may differ)", e.Text)
	}
	if err != nil {
		return err
	}
	if !hmac.Equal(got, want) {
		return h.fail("the other end does not know the job's token")
	}
	return nil
}

// seal sends a text with a proof.
func (h *handshake) seal(role, text string) error {
	h.say(binary.LittleEndian.AppendUint32(nil, uint32(len(text))))
	h.say([]byte(text))
	h.prove(role)
	return h.flush()
}

// unseal receives a text with a proof.
func (h *handshake) unseal(role string) (string, error) {
	text, err := h.text()
	if err != nil {
		return "", err
	}
	return text, h.believe(role)
}

// text receives a text.
func (h *handshake) text() (string, error) {
	b, err := h.hear(4)
	if err != nil {
		return "", err
	}
	n := binary.LittleEndian.Uint32(b)
	if n > maxHello {
		return "", h.fail("got a text of %d bytes, want at most %d", n, maxHello)
	}
	if b, err = h.hear(int(n)); err != nil {
		return "", err
	}
	return string(b), nil
}

// introduce begins the handshake: the protocol and its version, a nonce, the job.
func (h *handshake) introduce(job string) {
	b := binary.LittleEndian.AppendUint32([]byte(helloMagic), helloVersion)
	nonce := make([]byte, nonceBytes)
	rand.Read(nonce)
	b = append(b, nonce...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(job)))
	h.say(append(b, job...))
}

// meet hears the other end's introduction, which must be of the same job and version.
func (h *handshake) meet(job string) error {
	b, err := h.hear(len(helloMagic) + 4)
	if err != nil {
		return err
	}
	if got := string(b[:len(helloMagic)]); got != helloMagic {
		return h.fail("got %q, want %q: it is not tpsh", got, helloMagic)
	}
	if got := binary.LittleEndian.Uint32(b[len(helloMagic):]); got != helloVersion {
		return h.fail("got version %d of the protocol, want %d", got, helloVersion)
	}
	if _, err := h.hear(nonceBytes); err != nil {
		return err
	}
	got, err := h.text()
	if err == nil && got != job {
		return h.fail("got job %q, want %q", got, job)
	}
	return err
}

const (
	diallerRole  = "tpsh dialler"
	listenerRole = "tpsh listener"
)

// dial is the handshake of the end that has dialled.
func (h *handshake) dial(job string, hello Hello) error {
	h.introduce(job)
	if err := h.meet(job); err != nil {
		return err
	}
	h.prove(diallerRole)
	if err := h.believe(listenerRole); err != nil {
		return err
	}
	if err := h.seal(diallerRole, string(appendHello(nil, &hello))); err != nil {
		return err
	}
	refusal, err := h.unseal(listenerRole)
	if err == nil && refusal != "" {
		return &HandshakeError{h.conn.RemoteAddr().String(), "it refuses: " + refusal, refusal}
	}
	return err
}

// answer is the handshake of the end that listens, but for whether it refuses.
func (h *handshake) answer(job string) (Hello, error) {
	if err := h.meet(job); err != nil {
		h.introduce(job) // for the other end to tell what differs
		h.flush()
		return Hello{}, err
	}
	if h.met != nil {
		h.met()
	}
	h.introduce(job)
	if err := h.believe(diallerRole); err != nil {
		return Hello{}, err
	}
	h.prove(listenerRole)
	text, err := h.unseal(diallerRole)
	if err != nil {
		return Hello{}, err
	}
	hello, err := decodeHello([]byte(text))
	if err != nil {
		return Hello{}, h.fail("%v", err)
	}
	return *hello, nil
}

// appendHello appends the encoding of h to buf and returns the result.
func appendHello(buf []byte, h *Hello) []byte {
	buf = wire.AppendString(buf, h.Purpose)
	buf = wire.AppendInt(wire.AppendInt(buf, h.Rank), h.Size)
	return wire.AppendString(buf, h.Address)
}

// decodeHello is the inverse of appendHello, and refuses all other bytes.
func decodeHello(b []byte) (*Hello, error) {
	d := wire.Decoder{Rest: b}
	h := &Hello{Purpose: d.Text(), Rank: d.Int(), Size: d.Int(), Address: d.Text()}
	return h, d.End("hello")
}

// timeout returns the time that a handshake may take.
func (c *Credentials) timeout() time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return 10 * time.Second
}

// limit returns a context that ends when a handshake has taken too long.
func (c *Credentials) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.timeout(), fmt.Errorf("no answer for %v", c.timeout()))
}

// check checks that an address may be used.
func (c *Credentials) check(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	ip := net.ParseIP(host)
	if len(c.Token) == 0 && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("address %s: got no token, want one (without a token connections stay on the loopback interface)", address)
	}
	return nil
}

// Dial connects to a Listener that has the same credentials. Both ends have
// proved that they have when it returns. The error is a *HandshakeError if the
// other end is not the one that was looked for.
func (c *Credentials) Dial(ctx context.Context, address string, hello Hello) (net.Conn, error) {
	if err := c.check(address); err != nil {
		return nil, err
	}
	caller := ctx
	ctx, cancel := c.limit(ctx)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		if limit, ok := caller.Deadline(); ok && time.Until(limit) <= 0 {
			<-caller.Done() // the dialler's clock may be a moment ahead of it
		}
		return nil, err
	}
	conn, err := c.greet(ctx, raw, func(h *handshake) error { return h.dial(c.Job, hello) }, c.client)
	if err != nil {
		raw.Close()
		return nil, err
	}
	return conn, nil
}

// greet carries out one end's handshake on a connection, and ends it when ctx
// ends.
func (c *Credentials) greet(ctx context.Context, raw net.Conn, shake func(*handshake) error, secure func(net.Conn) *tls.Conn) (net.Conn, error) {
	defer context.AfterFunc(ctx, func() { raw.SetDeadline(time.Unix(1, 0)) })()
	h := &handshake{conn: raw, token: c.Token}
	var err error
	if c.TLS {
		err = h.encrypt(ctx, secure(raw))
	}
	if err == nil {
		err = shake(h)
	}
	switch {
	case err == nil:
		return h.conn, nil
	case ctx.Err() != nil:
		err = h.fail("%v", context.Cause(ctx))
	}
	return nil, err
}

// encrypt goes on with the handshake inside a TLS connection.
func (h *handshake) encrypt(ctx context.Context, conn *tls.Conn) error {
	if err := conn.HandshakeContext(ctx); err != nil {
		return h.wrap(fmt.Errorf("TLS: %w", err))
	}
	state := conn.ConnectionState()
	secret, err := state.ExportKeyingMaterial("EXPORTER-Channel-Binding", nil, 32)
	if err != nil {
		return h.wrap(err)
	}
	h.conn, h.secret = conn, secret
	return nil
}
