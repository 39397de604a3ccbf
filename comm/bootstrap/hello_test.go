package bootstrap

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tpsh/comm/wire"
)

func TestHelloRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, number := rapid.SampledFrom([]string{"", "rank", "127.0.0.1:80"}), rapid.IntRange(-2, 1<<40)
		h := &Hello{text.Draw(t, "purpose"), number.Draw(t, "rank"), number.Draw(t, "size"), text.Draw(t, "address")}
		encoded := appendHello(nil, h)
		if got, err := decodeHello(encoded); err != nil || *got != *h {
			t.Fatalf("got %+v and %v, want %+v", got, err, h)
		}
		for n := range encoded {
			if _, err := decodeHello(encoded[:n]); err == nil {
				t.Fatalf("the first %d of %d bytes: want an error", n, len(encoded))
			}
		}
		if _, err := decodeHello(append(encoded, 0)); err == nil {
			t.Fatal("one byte more: want an error")
		}
	})
}

// Whatever is decoded is encoded as the same bytes.
func FuzzDecodeHello(f *testing.F) {
	f.Add(appendHello(nil, &Hello{"rank", 1, 2, "127.0.0.1:80"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := decodeHello(b); err == nil && !bytes.Equal(appendHello(nil, h), b) {
			t.Fatalf("%q decodes to %+v, which is encoded otherwise", b, h)
		}
	})
}

func FuzzReadTable(f *testing.F) {
	r := &roll{table: []string{"127.0.0.1:80", "[::1]:443"}}
	message := append(wire.AppendString(nil, tableText), r.encoded()...)
	f.Add(append(binary.LittleEndian.AppendUint32(nil, uint32(len(message))), message...))
	failure := append(wire.AppendString(nil, failureText), "rank 1 came twice"...)
	f.Add(append(binary.LittleEndian.AppendUint32(nil, uint32(len(failure))), failure...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if table, err := readTable(bytes.NewReader(b), 2); err == nil && len(table) != 2 {
			t.Fatalf("got a table of %d ranks, want 2", len(table))
		}
	})
}

// A replay is a connection on which one end hears what is given, and what it
// says is lost.
type replay struct {
	net.Conn
	heard io.Reader
}

func (r *replay) Read(b []byte) (int, error)  { return r.heard.Read(b) }
func (r *replay) Write(b []byte) (int, error) { return len(b), nil }
func (r *replay) RemoteAddr() net.Addr        { return &net.TCPAddr{} }

// Whatever a stranger says, neither end of a handshake takes it for a member.
func FuzzHandshake(f *testing.F) {
	token := []byte("token")
	f.Add([]byte("tpshconn\x01\x00\x00\x00"), true)
	f.Add(bytes.Repeat([]byte{1}, 200), false)
	f.Fuzz(func(t *testing.T, said []byte, dials bool) {
		h := &handshake{conn: &replay{heard: bytes.NewReader(said)}, token: token}
		var err error
		if dials {
			err = h.dial("job", Hello{})
		} else {
			_, err = h.answer("job")
		}
		if err == nil {
			t.Fatalf("a handshake with %q succeeds", said)
		}
	})
}

// What was said in one handshake is worth nothing in the next.
func TestHandshakeReplayed(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	record := &recording{Conn: b}
	done := make(chan error, 1)
	go func() {
		h := &handshake{conn: a, token: []byte("token")}
		done <- h.dial("job", Hello{Purpose: "x"})
	}()
	h := &handshake{conn: record, token: []byte("token")}
	hello, err := h.answer("job")
	if err == nil {
		err = h.seal(listenerRole, "")
	}
	if dialled := <-done; err != nil || dialled != nil || hello.Purpose != "x" {
		t.Fatalf("got %+v, %v and %v, want a handshake", hello, err, dialled)
	}
	again := &handshake{conn: &replay{heard: bytes.NewReader(record.heard)}, token: []byte("token")}
	if _, err := again.answer("job"); err == nil {
		t.Error("a handshake that is replayed succeeds")
	}
}

// A recording keeps what was read.
type recording struct {
	net.Conn
	heard []byte
}

func (r *recording) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.heard = append(r.heard, b[:n]...)
	return n, err
}

// A handshake that the caller ends fails of what the caller says, and one that
// takes too long of that.
func TestDialEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // where nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	why := errors.New("the job has failed")
	for _, secure := range []bool{false, true} {
		for want, limits := range map[string][2]time.Duration{why.Error(): {50 * time.Millisecond, time.Minute}, "no answer for 300ms": {time.Minute, 300 * time.Millisecond}} {
			ctx, cancel := context.WithTimeoutCause(t.Context(), limits[0], why)
			defer cancel()
			c := &Credentials{Token: []byte("token"), TLS: secure, Timeout: limits[1]}
			_, err := c.Dial(ctx, l.Addr().String(), Hello{})
			var e *HandshakeError
			if !errors.As(err, &e) || e.Text != want {
				t.Errorf("TLS %v: got %v, want %s", secure, err, want)
			}
		}
	}
}

// A silent peer is reported once, and then lost.
func TestPulseGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Heartbeat{silence: 20 * time.Millisecond, timeout: 60 * time.Millisecond}
		h := NewHeardReader(nil)
		reports, lost := 0, make(chan error, 1)
		p.Guard(t.Context(), h, func(time.Duration) { reports++ }, func(err error) { lost <- err })
		if err := <-lost; reports != 1 || err.Error() != "nothing was heard of it for 60ms" {
			t.Errorf("got %d reports and %v, want 1 and a loss", reports, err)
		}
	})
}
