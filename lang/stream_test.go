package lang

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// streams returns the two ends of a connection over a stream, and ends them
// with the test.
func streams(t *testing.T, ended func(error) error) (a, b *StreamConn) {
	t.Helper()
	x, y := net.Pipe()
	a, b = Stream(x, ended), Stream(y, nil)
	t.Cleanup(func() {
		a.Close()
		b.Close()
	})
	return a, b
}

// Messages of any length arrive whole and in order.
func TestStreamSends(t *testing.T) {
	a, b := streams(t, nil)
	messages := []string{"one", "", strings.Repeat("x", 200_000), "\x00\xff"}
	for _, m := range messages {
		if err := a.Send([]byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range messages {
		got, err := b.Recv(t.Context())
		if err != nil || string(got) != want {
			t.Fatalf("got %d bytes, %v, want %d", len(got), err, len(want))
		}
	}
}

// Close sends what is queued, and both ends hear of it.
func TestStreamClose(t *testing.T) {
	a, b := streams(t, nil)
	for range 100 {
		a.Send([]byte("hello"))
	}
	a.Close()
	for i := range 100 {
		if _, err := b.Recv(t.Context()); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	if _, err := b.Recv(t.Context()); err != io.EOF {
		t.Errorf("behind the last: got %v, want %v", err, io.EOF)
	}
	if err := a.Send(nil); err != io.ErrClosedPipe {
		t.Errorf("after Close: got %v, want %v", err, io.ErrClosedPipe)
	}
}

// A goneStream is one whose other end has sent its last bytes and takes none: writes fail,
// and the bytes are read as late as read says.
type goneStream struct {
	read   chan struct{}
	last   io.Reader
	closed chan struct{}
}

func (s *goneStream) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func (s *goneStream) Close() error {
	close(s.closed)
	return nil
}

func (s *goneStream) Read(b []byte) (int, error) {
	select {
	case <-s.read:
		return s.last.Read(b)
	case <-s.closed:
		return 0, net.ErrClosed
	}
}

// What the other end has sent before it went is received, though nothing can be sent to it
// any more, as by a heartbeat that crosses its last message.
func TestStreamReceivesTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last bytes.Buffer
		writeMessage(&last, []byte("done"))
		s := &goneStream{make(chan struct{}), &last, make(chan struct{})}
		c := Stream(s, nil)
		c.Send([]byte("are you there?"))
		synctest.Wait()
		close(s.read)
		if got, err := c.Recv(t.Context()); string(got) != "done" {
			t.Errorf("got %q, %v, want done", got, err)
		}
		if _, err := c.Recv(t.Context()); err != io.EOF {
			t.Errorf("behind the last: got %v, want %v", err, io.EOF)
		}
		c.Close()
	})
}

// An other end that takes nothing and says nothing is given up.
func TestStreamGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Stream(&goneStream{make(chan struct{}), nil, make(chan struct{})}, nil)
		since := time.Now()
		c.Send([]byte("are you there?"))
		if _, err := c.Recv(t.Context()); err != net.ErrClosed || time.Since(since) != farewell {
			t.Errorf("got %v after %v, want %v after %v", err, time.Since(since), net.ErrClosed, farewell)
		}
		c.Close()
	})
}

// An end that takes nothing holds Close up for a while, and no longer.
func TestStreamCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		defer y.Close()
		a := Stream(x, nil)
		a.Send([]byte("nobody reads this"))
		since := time.Now()
		a.Close()
		if took := time.Since(since); took != farewell {
			t.Errorf("took %v, want %v", took, farewell)
		}
	})
}

// Fail ends the connection with an error, behind what has come.
func TestStreamFail(t *testing.T) {
	a, b := streams(t, nil)
	b.Send([]byte("last words"))
	<-a.in.wake // it has come
	want := &DeathError{"was stopped"}
	a.Fail(want)
	if got, err := a.Recv(t.Context()); string(got) != "last words" {
		t.Errorf("got %q, %v, want the message that had come", got, err)
	}
	if _, err := a.Recv(t.Context()); err != want {
		t.Errorf("got %v, want %v", err, want)
	}
}

// What ended says is what Recv says.
func TestStreamEnded(t *testing.T) {
	why := errors.New("the dog ate it")
	var told error
	a, b := streams(t, func(err error) error {
		told = err
		return why
	})
	b.Close()
	if _, err := a.Recv(t.Context()); err != why || told != io.EOF {
		t.Errorf("got %v after %v, want %v after %v", err, told, why, io.EOF)
	}
}

func TestStreamRecvEndsWithContext(t *testing.T) {
	a, _ := streams(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Recv(ctx); err != context.Canceled {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestReadMessage(t *testing.T) {
	tests := []struct {
		name, stream, want string
	}{
		{"nothing", "", "EOF"},
		{"half a length", "\x01\x00", "unexpected EOF"},
		{"no checksum", "\x01\x00\x00\x00abc", "unexpected EOF"},
		{"no message", "\x01\x00\x00\x00abcd", "unexpected EOF"},
		{"half a message", "\x03\x00\x00\x00abcdab", "unexpected EOF"},
		{"damaged", "\x03\x00\x00\x00abcdabc", "control message: got checksum 551483f8, want 64636261 (its 3 bytes were damaged on the way)"},
		{"too long", "\xff\xff\xff\xffabcd", "control message: got 4294967295 bytes, want at most 1073741824"},
		{"a lie", "\xff\xff\xff\x3fabcdabc", "unexpected EOF"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := readMessage(strings.NewReader(test.stream)); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// Whatever parses is written back the same.
func FuzzReadMessage(f *testing.F) {
	var two bytes.Buffer
	writeMessage(&two, []byte("hello"))
	writeMessage(&two, nil)
	f.Add(two.Bytes())
	f.Add([]byte("\xff\xff\xff\xff\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		for {
			before := len(data) - r.Len()
			msg, err := readMessage(r)
			if err != nil {
				return
			}
			if n := binary.LittleEndian.Uint32(data[before:]); int(n) != len(msg) {
				t.Fatalf("got %d bytes, want %d", len(msg), n)
			}
			var back bytes.Buffer
			if err := writeMessage(&back, msg); err != nil || !bytes.Equal(back.Bytes(), data[before:len(data)-r.Len()]) {
				t.Fatalf("%q is written as %q, %v", data[before:], back.Bytes(), err)
			}
		}
	})
}
